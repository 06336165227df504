// @ts-check
// The analysis board.

import { Asks } from "./asks.js";
import { BoardView } from "./board.js";
import { byId, chip, complain, copy, el, say } from "./dom.js";
import { editor } from "./editor.js";
import { engine } from "./engine.js";
import { onKeys } from "./keys.js";
import { OWN, ownRules } from "./own-rules.js";
import { showLegal, showStanding, showTurn, tableLine } from "./panel.js";
import { showPlayed } from "./played.js";
import { proving } from "./prove.js";
import { rulebook } from "./rulebook.js";
import { saveGame } from "./save.js";
import { treeView } from "./show-tree.js";
import { soundMove } from "./sound.js";
import { TreeGame } from "./tree.js";
import { keepTree, restoreTree, takeRecord, withTree } from "./tree-text.js";

const game = /** @type {TreeGame} */ (TreeGame.fromAddress());
const asks = new Asks(() => game.facts?.position ?? null);
const texts = new Asks(); // about the position at which the button was pressed
const view = new BoardView(byId("board"), {
  onMove: (from, to) => make(`${from}-${to}`),
  onIllegal: (from, to) => game.whyNot(`${from}-${to}`, asks),
  onSquare: (name) => editing.put(name),
  onDrag: (from, to) => editing.drag(from, to),
  instant: true,
});
const editing = editor(view, { asked: () => game.asked(), asks, begin: beginEditing, leave: refresh, done: open });
const saved = saveGame(byId("save"), () => ({ game: game.whole, shown: game, tags: game.tags, result: game.result, write: (text) => withTree(game, text) }));
const thinking = engine({ game, view, asks, draw, play: (moves) => playLine(moves) });
const tree = treeView(byId("made"), {
  go: (node) => {
    game.show(node);
    refresh();
  },
  changed: ({ quiet = false } = {}) => {
    if (quiet) {
      tree.show(game, null);
      keepTree(game);
    } else refresh();
  },
});
proving(game, asks);

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
    keepAddress();
    showPlayed(byId("played"), game, make, asks);
    thinking.again();
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
  tree.show(game, facts);
  keepTree(game);
  showLegal(byId("legal"), facts, make, (move) => draw(move ? [[move]] : []));
  byId("count").textContent = facts.moves.length ? `${facts.moves.length}` : "";
  // Values are worth the place beside the board; a mere list of moves is not.
  byId("legal-fold").open = facts.moves.some((move) => move.wdl) || wantsMoves;
  byId("table").replaceChildren(...(facts.outcome || facts.problem ? [] : [facts.table ? chip(facts.table.wdl, facts.table.dtm) : "", " ", tableLine(facts)]));
  byId("why").hidden = !facts.meanings.length;
  byId("why-list").replaceChildren(...facts.meanings.map((line) => el("li", { text: line })));
  showStanding(byId("standing"), facts, (position) => open(position));
  byId("position").value = facts.position;
  byId("play-here").href = game.address("/play");
  byId("analyse").href = game.address("/games", {}, true);
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
  try {
    game.push(move);
  } catch (error) {
    complain(error);
    await refresh({ keep: true });
    return;
  }
  const pushed = game.here;
  const taken = await refresh();
  if (taken === null) return; // another position was requested in the meantime
  if (!taken) {
    if (game.here === pushed) game.refuse();
    await refresh({ keep: true });
    return;
  }
  const made = game.facts.made.at(-1);
  soundMove(made.captures.length > 0);
  byId("live").textContent = `${made.move}${made.captures.length ? `, captures ${made.captures.join(", ")}` : ""}. ${byId("turn").textContent}`;
}

// Make the moves of one of the engine's lines.
async function playLine(moves) {
  try {
    for (const move of moves) game.push(move);
  } catch (error) {
    complain(error);
  }
  await refresh();
}

// The address contains the line that is shown, the ply, and how the board is turned.
function keepAddress() {
  history.replaceState(null, "", game.address(location.pathname, view.turns ? { turned: view.turns } : {}, true));
}

function turn(quarters) {
  view.turn(quarters);
  keepAddress();
}

function go(ply) {
  game.goTo(ply);
  refresh();
}

// A record with moves, rather than a position.
const RECORD = /^\s*(?:\[[A-Z][A-Za-z0-9_-]*[ \t]+"|1\.)/;

async function read(text) {
  if (!RECORD.test(text)) {
    await open(text);
    return;
  }
  const rules = /^\s*\[(?:Variant|Rules)[ \t]/m.test(text) ? {} : game.rules ? { rules: game.rules } : { variant: game.variant };
  try {
    const record = await asks.post("open", "/api/record", { ...rules, record: text }, { any: true });
    if (!record) return;
    game.take(record.shipped ?? "", record.rules);
    game.position = record.start;
    const notes = [...takeRecord(game, record), ...record.problems, ...record.notes.filter((note) => !note.startsWith("variations omitted"))];
    say([...notes.slice(0, 4), ...(notes.length > 4 ? [`And ${notes.length - 4} more such notes.`] : [])].join(" "));
    await refresh({ keep: true });
  } catch (error) {
    complain(error);
  }
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
  read(byId("position").value.trim());
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
byId("copy-link").addEventListener("click", () => copy(location.href, "Address"));
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
  thinking.stop();
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
  before: () => (game.sideways(-1) ? refresh() : go(0)),
  after: () => (game.sideways(1) ? refresh() : go(game.moves.length + game.redo.length)),
  flip: () => turn(2),
  rotate: () => turn(1),
  start: () => {
    if (game.position) game.startFrom(null);
    else game.goTo(0); // the moves and variations are kept
    refresh();
  },
};
for (const [name, call] of Object.entries(does)) byId(name).addEventListener("click", call);
onKeys({ ArrowLeft: "undo", ArrowRight: "redo", ArrowUp: "before", ArrowDown: "after", Home: "first", End: "last", f: "flip", r: "rotate" }, does);
rulebook(() => game);

let wantsMoves = false;
byId("legal-fold").querySelector("summary").addEventListener("click", () => (wantsMoves = !byId("legal-fold").open));

const asked = new URLSearchParams(location.search);
restoreTree(game);
if (asked.has("ply")) game.goTo(Number(asked.get("ply")) || 0);
if (/^[123]$/.test(asked.get("turned"))) view.turn(Number(asked.get("turned")));
refresh().then(async (ok) => {
  if (ok || game.facts) return;
  // The address contains something invalid. Keep the error message, and show the start position of its rules if they
  // are valid, otherwise that of ashton.
  const known = Boolean(game.described);
  game.take(known ? game.variant : "ashton", known ? game.rules : null);
  if (await refresh({ keep: true })) byId("message").append(". The board shows the start instead.");
});
