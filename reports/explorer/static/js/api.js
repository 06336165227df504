// @ts-check
// Sending requests to the server, and reading its answers. Pages do not send requests themselves: they ask through
// `asks.js`. A refusal becomes an ApiError with the server's one-line message.

export class ApiError extends Error {
  // A `status` of 0 means that the connection was lost. `retryAfter` is the time in seconds after which a busy server
  // may accept the same request.
  constructor(line, status, retryAfter = 0) {
    super(line);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

async function refusal(response) {
  let line = `the server answered ${response.status}`;
  try {
    const said = await response.json();
    // At a board, only the rule that forbids the move is of interest.
    line = said.why ? `This move is not legal: ${said.why}.` : said.error || line;
  } catch {
    // The body is not JSON, so report only the status.
  }
  return new ApiError(line, response.status, Number(response.headers.get("Retry-After") || 0));
}

// Wait for a part of an answer. If it does not arrive, the connection was lost.
const arrived = (part) =>
  part.catch((error) => {
    throw error.name === "AbortError" ? error : new ApiError("the explorer does not answer; is `tablut serve` still running?", 0);
  });

async function sent(path, options) {
  const response = await arrived(fetch(path, options));
  if (!response.ok) throw await refusal(response);
  return response;
}

const named = (search) => (search ? { Search: search } : {});
const posted = (body, signal, search) => ({
  method: "POST",
  headers: { "Content-Type": "application/json", ...named(search) },
  body: JSON.stringify(body),
  signal,
});

// `search` names a request that may take long; `statusOf(search)` then tells how far it is.
/** @param {string} path @param {{signal?: AbortSignal, search?: string}} [how] */
export async function get(path, { signal, search } = {}) {
  return arrived((await sent(path, { signal, headers: named(search) })).json());
}

/** @param {string} path @param {any} body @param {{signal?: AbortSignal, search?: string, text?: boolean, file?: boolean}} [how] */
export async function post(path, body, { signal, search, text = false, file = false } = {}) {
  const response = await sent(path, posted(body, signal, search));
  return arrived(file ? response.blob() : text ? response.text() : response.json());
}

// Read the server-sent events of a POST and call `heard(name, data)` for each. Resolve with the data of the last one.
/** @param {string} path @param {any} body @param {(name: string, data: any) => void} heard @param {{signal?: AbortSignal, search?: string}} [how] */
export async function stream(path, body, heard, { signal, search } = {}) {
  const response = await sent(path, posted(body, signal, search));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await arrived(reader.read());
    if (done) throw new ApiError("the server ended before it answered", 0);
    waiting += value;
    const events = waiting.split("\n\n");
    waiting = events.pop();
    for (const event of events) {
      const name = /^event: (.*)$/m.exec(event)?.[1];
      if (!name) continue;
      const data = JSON.parse(/^data: (.*)$/m.exec(event)[1]);
      if (name === "failed") throw new ApiError(data.error, data.status);
      heard(name, data);
      if (name === "done") return data;
    }
  }
}

// Return the state of a search: why it waits, or how far it is, in words; null if it is unknown.
export async function statusOf(search) {
  const { searches } = await get("/api/searches");
  const mine = searches.find((one) => one.name === search);
  if (mine?.compiles) return { waits: "The program is compiling, once for this machine. This takes a minute or two." };
  // A visitor with one running and one waiting search is refused a third, which therefore waits for both.
  const before = mine ? mine.before : searches.length;
  if (before) return { waits: `Waiting: ${before} ${before === 1 ? "search is" : "searches are"} ahead of it.` };
  return mine ? { said: mine.said } : null;
}
