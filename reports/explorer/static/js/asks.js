// @ts-check
// The way in which every page asks the server. A request belongs to what the page shows: it is aborted when the page
// shows something else, and an answer about another position is dropped. A long request says what it does and for how
// long, and can be stopped, which ends the work on the server as well. If the connection is lost, the page says so and
// repeats the request until the server is back.

import { get, post, statusOf, stream } from "./api.js";
import { byId, el, say } from "./dom.js";

const AGAIN = 2; // seconds between two attempts to reach the server
const LOOK = 700; // milliseconds between two questions about the state of a search

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

// -- the message about a server that does not answer ------------------------------------------------------------------

const unanswered = new Set(); // the requests that are repeated until the server answers
let told = "";

function tellUnanswered(request, line) {
  unanswered.add(request);
  told = line;
  say(line, "wrong");
}

// Remove the message once the server answers again, or once no request waits for it.
function forgetUnanswered(requests) {
  for (const request of requests) unanswered.delete(request);
  if (!told || unanswered.size) return;
  if (byId("message").textContent === told) say("");
  told = "";
}

const reached = () => forgetUnanswered(unanswered);

// -- what the page shows of a long request: words, the time, and a way to stop it -------------------------------------

// Show in a line that a request has ended without an answer, and offer to send it again.
export function offerAgain(line, words, again) {
  const button = el("button", { type: "button", text: "Go on", onclick: again });
  line.replaceChildren(el("span", { class: "busy quiet" }, `${words} `, button));
  return button;
}

class Progress {
  // `button`, if there is one, stops the request while it runs. Otherwise `line` contains a button for this, unless the
  // page has its `own`. After a stop, `again()` is offered, if it is given.
  constructor({ line, words, button = null, own = false, again = null }, stop) {
    this.line = line;
    this.words = words;
    /** @type {any} */
    this.button = button;
    this.search = Math.random().toString(36).slice(2);
    this.since = Date.now();
    this.waits = this.said = "";
    this.text = el("span", { text: words });
    this.more = el("span", { "aria-hidden": "true", text: " " }); // changes too often to be read out
    this.stop = (event) => {
      event.stopImmediatePropagation();
      if (event.detail > 1) return; // the second click of a double click
      stop();
      if (again) offerAgain(line, "Stopped.", again).focus();
      else line.replaceChildren(el("span", { class: "quiet", text: "Stopped." }));
    };
    const within = button || own ? "" : el("button", { type: "button", text: "Stop", onclick: this.stop });
    line.replaceChildren(el("span", { class: "busy quiet" }, this.text, this.more, within));
    if (button) {
      this.label = button.textContent;
      button.style.minWidth = `${button.offsetWidth}px`; // its neighbours stay where they are
      button.textContent = "Stop";
      button.addEventListener("click", this.stop, { capture: true });
    }
    this.looks = setInterval(() => this.look(), LOOK);
  }

  get shown() {
    return this.text.isConnected;
  }

  look() {
    if (!this.shown) return;
    this.tell({});
    statusOf(this.search).then((status) => {
      reached();
      this.tell({ waits: "", ...status });
    }, () => {});
  }

  tell({ waits = this.waits, said = "" }) {
    if (this.waits && !waits) this.since = Date.now(); // it has begun
    this.waits = waits;
    this.said = said || this.said;
    if (this.text.textContent !== (waits || this.words)) this.text.textContent = waits || this.words;
    const seconds = Math.floor((Date.now() - this.since) / 1000);
    this.more.textContent = ` ${seconds ? `${seconds} s ` : ""}${this.said && !waits ? `(${this.said}) ` : ""}`;
  }

  end() {
    clearInterval(this.looks);
    if (this.shown) this.line.replaceChildren();
    if (!this.button) return;
    this.button.textContent = this.label;
    this.button.style.minWidth = "";
    this.button.removeEventListener("click", this.stop, { capture: true });
  }
}

// -- a page that is left ----------------------------------------------------------------------------------------------

const everyAsks = new Set();
let left = false; // whether the page was left while it waited for an answer

addEventListener("pagehide", () => {
  left = [...everyAsks].some((asks) => asks.waits);
  for (const asks of everyAsks) asks.change();
});
// A browser may show the page again as it was left. What it waited for was aborted.
addEventListener("pageshow", (event) => event.persisted && left && location.reload());

// -- asking -----------------------------------------------------------------------------------------------------------

export class Asks {
  #running = new Map();
  #shown;

  // `shown()` returns the position that the page shows; null if answers need not be about a position.
  constructor(shown = () => null) {
    this.#shown = shown;
    everyAsks.add(this);
  }

  get waits() {
    return this.#running.size > 0;
  }

  // The page shows, or is about to show, something else: abort all requests, except those named.
  change(...kept) {
    for (const name of [...this.#running.keys()]) if (!kept.includes(name)) this.stop(name);
  }

  stop(name) {
    const request = this.#running.get(name);
    if (!request) return;
    this.#running.delete(name);
    request.control.abort();
    request.progress?.end();
    forgetUnanswered([request]);
  }

  runs(name) {
    return this.#running.has(name);
  }

  // Describe in words how far a request is.
  tell(name, said) {
    this.#running.get(name)?.progress?.tell({ said });
  }

  // Send a request. Resolve with the answer, or with null if it is not wanted any more: the request was stopped, another
  // of the same name replaced it, or the page shows another position than the answer's. With `any`, the answer may be
  // about any position. A request that takes long has a `line` to show its progress in; see `Progress`.
  get(name, path, options = {}) {
    return this.#ask(name, options, (how) => get(path, how));
  }

  post(name, path, body, options = {}) {
    return this.#ask(name, options, (how) => post(path, body, { ...how, text: options.text, file: options.file }));
  }

  // `heard(event, data)` is called for each event of the answer.
  stream(name, path, body, heard, options = {}) {
    return this.#ask(name, options, (how, fits) => stream(path, body, (event, data) => fits(data) && heard(event, data), how));
  }

  // Wait, as if for an answer.
  pause(name, seconds) {
    return this.#ask(name, { local: true }, ({ signal }) => pause(seconds, signal));
  }

  async #ask(name, options, send) {
    this.stop(name);
    const control = new AbortController();
    const { signal } = control;
    const request = { control, progress: null };
    if (options.line) request.progress = new Progress(options, () => this.stop(name));
    this.#running.set(name, request);
    const unwanted = () => (left ? new Promise(() => {}) : null);
    const fits = (answer) => !signal.aborted && (options.any || !answer?.position || [null, answer.position].includes(this.#shown()));
    try {
      for (;;) {
        try {
          const answer = await send({ signal, search: request.progress?.search }, fits);
          if (!options.local) reached();
          return fits(answer) ? answer : unwanted();
        } catch (error) {
          if (signal.aborted) return unwanted();
          const lost = error.status === 0;
          if (!lost) reached();
          if (!lost && !error.retryAfter) throw error;
          if (lost) request.progress?.tell({ waits: "The connection is lost." });
          const line = lost ? `${error.message} This page asks again until it answers.` : error.message;
          if (lost || !request.progress) tellUnanswered(request, line);
          await pause(error.retryAfter || AGAIN, signal).catch(() => {});
          if (signal.aborted) return unwanted();
        }
      }
    } finally {
      if (this.#running.get(name) === request) this.stop(name);
    }
  }
}
