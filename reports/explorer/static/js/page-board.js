// The analysis board.

import { post, stream } from "./api.js";
import { BoardView, squareOf } from "./board.js";
import { byId, chip, complain, copy, el, plies, say, saidScore, verdict, whiteChance } from "./dom.js";
import { Game } from "./game.js";
import { OWN, ownRules } from "./own-rules.js";
import { showLegal, showMade, showStanding, showTurn, tableLine } from "./panel.js";
import { showPlayed } from "./played.js";
import { rulebook } from "./rulebook.js";
import { saveGame } from "./save.js";

const game = Game.fromAddress();
const view = new BoardView(byId("board"), { onMove: (from, to) => make(`${from}-${to}`), onIllegal: (from, to) => game.whyNot(`${from}-${to}`), onSquare: put });
const saved = saveGame(byId("save"), () => ({ game }));
let asking = null;
let thinking = null;
let tool = "b";
let draft = null;

async function refresh({ keep = false } = {}) {
  asking?.abort();
  asking = new AbortController();
  stopThinking();
  for (const name of ["engine", "proof"]) byId(name).replaceChildren();
  try {
    await game.load(asking.signal);
    if (!keep) say("");
    show();
    history.replaceState(null, "", game.address());
    showPlayed(byId("played"), game, make, asking.signal);
    if (byId("think").getAttribute("aria-pressed") === "true") think();
    return true;
  } catch (error) {
    if (error.name === "AbortError") return null;
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
    locked: locked || Boolean(facts.outcome || facts.problem),
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

async function open(position, side = null) {
  const before = { ...game };
  game.startFrom(position);
  try {
    const body = { ...game.asked(), ...(side ? { side } : {}) };
    const facts = await post("/api/position", body);
    game.startFrom(facts.position);
  } catch (error) {
    Object.assign(game, before);
    complain(error);
    return;
  }
  await refresh();
}

// -- the engine ---------------------------------------------------------------------------------

function stopThinking() {
  thinking?.abort();
  thinking = null;
}

function showThinking(on) {
  byId("think").setAttribute("aria-pressed", on);
  byId("think").textContent = on ? "Stop" : "Think";
}

async function think() {
  stopThinking();
  thinking = new AbortController();
  const mine = thinking;
  const box = byId("engine");
  const said = (line) => thinking === mine && box.replaceChildren(el("p", { class: "quiet", text: line }));
  const waiting = (line) => said(line || "Thinking …");
  waiting("");
  const heard = (name, told) => thinking === mine && showThought(told, name === "done");
  try {
    await stream("/api/think", game.asked({ movetime: Number(byId("movetime").value) }), heard, mine.signal, waiting);
  } catch (error) {
    if (error.name !== "AbortError") box.replaceChildren(el("p", { class: "wrong", text: error.message }));
  }
  if (thinking === mine) showThinking(false);
}

// CSS classes for the best moves' arrows and lines, by rank.
const RANKS = ["", "second", "third"];

function showThought(told, done) {
  const bar = el("meter", { min: 0, max: 1, "aria-label": "White's expected points" });
  const proven = (line) => line.mate !== null && line.mate !== undefined;
  const whites = (line) => (line.mate > 0) === (told.turn === "white");
  const wins = (line) => `${whites(line) ? "White" : "Black"} wins in ${plies(Math.abs(line.mate))}`;
  const chance = (line) => (proven(line) ? Number(whites(line)) : whiteChance(line.score ?? 0, told.turn));
  bar.value = chance(told);
  const words = proven(told) ? wins(told) : saidScore(told.score ?? 0, told.turn);
  const short = (line) => (proven(line) ? wins(line) : `White ${Math.round(100 * chance(line))} %`);
  const lines = told.lines.map((line, rank) =>
    el("li", { class: RANKS[rank] }, el("strong", { text: short(line) }), el("span", { class: "mono line", text: ` ${line.pv.join("  ")}` })),
  );
  byId("engine").replaceChildren(
    bar,
    el("p", { class: "score" }, el("strong", { text: words }), el("span", { class: "quiet", text: ` depth ${told.depth}, ${told.nodes.toLocaleString("en")} nodes${done ? "" : " …"}` })),
    el("ol", { class: "lines", "aria-label": "Best lines" }, ...lines),
  );
  // Draw the best move's arrow last, on top of the others.
  if (view.selected === null) draw(told.lines.map((line, rank) => [line.pv[0], RANKS[rank]]).reverse());
}

byId("think").addEventListener("click", () => {
  const on = byId("think").getAttribute("aria-pressed") !== "true";
  showThinking(on);
  if (on) think();
  else {
    // Keep the results found so far.
    stopThinking();
    byId("engine").querySelector("p:only-child.quiet")?.remove();
  }
});
byId("movetime").addEventListener("change", () => byId("think").getAttribute("aria-pressed") === "true" && think());

byId("prove").addEventListener("click", async () => {
  const box = byId("proof");
  byId("prove").disabled = true;
  const waiting = (line) => box.replaceChildren(el("p", { class: "quiet", text: line || "Proving …" }));
  waiting("");
  try {
    const { moves, ...asked } = game.asked();
    const found = await post("/api/solve", { ...asked, position: game.facts.position }, { waiting });
    box.replaceChildren(...proofLines(found));
  } catch (error) {
    box.replaceChildren(el("p", { class: "wrong", text: error.message }));
  }
  byId("prove").disabled = false;
});

function proofLines(found) {
  const lines = [];
  if (found.status === "proved") {
    lines.push(el("p", {}, chip(found.wdl, found.dtm), ` Proved: ${game.facts.turn} to move, ${verdict(found.wdl, found.dtm).toLowerCase()}.`));
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
    copy(await post("/api/svg", game.asked(), { text: true }), "Drawing (SVG)");
  } catch (error) {
    complain(error);
  }
});

// -- editing ------------------------------------------------------------------------------------

function put(name) {
  const square = squareOf(name, view.size);
  const cells = draft.cells.split("");
  cells[square] = cells[square] === tool ? "." : tool;
  draft.cells = cells.join("");
  showDraft();
}

function rows(cells, size) {
  const lines = [];
  for (let rank = size - 1; rank >= 0; rank -= 1) {
    lines.push(cells.slice(rank * size, (rank + 1) * size).replace(/\.+/g, (empty) => empty.length));
  }
  return lines.join("/");
}

async function showDraft() {
  view.show({ cells: draft.cells, turn: draft.side });
  const text = `${rows(draft.cells, view.size)} ${draft.side}`;
  byId("position").value = text;
  try {
    const { moves, ...asked } = game.asked();
    const facts = await post("/api/position", { ...asked, position: text });
    if (!view.editing) return;
    showTurn(byId("turn"), facts);
    byId("why").hidden = !facts.meanings.length;
    byId("why-list").replaceChildren(...facts.meanings.map((line) => el("li", { text: line })));
  } catch (error) {
    complain(error);
  }
}

function edit(on) {
  view.editing = on;
  byId("editor").hidden = !on;
  byId("edit").setAttribute("aria-pressed", on);
  document.body.classList.toggle("editing", on);
  if (on) {
    stopThinking();
    // The facts about the previous position do not apply to the draft.
    for (const name of ["table", "legal", "count", "standing", "engine", "proof"]) byId(name).replaceChildren();
    lockSearches(true);
    draft = { cells: game.facts.cells, side: game.facts.turn === "white" ? "w" : "b" };
    document.querySelector(`input[name=side][value=${draft.side}]`).checked = true;
    showDraft();
  }
}

byId("edit").addEventListener("click", () => {
  const on = !view.editing;
  edit(on);
  if (!on) refresh();
});
byId("edit-done").addEventListener("click", async () => {
  const text = byId("position").value;
  edit(false);
  await open(text);
});
byId("edit-clear").addEventListener("click", () => {
  draft.cells = ".".repeat(view.size ** 2);
  showDraft();
});
for (const input of document.querySelectorAll("input[name=tool]")) input.addEventListener("change", () => (tool = input.value));
for (const input of document.querySelectorAll("input[name=side]")) {
  input.addEventListener("change", () => {
    draft.side = input.value;
    showDraft();
  });
}

// -- buttons and keys ---------------------------------------------------------------------------

const does = {
  first: () => go(0),
  undo: () => game.undo() && refresh(),
  redo: () => game.forward() && refresh(),
  last: () => go(game.moves.length + game.redo.length),
  flip: () => view.turn(2),
  rotate: () => view.turn(1),
  start: () => {
    game.startFrom(null);
    refresh();
  },
};
for (const [name, call] of Object.entries(does)) byId(name).addEventListener("click", call);

const keys = { ArrowLeft: "undo", ArrowRight: "redo", Home: "first", End: "last", f: "flip", r: "rotate" };
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, textarea, select, .squares")) return;
  const name = keys[event.key];
  if (!name) return;
  event.preventDefault();
  if (!byId(name).disabled) does[name]();
});
addEventListener("pagehide", stopThinking);
rulebook(() => game);

refresh().then(async (ok) => {
  if (ok || game.facts) return;
  // The address contains something invalid. Keep the error message, and show the start position of its rules if they
  // are valid, otherwise that of ashton.
  const known = Boolean(game.described);
  game.take(known ? game.variant : "ashton", known ? game.rules : null);
  if (await refresh({ keep: true })) byId("message").append(". The board shows the start instead.");
});
