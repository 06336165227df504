// Asks the server; what it refuses becomes an error with its one clear line.

export class ApiError extends Error {
  constructor(line, status, retryAfter = 0) {
    super(line);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

async function refusal(response) {
  let line = `the server answered ${response.status}`;
  try {
    line = (await response.json()).error || line;
  } catch {
    // Not JSON: the status is all there is to say.
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

export async function get(path, signal) {
  const response = await send(path, { signal });
  if (!response.ok) throw await refusal(response);
  return response.json();
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

// Asks again while the server has no place; `waiting(line)` is told why, without it nobody waits.
async function patiently(ask, signal, waiting) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!waiting || !error.retryAfter) throw error;
      waiting(`Waiting for a place: ${error.message}.`);
      await pause(error.retryAfter, signal);
    }
  }
}

export function post(path, body, { signal, text = false, waiting } = {}) {
  return patiently(() => postOnce(path, body, signal, text), signal, waiting);
}

async function postOnce(path, body, signal, text) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
  const response = await send(path, options);
  if (!response.ok) throw await refusal(response);
  return text ? response.text() : response.json();
}

// Reads server-sent events of a POST; `heard(name, data)` is called for each. Resolves with the last one's data.
export function stream(path, body, heard, signal, waiting) {
  return patiently(() => streamOnce(path, body, heard, signal), signal, waiting);
}

async function streamOnce(path, body, heard, signal) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
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
