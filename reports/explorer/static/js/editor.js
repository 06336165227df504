// @ts-check
// The editor of a position: men are put on the board, moved by dragging and removed, and all of this can be undone.

import { squareOf } from "./shapes.js";
import { byId, complain, el } from "./dom.js";
import { showTurn } from "./panel.js";

// Return the rows of a position's text.
function rows(cells, size) {
  const lines = [];
  for (let rank = size - 1; rank >= 0; rank -= 1) {
    lines.push(cells.slice(rank * size, (rank + 1) * size).replace(/\.+/g, (empty) => empty.length));
  }
  return lines.join("/");
}

// `begin()` prepares the page and returns the facts about the position to start from, `leave()` shows the game again,
// and `done(text)` opens the edited position. `asked()` returns the fields of a request about the game.
export function editor(view, { asked, asks, begin, leave, done }) {
  let tool = "b";
  let drafts = []; // all drafts, from the first to the last that can be restored
  let at = 0;

  async function show() {
    const { cells, side } = drafts[at];
    view.show({ cells, turn: side === "w" ? "white" : "black" });
    /** @type {any} */ (document.querySelector(`input[name=side][value=${side}]`)).checked = true;
    byId("undo").disabled = byId("first").disabled = at === 0;
    byId("redo").disabled = byId("last").disabled = at === drafts.length - 1;
    const position = (byId("position").value = `${rows(cells, view.size)} ${side}`);
    try {
      const { moves, ...body } = asked();
      const facts = await asks.post("draft", "/api/position", { ...body, position }, { any: true });
      if (!facts) return;
      showTurn(byId("turn"), facts);
      byId("why").hidden = !facts.meanings.length;
      byId("why-list").replaceChildren(...facts.meanings.map((line) => el("li", { text: line })));
    } catch (error) {
      complain(error);
    }
  }

  function change(draft) {
    drafts = [...drafts.slice(0, at + 1), { ...drafts[at], ...draft }];
    at += 1;
    show();
  }

  // Put pieces on squares, given by pairs of square and piece.
  function place(...pairs) {
    const cells = drafts[at].cells.split("");
    for (const [name, piece] of pairs) cells[squareOf(name, view.size)] = piece;
    change({ cells: cells.join("") });
  }

  const pieceOn = (name) => drafts[at].cells[squareOf(name, view.size)];

  function set(on) {
    view.editing = on;
    byId("editor").hidden = !on;
    byId("edit").setAttribute("aria-pressed", on);
    document.body.classList.toggle("editing", on);
  }

  byId("edit").addEventListener("click", () => {
    if (view.editing) {
      leave();
      return;
    }
    const { cells, turn } = begin();
    drafts = [{ cells, side: turn === "white" ? "w" : "b" }];
    at = 0;
    set(true);
    show();
  });
  byId("edit-done").addEventListener("click", () => done(byId("position").value));
  byId("edit-clear").addEventListener("click", () => change({ cells: ".".repeat(view.size ** 2) }));
  /** @type {(name: string) => NodeListOf<HTMLInputElement>} */
  const inputs = (name) => document.querySelectorAll(`input[name=${name}]`);
  for (const input of inputs("tool")) input.addEventListener("change", () => (tool = input.value));
  for (const input of inputs("side")) input.addEventListener("change", () => change({ side: input.value }));

  return {
    get on() {
      return view.editing;
    },
    end: () => view.editing && set(false),
    put: (name) => place([name, pieceOn(name) === tool ? "." : tool]),
    // A man that is dragged off the board is removed, and one that is dragged onto another man replaces it.
    drag: (from, to) => pieceOn(from) !== "." && place([from, "."], ...(to ? [[to, pieceOn(from)]] : [])),
    go(steps) {
      at = Math.max(0, Math.min(drafts.length - 1, at + steps));
      show();
    },
  };
}
