// @ts-check
// The engine beside the board: its score, its best lines, and their arrows. A line is previewed on the board while the
// pointer or the focus is on one of its moves, and played up to that move by a click.

import { byId, complain, el, plies, sayPoints, whitePoints } from "./dom.js";

// CSS classes for the best moves' arrows and lines, by rank.
const RANKS = ["", "second", "third"];

const proven = (line) => line.mate !== null && line.mate !== undefined;
const wins = (line, turn) => `${(line.mate > 0) === (turn === "white") ? "White" : "Black"} wins in ${plies(Math.abs(line.mate))}`;

function short(line, turn) {
  if (proven(line)) return wins(line, turn);
  return line.points === null ? String(line.score) : `White ${Math.round(100 * whitePoints(line.points, turn))} %`;
}

// What a line is worth for the side to move. A shorter win and a longer loss are better.
const worth = (line) => (proven(line) ? Math.sign(line.mate) * (1e6 - Math.abs(line.mate)) : (line.points ?? line.score));

// The lines, best first. While the engine searches, they come from different depths and are not in order. At its end, its
// choice stays the first.
export function inOrder(lines, done) {
  const sorted = [...lines].sort((one, other) => worth(other) - worth(one) || other.score - one.score);
  return done ? [lines[0], ...sorted.filter((line) => line !== lines[0])] : sorted;
}

// `draw(arrows)` draws the position with arrows, and `play(moves)` makes moves.
export function engine({ game, view, asks, draw, play }) {
  let told = null; // what was found last
  let done = false;
  let held = null; // the line and the number of moves that are previewed
  const button = byId("think");
  const isThinking = () => button.getAttribute("aria-pressed") === "true";

  function showThinking(on) {
    button.setAttribute("aria-pressed", on);
    button.textContent = on ? "Stop" : "Think";
  }

  async function think() {
    const line = byId("engine");
    [told, held] = [null, null];
    const body = game.asked({ movetime: Number(byId("movetime").value) });
    const heard = (name, found) => {
      [told, done] = [found, name === "done"];
      if (!held) show(); // lines under the pointer stay as they are
    };
    try {
      if (!(await asks.stream("think", "/api/think", body, heard, { line, words: "Thinking …", own: true }))) return;
    } catch (error) {
      line.replaceChildren(el("p", { class: "wrong", text: error.message }));
    }
    showThinking(false);
  }

  async function preview(pv, count) {
    const mine = (held = { pv, count });
    try {
      const facts = await asks.post("preview", "/api/position", game.asked({ moves: [...game.moves, ...pv.slice(0, count)] }), { any: true });
      if (facts && held === mine) view.show({ cells: facts.cells, last: facts.made.at(-1)?.move, locked: true });
    } catch (error) {
      complain(error);
    }
  }

  function leave() {
    if (!held) return;
    held = null;
    asks.stop("preview");
    if (told) show();
    else draw();
  }

  function moves(line) {
    const { pv } = line;
    return pv.map((move, number) =>
      el("button", {
        type: "button",
        class: "pv",
        text: move,
        title: "Make the moves up to here",
        onpointerenter: (event) => event.pointerType === "mouse" && preview(pv, number + 1),
        onfocus: (event) => event.target.matches(":focus-visible") && preview(pv, number + 1),
        onblur: leave,
        onclick: (event) => {
          // The first tap of a finger previews, and the second plays.
          const again = held?.pv === pv && held.count === number + 1;
          if (event.pointerType === "touch" && !again) {
            preview(pv, number + 1);
            return;
          }
          held = told = null;
          play(pv.slice(0, number + 1));
        },
      }),
    );
  }

  function show() {
    const { turn } = told;
    const found = inOrder(told.lines, done);
    const [best] = found;
    const share = Math.round(100 * (whitePoints(best.points, turn) ?? 0.5));
    const bar = el("div", { class: "evaluation", role: "meter", "aria-label": "White's expected points in per cent", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share }, el("span"));
    bar.firstChild.style.width = `${share}%`;
    bar.hidden = best.points === null;
    const words = proven(best) ? wins(best, turn) : sayPoints(best.score ?? 0, best.points, turn);
    const lines = found.map((line, rank) =>
      el("li", { class: RANKS[rank] }, el("strong", { text: short(line, turn) }), el("span", { class: "mono line" }, ...moves(line)), line.depth === told.depth ? "" : el("span", { class: "quiet", text: ` (depth ${line.depth})` })),
    );
    byId("engine").replaceChildren(
      bar,
      el("p", { class: "score", title: proven(best) ? "" : `${best.score ?? 0} centi-logits for ${turn}` }, el("strong", { text: words }), el("span", { class: "quiet", text: ` depth ${told.depth}, ${told.nodes.toLocaleString("en")} nodes${done ? "" : " …"}` })),
      el("ol", { class: "lines", "aria-label": "Best lines", onpointerleave: (event) => event.pointerType === "mouse" && leave() }, ...lines),
    );
    // Draw the best move's arrow last, on top of the others.
    if (view.selected === null) draw(found.map((line, rank) => [line.pv[0], RANKS[rank]]).reverse());
  }

  button.addEventListener("click", () => {
    const on = !isThinking();
    showThinking(on);
    if (on) think();
    else asks.stop("think"); // the results found so far stay
  });
  byId("movetime").addEventListener("change", () => isThinking() && think());

  return {
    stop: () => showThinking(false),
    // Another position is shown.
    again: () => {
      held = told = null;
      if (isThinking()) think();
    },
  };
}
