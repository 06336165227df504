// The analysis board.

import { Asks } from "./asks.js";
import { BoardView } from "./board.js";
import { byId, chip, complain, copy, el, plies, say, sayPoints, verdict, whitePoints } from "./dom.js";
import { editor } from "./editor.js";
import { Game } from "./game.js";
import { onKeys } from "./keys.js";
import { OWN, ownRules } from "./own-rules.js";
import { showLegal, showMade, showStanding, showTurn, tableLine } from "./panel.js";
import { showPlayed } from "./played.js";
import { rulebook } from "./rulebook.js";
import { saveGame } from "./save.js";

const game = Game.fromAddress();
const asks = new Asks(() => game.facts?.position ?? null);
const texts = new Asks(); // about the position at which the button was pressed
const view = new BoardView(byId("board"), {
  onMove: (from, to) => make(`${from}-${to}`),
  onIllegal: (from, to) => game.whyNot(`${from}-${to}`, asks),
  onSquare: (name) => editing.put(name),
  onDrag: (from, to) => editing.drag(from, to),
});
const editing = editor(view, { asked: () => game.asked(), asks, begin: beginEditing, leave: refresh, done: open });
const saved = saveGame(byId("save"), () => ({ game }));

// Show the game's position once it has arrived. Until then, the board shows the previous one, and no move can be made.
// Return false if the position was refused, and null if another one was asked for in the meantime.
async function refresh({ keep = false } = {}) {
  editing.end();
  asks.change();
  view.locked = true;
  for (const name of ["engine", "proof", "played"]) byId(name)?.replaceChildren();
  try {
    if (!(await game.load(asks))) return null;
    asks.change("open"); // what else was asked in the meantime is about the previous position
    if (!keep) say("");
    show();
    history.replaceState(null, "", game.address());
    showPlayed(byId("played"), game, make, asks);
    if (isThinking()) think();
    return true;
  } catch (error) {
    complain(error);
    // The board still shows the previous position. Searches are disabled until a position is accepted.
    lockSearches(true);
    if (game.facts) draw([], true);
    return false;
  }
}

function show() {
  const { facts, described } = game;
  view.setTerrain(described.terrain);
  draw();
  showTurn(byId("turn"), facts);
  saved(facts);
  showMade(byId("made"), facts, game.redo, go);
  showLegal(byId("legal"), facts, make, (move) => draw(move ? [[move]] : []));
  byId("count").textContent = facts.moves.length ? `${facts.moves.length}` : "";
  byId("table").replaceChildren(...(facts.outcome || facts.problem ? [] : [facts.table ? chip(facts.table.wdl, facts.table.dtm) : "", " ", tableLine(facts)]));
  byId("why").hidden = !facts.meanings.length;
  byId("why-list").replaceChildren(...facts.meanings.map((line) => el("li", { text: line })));
  showStanding(byId("standing"), facts, (position) => open(position));
  byId("position").value = facts.position;
  byId("play-here").href = game.address("/play");
  byId("analyse").href = game.address("/games");
  byId("undo").disabled = byId("first").disabled = !game.moves.length;
  byId("redo").disabled = byId("last").disabled = !game.redo.length;
  lockSearches(Boolean(facts.outcome || facts.problem));
  byId("rules-name").textContent = described.title || described.variant;
  chooseVariant();
}

function draw(arrows = [], locked = false) {
  const { facts } = game;
  view.show({
    cells: facts.cells,
    legal: facts.moves,
    last: facts.made.at(-1)?.move,
    arrows,
    turn: facts.turn,
    locked: locked || asks.runs("load") || Boolean(facts.outcome || facts.problem),
  });
}

function lockSearches(locked) {
  for (const name of ["prove", "think", "move", "make"]) byId(name).disabled = locked;
}

async function make(move) {
  game.push(move);
  const taken = await refresh();
  if (taken === null) return; // another position was requested in the meantime
  if (!taken) {
    game.undo();
    game.redo = [];
    await refresh({ keep: true });
    return;
  }
  const made = game.facts.made.at(-1);
  byId("live").textContent = `${made.move}${made.captures.length ? `, captures ${made.captures.join(", ")}` : ""}. ${byId("turn").textContent}`;
}

function go(ply) {
  game.goTo(ply);
  refresh();
}

async function open(position) {
  try {
    const facts = await asks.post("open", "/api/position", game.asked({ position, moves: [] }), { any: true });
    if (!facts) return;
    game.startFrom(facts.position);
    await refresh();
  } catch (error) {
    complain(error);
  }
}

// -- the engine ---------------------------------------------------------------------------------

const isThinking = () => byId("think").getAttribute("aria-pressed") === "true";

function showThinking(on) {
  byId("think").setAttribute("aria-pressed", on);
  byId("think").textContent = on ? "Stop" : "Think";
}

async function think() {
  const line = byId("engine");
  const body = game.asked({ movetime: Number(byId("movetime").value) });
  try {
    if (!(await asks.stream("think", "/api/think", body, (name, told) => showThought(told, name === "done"), { line, words: "Thinking …", own: true }))) return;
  } catch (error) {
    line.replaceChildren(el("p", { class: "wrong", text: error.message }));
  }
  showThinking(false);
}

// CSS classes for the best moves' arrows and lines, by rank.
const RANKS = ["", "second", "third"];

function showThought(told, done) {
  const bar = el("meter", { min: 0, max: 1, "aria-label": "White's expected points" });
  const proven = (line) => line.mate !== null && line.mate !== undefined;
  const whites = (line) => (line.mate > 0) === (told.turn === "white");
  const wins = (line) => `${whites(line) ? "White" : "Black"} wins in ${plies(Math.abs(line.mate))}`;
  bar.value = whitePoints(told.points, told.turn) ?? 0.5;
  bar.hidden = told.points === null;
  const words = proven(told) ? wins(told) : sayPoints(told.score ?? 0, told.points, told.turn);
  const short = (line) => (proven(line) ? wins(line) : line.points === null ? String(line.score) : `White ${Math.round(100 * whitePoints(line.points, told.turn))} %`);
  const lines = told.lines.map((line, rank) =>
    el("li", { class: RANKS[rank] }, el("strong", { text: short(line) }), el("span", { class: "mono line", text: ` ${line.pv.join("  ")}` }), line.depth === told.depth ? "" : el("span", { class: "quiet", text: ` (depth ${line.depth})` })),
  );
  byId("engine").replaceChildren(
    bar,
    el("p", { class: "score", title: proven(told) ? "" : `${told.score ?? 0} centi-logits for ${told.turn}` }, el("strong", { text: words }), el("span", { class: "quiet", text: ` depth ${told.depth}, ${told.nodes.toLocaleString("en")} nodes${done ? "" : " …"}` })),
    el("ol", { class: "lines", "aria-label": "Best lines" }, ...lines),
  );
  // Draw the best move's arrow last, on top of the others.
  if (view.selected === null) draw(told.lines.map((line, rank) => [line.pv[0], RANKS[rank]]).reverse());
}

byId("think").addEventListener("click", () => {
  const on = !isThinking();
  showThinking(on);
  if (on) think();
  else asks.stop("think"); // the results found so far stay
});
byId("movetime").addEventListener("change", () => isThinking() && think());

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

// -- rules --------------------------------------------------------------------------------------

function chooseVariant() {
  const select = byId("variant");
  select.value = game.rules ? OWN : game.variant;
}

byId("variant").addEventListener("change", () => {
  if (byId("variant").value === OWN) {
    askForRules();
    return;
  }
  game.take(byId("variant").value);
  refresh();
});

const askForRules = ownRules((text) => {
  game.take("", text);
  refresh();
}, chooseVariant);

// -- text ---------------------------------------------------------------------------------------

byId("read").addEventListener("submit", (event) => {
  event.preventDefault();
  open(byId("position").value.trim());
});
byId("read-move").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = byId("move").value.trim();
  if (!text) return;
  await make(text);
  byId("move").value = "";
});
byId("copy-position").addEventListener("click", () => copy(game.facts.position, "Position"));
byId("copy-opentafl").addEventListener("click", () => copy(game.facts.texts.opentafl, "OpenTafl string"));
byId("copy-bologna").addEventListener("click", () => copy(game.facts.texts.bologna, "Bologna state"));
byId("copy-link").addEventListener("click", () => copy(new URL(game.address(), location.href).href, "Address"));
byId("copy-svg").addEventListener("click", async () => {
  try {
    const drawing = await texts.post("svg", "/api/svg", game.asked(), { text: true });
    if (drawing) copy(drawing, "Drawing (SVG)");
  } catch (error) {
    complain(error);
  }
});

// -- editing ------------------------------------------------------------------------------------

function beginEditing() {
  asks.change();
  showThinking(false);
  // The facts about the previous position do not apply to the draft.
  for (const name of ["table", "legal", "count", "standing", "engine", "proof", "played"]) byId(name)?.replaceChildren();
  lockSearches(true);
  return game.facts;
}

// -- buttons and keys ---------------------------------------------------------------------------

const does = {
  first: () => (editing.on ? editing.go(-Infinity) : go(0)),
  undo: () => (editing.on ? editing.go(-1) : game.undo() && refresh()),
  redo: () => (editing.on ? editing.go(1) : game.forward() && refresh()),
  last: () => (editing.on ? editing.go(Infinity) : go(game.moves.length + game.redo.length)),
  flip: () => view.turn(2),
  rotate: () => view.turn(1),
  start: () => {
    game.startFrom(null);
    refresh();
  },
};
for (const [name, call] of Object.entries(does)) byId(name).addEventListener("click", call);
onKeys({ ArrowLeft: "undo", ArrowRight: "redo", Home: "first", End: "last", f: "flip", r: "rotate" }, does);
rulebook(() => game);

refresh().then(async (ok) => {
  if (ok || game.facts) return;
  // The address contains something invalid. Keep the error message, and show the start position of its rules if they
  // are valid, otherwise that of ashton.
  const known = Boolean(game.described);
  game.take(known ? game.variant : "ashton", known ? game.rules : null);
  if (await refresh({ keep: true })) byId("message").append(". The board shows the start instead.");
});
