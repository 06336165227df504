// @ts-check
// Puzzles from one's own games: positions before the errors that an analysis found. They are kept in this browser.

import { BoardView } from "./board.js";
import { byId, complain, el, say } from "./dom.js";
import { Game } from "./game.js";
import { showMade, showTurn } from "./panel.js";

const MOST = 100;
const KEY = "mistakes";
const NODES = 30000; // for the judgement of a move that the analysis did not name
const ENOUGH = 0.05; // expected points that a right move may cost

export function keptMistakes() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) || "[]");
    return Array.isArray(kept) ? kept.filter((one) => one && Array.isArray(one.moves) && Array.isArray(one.best)) : [];
  } catch {
    return [];
  }
}

function store(list) {
  try {
    localStorage.setItem(KEY, JSON.stringify(list.slice(0, MOST)));
  } catch {
    say("The browser's storage is full, so the puzzles from this game are not kept.", "wrong");
  }
}

// Keep the errors of an analysed game; those of one side if the record names it as "you". Return how many there are.
export function keepMistakes(record, analysis) {
  const mine = ["White", "Black"].find((side) => record.tags[side] === "you")?.toLowerCase();
  const found = analysis.plies.filter((ply) => ["mistake", "blunder"].includes(ply.grade) && ply.best.length && (!mine || ply.side === mine));
  if (!found.length || !record.shipped) return 0;
  const moves = record.moves.map(({ move }) => move);
  const made = found.map(({ ply, side, move, best, points }) => ({ variant: record.shipped, start: record.start, moves: moves.slice(0, ply - 1), side, played: move, best, points, mine: Boolean(mine) }));
  const keys = new Set(made.map((one) => JSON.stringify([one.variant, one.start, one.moves])));
  store([...made, ...keptMistakes().filter((one) => !keys.has(JSON.stringify([one.variant, one.start, one.moves])))]);
  return made.length;
}

// Show a kept position, and let the visitor find a better move than the one that was played.
export async function solveMistake(number, asks) {
  const list = keptMistakes();
  const one = list[number];
  if (!one) throw new Error("this browser keeps no such position; analyse a game first");
  /** @type {NodeListOf<HTMLElement>} */
  const unused = document.querySelectorAll("#solving .side .steps, #solving #read-move, #rules-panel");
  for (const node of unused) node.hidden = true;
  byId("analyse").closest("p").hidden = true;
  const game = new Game({ variant: one.variant, position: one.start, moves: one.moves });
  const view = new BoardView(byId("board"), { onMove: (from, to) => attempt(`${from}-${to}`), onIllegal: (from, to) => game.whyNot(`${from}-${to}`, asks), instant: true });
  const said = (line, kind = "") => {
    byId("answer").textContent = line;
    byId("answer").className = `answer ${kind}`;
  };
  byId("heading").textContent = `From your own games: ${number + 1} of ${list.length}`;
  const who = one.mine ? "You" : one.side === "white" ? "White" : "Black";
  byId("claim").textContent = `${who} played ${one.played}. Find a better move.`;
  if (one.side === "black") view.turn(2);
  const show = async (arrows = [], locked = false) => {
    game.moves = one.moves;
    if (!(await game.load(asks))) return;
    const { facts, described } = game;
    byId("about").textContent = described.title || described.variant;
    view.setTerrain(described.terrain);
    view.show({ cells: facts.cells, legal: facts.moves.map(({ wdl, dtm, ...move }) => move), last: facts.made.at(-1)?.move, turn: facts.turn, locked, arrows });
    showTurn(byId("turn"), facts);
    showMade(byId("made"), facts, [], null);
  };

  // Return whether a move keeps what the best one would: it ends the game well, or the engine finds it nearly as good.
  async function isGood(move) {
    if (one.best.includes(move)) return true;
    const after = new Game({ variant: one.variant, position: one.start, moves: [...one.moves, move] });
    const facts = await asks.post("judge", "/api/position", after.asked(), { any: true });
    if (!facts) return null;
    if (facts.outcome) return facts.outcome.winner === one.side;
    const found = await asks.post("judge", "/api/bestmove", after.asked({ player: "alphabeta", nodes: NODES }), { any: true, line: byId("answer"), words: "Looking at your move …" });
    if (!found) return null;
    return Number.isFinite(found.points) && Number.isFinite(one.points) && one.points - (1 - found.points) < ENOUGH;
  }

  async function attempt(move) {
    said("");
    try {
      const good = move === one.played ? false : await isGood(move);
      if (good === null) {
        await show();
        return;
      }
      if (!good) {
        await show([[move, "tried"]]);
        said(move === one.played ? `${move} was played in the game. Look for something else.` : `${move} is not good enough. Try again.`, "wrong");
        return;
      }
      store(keptMistakes().map((kept, place) => (place === number ? { ...kept, solved: true } : kept)));
      await show([[move]], true);
      said(one.best.includes(move) ? `Right: ${move} is the engine's choice.` : `Good: ${move} is as good as ${one.best[0]}, the engine's choice.`, "right");
    } catch (error) {
      complain(error);
      await show().catch(complain);
    }
  }

  const next = (number + 1) % list.length;
  byId("answer").after(el("div", { class: "steps" },
    el("button", { type: "button", id: "show-best", text: "Show the move", onclick: async () => {
      await show(one.best.slice(0, 3).map((move) => [move]), true);
      said(`The engine's choice: ${one.best.slice(0, 3).join(", ")}.`);
    } }),
    el("a", { class: "button", href: `/puzzles?mistake=${next}`, text: "Next position" }),
    el("button", { type: "button", text: "Forget this position", onclick: () => {
      store(keptMistakes().filter((_, place) => place !== number));
      location.href = list.length > 1 ? `/puzzles?mistake=${number % (list.length - 1)}` : "/puzzles";
    } }),
    el("a", { class: "button", href: "/puzzles", text: "All puzzles" }),
  ));
  said("Find a better move.");
  await show();
}
