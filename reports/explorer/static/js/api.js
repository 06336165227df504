// Requests to the server. A refusal becomes an ApiError with the server's one-line message.

class ApiError extends Error {
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

function unreachable(error) {
  if (error.name === "AbortError") return error;
  return new ApiError("the explorer does not answer; is `tablut serve` still running?", 0);
}

async function send(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    throw unreachable(error);
  }
}

async function answered(path, options, text = false) {
  const response = await send(path, options);
  if (!response.ok) throw await refusal(response);
  return text ? response.text() : response.json();
}

export function get(path, signal, waiting) {
  return patiently((name) => answered(path, { signal, headers: named(name) }), signal, waiting);
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

// Return why a search is waiting, according to the server; "" if it is running.
async function waitsFor(name) {
  const { searches } = await get("/api/searches");
  const mine = searches.find((one) => one.name === name);
  if (mine?.compiles) return "The program is compiling, once for this machine. This takes a minute or two.";
  // A visitor with one running and one waiting search is refused a third, which therefore waits for both.
  const before = mine ? mine.before : searches.length;
  return before ? `Waiting: ${before} ${before === 1 ? "search is" : "searches are"} ahead of it.` : "";
}

// Send a request, and repeat it while the server is busy. Meanwhile `waiting(line)` is called with the reason for the
// wait, and with "" at its end. Without `waiting`, the request is sent only once.
async function patiently(ask, signal, waiting) {
  if (!waiting) return ask("", () => {});
  const name = Math.random().toString(36).slice(2);
  let told = "";
  let over = false;
  const tell = (line) => line !== told && waiting((told = line));
  const watch = setInterval(() => waitsFor(name).then((line) => over || tell(line), () => {}), 700);
  const stop = () => {
    over = true;
    clearInterval(watch);
  };
  try {
    for (;;) {
      try {
        return await ask(name, stop);
      } catch (error) {
        if (!error.retryAfter) throw error;
        await pause(error.retryAfter, signal);
      }
    }
  } finally {
    stop();
  }
}

const named = (name) => (name ? { Search: name } : {});
const said = (body, signal, name) => ({
  method: "POST",
  headers: { "Content-Type": "application/json", ...named(name) },
  body: JSON.stringify(body),
  signal,
});

export function post(path, body, { signal, text = false, waiting } = {}) {
  return patiently((name) => answered(path, said(body, signal, name), text), signal, waiting);
}

// Read the server-sent events of a POST and call `heard(name, data)` for each. Resolve with the data of the last one.
export function stream(path, body, heard, signal, waiting) {
  const ask = (name, stop) => streamOnce(path, said(body, signal, name), (event, data) => {
    stop();
    heard(event, data);
  });
  return patiently(ask, signal, waiting);
}

async function streamOnce(path, options, heard) {
  const response = await send(path, options);
  if (!response.ok) throw await refusal(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw unreachable(error);
    });
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
