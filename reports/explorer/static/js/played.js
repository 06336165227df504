// @ts-check
// The opening explorer beside the board: the moves played in the position, taken from the server's collection of games.

import { el } from "./dom.js";
import { Game } from "./game.js";

const MOST = 8; // number of moves that are shown at once

const percent = (share) => `${Math.round(100 * share)} %`;

// A bar with the shares of games won by white, drawn, and won by black. Games without a result are left out.
function bar(move) {
  const shares = [["white", move.white], ["drawn", move.draw], ["black", move.black]].filter(([, games]) => games);
  const words = shares.map(([name, games]) => `${name} ${games}`).join(", ") || "no results";
  const parts = shares.map(([name, games]) => {
    const part = el("span", { class: name });
    part.style.flexGrow = games;
    return part;
  });
  const counts = el("span", { class: "counts", "aria-hidden": "true", text: shares.map(([name, games]) => `${name} ${games}`).join(", ") });
  return el("span", {}, el("span", { class: "shares", role: "img", "aria-label": words, title: words }, ...parts), counts);
}

function row(move, play) {
  const known = move.score !== null;
  const interval = known ? `95 % interval: ${percent(move.low)} to ${percent(move.high)}` : "";
  const name = el("button", { type: "button", text: move.move, title: move.same.length ? `Same up to symmetry: ${move.same.join(", ")}` : null, onclick: () => play(move.move) });
  return el("tr", {}, el("th", { scope: "row" }, name), el("td", { text: move.games.toLocaleString("en") }), el("td", {}, bar(move)), el("td", { text: known ? percent(move.score) : "–", title: interval }));
}

// The name that players have given to the opening, with the source of the name.
function named({ opening }) {
  if (!opening) return "";
  return el("p", { class: "opening" }, el("strong", { text: opening.name }), el("span", { class: "quiet", text: ` ${opening.moves.join(" ")}. Named by ` }), el("a", { href: opening.link, rel: "noreferrer", text: opening.source }));
}

// Show the moves played in a game's position, according to the server's collection.
export async function showPlayed(box, game, play, asks) {
  let found = null;
  try {
    found = await asks.post("played", "/api/played", game.asked());
  } catch (error) {
    box.replaceChildren(el("p", { class: "quiet", text: error.message }));
  }
  if (!found) return;
  const count = `${found.total.toLocaleString("en")} game${found.total === 1 ? "" : "s"}`;
  const head = () => el("tr", {}, ...["Move", "Games", "Results", `Points for ${game.facts.turn}`].map((name) => el("th", { scope: "col", text: name })));
  const table = (moves) => el("table", { class: "played" }, el("thead", {}, head()), el("tbody", {}, ...moves.map((move) => row(move, play))));
  const rest = found.moves.slice(MOST);
  const references = found.games.map((one) => {
    const players = [one.white, one.black].filter(Boolean).join(" – ");
    const text = [players || "unnamed players", one.date, one.result, `${one.file}, game ${one.number}`].filter(Boolean).join(", ");
    const whole = new Game({ variant: game.variant, rules: game.rules, position: one.start, moves: one.moves });
    whole.goTo(one.ply);
    return el("li", {}, el("a", { href: whole.address("/board", {}, true), text }));
  });
  box.replaceChildren(
    named(found),
    el("p", { class: "quiet", text: found.total ? `${count}${found.ended ? `, ${found.ended.toLocaleString("en")} ended here` : ""}` : "No game reached this position." }),
    found.moves.length ? table(found.moves.slice(0, MOST)) : "",
    rest.length ? el("details", {}, el("summary", { text: `${rest.length} more move${rest.length === 1 ? "" : "s"}` }), table(rest)) : "",
    references.length ? el("details", {}, el("summary", { text: "Games" }), el("ul", { class: "references" }, ...references)) : "",
  );
}
