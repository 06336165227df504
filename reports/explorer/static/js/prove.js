// @ts-check
// A proof of the position that is shown.

import { byId, chip, el, plies, verdict } from "./dom.js";

export function proving(game, asks) {
  byId("prove").addEventListener("click", async () => {
    const line = byId("proof");
    try {
      const { moves, ...asked } = game.asked({ position: game.facts.position });
      const found = await asks.post("prove", "/api/solve", asked, { line, words: "Proving …", button: byId("prove") });
      if (found) line.replaceChildren(...proofLines(found));
    } catch (error) {
      line.replaceChildren(el("p", { class: "wrong", text: error.message }));
    }
  });
}

function proofLines(found) {
  const lines = [];
  if (found.status === "proved") {
    lines.push(el("p", {}, chip(found.wdl, found.dtm), ` Proved: ${found.position.split(" ")[1] === "w" ? "white" : "black"} to move, ${verdict(found.wdl, found.dtm).toLowerCase()}.`));
  } else {
    const known = Object.entries(found.bounds).map(([side, bounds]) =>
      bounds.never ? `${side} cannot force a win` : bounds.win_within !== null ? `${side} wins within ${plies(bounds.win_within)}` : `${side} has no win within ${plies(Math.max(bounds.no_win_within, 0))}`,
    );
    lines.push(el("p", { text: `Not decided within the limits. Proved so far: ${known.join("; ")}.` }));
  }
  if (found.winning_moves.length) lines.push(el("p", {}, `${found.winning_moves.length === 1 ? "Only move" : "Moves that achieve it"}: `, el("span", { class: "mono", text: found.winning_moves.join("  ") })));
  if (found.line.length) lines.push(el("p", {}, "Line: ", el("span", { class: "mono", text: found.line.join("  ") })));
  lines.push(el("p", { class: "quiet", text: `${found.nodes.toLocaleString("en")} nodes, ${found.seconds.toFixed(1)} s, by ${found.source}. Earlier positions of the game are ignored.` }));
  return lines;
}
