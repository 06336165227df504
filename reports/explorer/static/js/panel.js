// @ts-check
// The panel next to every board: whose turn it is, the moves made, and the legal moves with their values.

import { chip, el, verdict } from "./dom.js";

const ENDS = { king_captured: "the king was captured", king_escaped: "the king escaped", no_moves: "no legal move", no_attackers: "the last attacker is gone", exit_fort: "the king is safe in a fort", encirclement: "the ring around white is closed", repetition: "the position recurs", move_limit: "the move limit is reached", time: "the time is up" };
const NAMES = { white: "White", black: "Black" };

// Return a result in words; they are addressed to the player of a side, if there is one.
export function resultLine(outcome, player = null) {
  if (!outcome) return "";
  const { winner, termination } = outcome;
  const loser = winner === "white" ? "black" : "white";
  const how = termination === "resignation" ? `${player === loser ? "you" : loser} resigned` : ENDS[termination] || termination.replaceAll("_", " ");
  if (!winner) return `A draw: ${how}`;
  return `${player === winner ? "You won" : player === loser ? "You lost" : `${NAMES[winner]} has won`}: ${how}`;
}

export function turnLine(facts, player = null) {
  if (facts.problem) return "Not playable";
  return resultLine(facts.outcome, player) || `${NAMES[facts.turn]} to move`;
}

// Show the game state in one line, with a disc for the side to move or the winner.
export function showTurn(box, facts, player = null) {
  const side = facts.problem ? null : facts.outcome ? facts.outcome.winner : facts.turn;
  box.replaceChildren(
    el("span", { class: `disc ${side || "none"}`, "aria-hidden": "true" }),
    el("span", { text: turnLine(facts, player) }),
  );
}

function withCaptures(move) {
  return move.move + (move.captures || []).map((square) => `x${square}`).join("");
}

// Show the moves made and those that can be redone. `go(ply)` is called for a chosen move. If it is null, no move can be chosen.
// `at` is the ply that the board shows.
export function showMade(box, facts, redo, go, grades = new Map(), at = facts.made.length) {
  const all = [...facts.made, ...redo.map((move) => ({ move, captures: [] }))];
  const items = all.map((move, number) => {
    const here = number + 1 === at;
    const grade = grades.get(number + 1);
    return el(
      "li",
      {},
      el(
        go ? "button" : "span",
        { type: go ? "button" : null, class: `made${here ? " here" : ""}${number >= at ? " later" : ""}${grade ? ` ${grade}` : ""}`, "aria-current": here ? "step" : null, ...(go && { onclick: () => go(number + 1) }) },
        el("span", { class: "nr", "aria-hidden": "true", text: number + 1 }),
        ` ${withCaptures(move)}`,
        grade ? el("span", { class: "grade", text: { blunder: " ??", mistake: " ?", inaccuracy: " ?!" }[grade], title: grade }) : null,
      ),
    );
  });
  box.replaceChildren(...(items.length ? items : [el("li", { class: "quiet", text: "No move made yet." })]));
  const here = box.querySelector(".here");
  if (here) box.scrollTop = here.offsetTop - box.clientHeight / 2;
}

// Show all legal moves, best first. `play(move)` makes a move, `look(move)` previews it on the board (null ends that).
/** @param {any} box @param {any} facts @param {(move: string) => void} play @param {(move: string | null) => void} [look] */
export function showLegal(box, facts, play, look = () => {}) {
  const known = facts.moves.some((move) => move.wdl);
  const rows = facts.moves.map((move) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: `legal ${move.wdl || ""}`, "data-move": move.move, onclick: () => play(move.move), onmouseenter: () => look(move.move), onmouseleave: () => look(null), onfocus: () => look(move.move), onblur: () => look(null) },
        el("span", { class: "move", text: withCaptures(move) }),
        known ? chip(move.wdl, move.dtm) : null,
      ),
    ),
  );
  box.replaceChildren(...rows);
}

export function tableLine(facts) {
  if (facts.table) return `${facts.turn === "white" ? "White" : "Black"} to move: ${verdict(facts.table.wdl, facts.table.dtm).toLowerCase()}, by the tablebase ${facts.table.name}.`;
  const wins = facts.moves.filter((move) => move.wdl === "win").map((move) => move.move);
  return `No tablebase has this material: ${wins.length ? `only immediate wins are known: ${wins.join(", ")}.` : "the values of most moves are not known."}`;
}

export function showStanding(box, facts, open) {
  const standing = facts.standing;
  box.replaceChildren();
  if (!standing) return;
  const add = (name, ...value) => box.append(el("dt", { text: name }), el("dd", {}, ...value));
  const group = (text) => text.replace(/\B(?=(\d{3})+$)/g, " ");
  if (standing.rank !== null) {
    add("Number", `${group(standing.rank)} of ${group(standing.size)} undecided placements`);
    add("In its tier", `${group(standing.tier_rank)} of ${group(standing.tier_size)} with ${standing.tier.replace("v", " attackers and ")} defenders`);
  } else add("Number", "none: the position is decided or impossible");
  add("Orbit", `${standing.orbit} of ${standing.symmetries} images under the symmetries of the board are different`);
  const canonical = el("button", { type: "button", class: "link mono", onclick: () => open(standing.canonical), title: "Show it" });
  canonical.textContent = standing.canonical;
  add("Canonical form", canonical);
  const first = facts.outcome
    ? "not counted: the game is over"
    : standing.first_ply !== null
      ? `ply ${standing.first_ply}`
      : standing.listed_all
        ? "no game reaches it (the census of this board is complete)"
        : standing.listed_plies
          ? `unknown: not reached in the first ${standing.listed_plies} plies`
          : "not known";
  add("First reached", first);
}
