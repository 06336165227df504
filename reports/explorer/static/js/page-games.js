// @ts-check
// The page on game records, where a record can be loaded, stepped through and analysed.

import { Asks } from "./asks.js";
import { BoardView } from "./board.js";
import { byId, complain, el, plies, say, sayPoints, several, svg, whitePoints } from "./dom.js";
import { Game, hiddenRules, rulesOfAddress } from "./game.js";
import { forgetGames, keepGame, keptGames, restoreGames } from "./kept.js";
import { onKeys } from "./keys.js";
import { OWN, ownRules } from "./own-rules.js";
import { showMade, showTurn } from "./panel.js";
import { keepMistakes } from "./mistakes.js";
import { saveGame } from "./save.js";
import { TreeGame } from "./tree.js";
import { keepTree, takeRecord, withTree } from "./tree-text.js";

const EXAMPLE = `[Variant "brandubh"]
[White "alphabeta"]
[Black "heuristic"]

1. a4-a5 d3-e3 2. a5-c5 c4-c2 3. d2-e2 d4-d3 4. c5-a5 d3-a3 5. d6-a6 a3-a1`;
const MOST_BYTES = 2 ** 23;
const asks = new Asks();
const view = new BoardView(byId("board"), { onMove: () => {} });
let game = null;
let record = null;
let asked = null;
let analysis = null;
let tree = null; // the game with its variations and comments
let following = []; // white's expected points in the positions that an analysis has looked at
let loading = null;

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

async function asksFor() {
  const [file] = byId("file").files;
  const said = byId("variant").value === OWN ? { rules: own } : { variant: byId("variant").value };
  if (byId("record").value.trim()) return { ...said, record: byId("record").value };
  if (!file) throw new Error("choose a file, or paste a record");
  if (file.size > MOST_BYTES) throw new Error(`the file has ${file.size.toLocaleString("en")} bytes; at most ${MOST_BYTES.toLocaleString("en")} are read`);
  return { ...said, record_base64: await base64(file) };
}

// Read the record that `find()` returns, and show its game. The address then contains the game; this tab stores the
// record with names and notes. If the record is refused, no game is shown; the previous one remains only in the list of
// stored games.
async function load(find, { given = false } = {}) {
  asks.change();
  const mine = (loading = {});
  const ply = find === ofAddress ? new URLSearchParams(location.search).get("ply") : null;
  try {
    const said = await find();
    if (!said || loading !== mine) return;
    const read = await asks.post("record", "/api/record", said);
    if (!read) return;
    asks.change(); // what was asked in the meantime is about the previous game
    [asked, record] = [said, read];
    say("");
    [analysis, following] = [null, []];
    game = new Game({ variant: record.shipped, rules: record.rules, position: record.start });
    game.redo = record.moves.map((ply) => ply.move);
    const whole = new Game({ ...game, moves: game.redo });
    const address = whole.address("/games", record.result ? { result: record.result } : {});
    history.replaceState(null, "", address);
    keep(location.href, asked);
    byId("game").hidden = false;
    tree = new TreeGame({ variant: record.shipped, rules: record.rules, position: record.start });
    const unread = takeRecord(tree, record);
    const names = ["White", "Black"].map((side) => record.tags[side]).filter(Boolean);
    byId("who").textContent = `${names.join(" against ")}${names.length ? ", " : ""}${record.variant}, ${plies(record.moves.length)}${record.result ? `, result ${record.result}` : ""}`;
    if (given) keepGame({ key: address, who: byId("who").textContent, address, said: asked });
    showKept();
    const found = record.variations.length;
    const notes = [...record.notes.filter((note) => !note.startsWith("variations omitted") && !/further|more game/.test(note)), ...unread.slice(0, 9)];
    if (found) notes.push(`The record contains ${several(found, "variation")}. Press “To the board” to go through ${found === 1 ? "it" : "them"}.`);
    for (const [name, list] of [["problems", record.problems], ["notes", notes]]) byId(name).replaceChildren(...list.map((line) => el("li", { text: line })));
    showGames();
    byId("graph").replaceChildren();
    byId("graph-said").hidden = true;
    byId("reports").replaceChildren();
    byId("analysis-state").textContent = "Each position is searched, probed and, where possible, proved.";
    byId("decisive").hidden = byId("learn").hidden = true;
    byId("ply-said").textContent = "";
    if (ply !== null) game.goTo(Number(ply) || 0);
    await show();
    byId("game").scrollIntoView({ block: "start" });
  } catch (error) {
    if (loading !== mine) return;
    game = null;
    byId("game").hidden = true;
    complain(error);
  }
}

// Show the games of a file that contains several.
function showGames() {
  const games = Object.entries(record.games);
  byId("games-line").hidden = !games.length;
  byId("games").replaceChildren(...games.map(([number, name]) => el("option", { value: number, text: `${number}. ${name}` })));
  byId("games").value = asked.number ?? games[0]?.[0] ?? "";
}
byId("games").addEventListener("change", () => load(() => ({ ...asked, number: Number(byId("games").value) }), { given: true }));

// If a record is too large for the browser's storage, its moves are still in the address, but its names are lost.
function keep(address, said) {
  try {
    sessionStorage.setItem("record", JSON.stringify({ address, said }));
  } catch {
    sessionStorage.removeItem("record");
  }
}

async function ofAddress() {
  const kept = JSON.parse(sessionStorage.getItem("record") || "{}");
  if (kept.address === location.href) return kept.said;
  const there = Game.fromAddress();
  const text = await asks.post("record", "/api/save", there.asked({ result: new URLSearchParams(location.search).get("result") }), { text: true });
  return text && { ...(there.rules ? { rules: there.rules } : {}), record: text };
}

byId("load").addEventListener("submit", (event) => {
  event.preventDefault();
  load(asksFor, { given: true });
});
byId("file").addEventListener("change", () => (byId("record").value = ""));
byId("shipped").addEventListener("click", () => {
  const { value } = byId("variant");
  load(() => ({ shipped: true, ...(value && value !== OWN ? { variant: value } : {}) }), { given: true });
});
byId("example").addEventListener("click", () => {
  byId("file").value = "";
  byId("variant").value = "";
  byId("record").value = EXAMPLE;
  load(asksFor);
});

// Records are reopened from the stored text; games played here are completely described by their address.
function showKept() {
  const games = keptGames();
  byId("forget").hidden = !games.length && !forgotten;
  if (games.length) forgotten = null;
  byId("forget").textContent = forgotten ? "Restore them" : "Delete them";
  byId("kept").replaceChildren(...games.map(({ who, address, play, said, when }) =>
    el("li", {},
      said ? el("button", { type: "button", class: "link", text: who, onclick: () => load(() => said, { given: true }) }) : el("a", { href: address, text: who }),
      el("span", { class: "quiet", text: ` ${new Date(when).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })} ` }),
      play ? el("a", { href: play, text: "Go on" }) : null,
    ),
  ));
}
let forgotten = null; // the deleted games, until the page is left
byId("forget").addEventListener("click", () => {
  if (forgotten) restoreGames(forgotten);
  forgotten = forgotten ? null : forgetGames();
  showKept();
});
showKept();

// -- rules --------------------------------------------------------------------------------------

let own = rulesOfAddress();
function chooseRules() {
  byId("variant").value = own ? OWN : "";
}
const askForRules = ownRules((text) => {
  own = text;
  history.replaceState(null, "", `/games${hiddenRules(own)}`);
}, chooseRules);
byId("variant").addEventListener("change", () => byId("variant").value === OWN && askForRules());
chooseRules();

// -- the game -----------------------------------------------------------------------------------

async function show() {
  // When stepping quickly, show only the last requested position and ignore earlier responses.
  try {
    if (!(await game.load(asks))) return;
  } catch (error) {
    complain(error);
    return;
  }
  const { facts, described } = game;
  const here = analysis?.plies[game.moves.length];
  view.setTerrain(described.terrain);
  view.show({ cells: facts.cells, last: facts.made.at(-1)?.move, turn: facts.turn, locked: true, arrows: here?.best?.length && game.redo.length ? [[here.best[0]]] : [] });
  showTurn(byId("turn"), facts);
  saved(facts);
  const grades = new Map((analysis?.plies || []).filter((ply) => ply.grade).map((ply) => [ply.ply, ply.grade]));
  showMade(byId("made"), facts, game.redo, go, grades);
  byId("undo").disabled = byId("first").disabled = !game.moves.length;
  byId("redo").disabled = byId("last").disabled = !game.redo.length;
  byId("analyse-here").href = game.address("/board", {}, true);
  byId("comment-said").textContent = record.comments[game.moves.length] ?? "";
  byId("play-here").href = game.address("/play");
  saidOfPly();
  drawGraph();
  // The ply is part of the address, which can be sent to others.
  const address = game.address("/games", record.result ? { result: record.result } : {}, true);
  if (location.pathname + location.search + location.hash !== address) {
    history.replaceState(null, "", address);
    keep(location.href, asked);
  }
}

function go(ply) {
  game.goTo(ply);
  show();
}

function knownBefore(ply) {
  if (!ply.wdl) return sayPoints(ply.score, ply.points, ply.side);
  return `${ply.wdl}${ply.dtm === null ? "" : ` in ${plies(ply.dtm)}`} for ${ply.side}`;
}

function saidOfPly() {
  const ply = analysis?.plies[game.moves.length - 1];
  if (!ply) {
    byId("ply-said").textContent = "";
    return;
  }
  const lost = ply.loss === null ? "its cost in points is not known" : ply.loss >= 0.005 ? `gave away ${Math.round(100 * ply.loss)} % of a point` : "cost nothing";
  const better = ply.best.length && !ply.best.includes(ply.move) ? ` Better: ${ply.best.slice(0, 3).join(", ")}.` : "";
  byId("ply-said").textContent = `Ply ${ply.ply}, ${ply.side} ${ply.move}: ${lost}${ply.grade ? `, ${/^[aeiou]/.test(ply.grade) ? "an" : "a"} ${ply.grade}` : ""}${ply.missed_win ? ", missing a win" : ""}.${better} Before it: ${knownBefore(ply)}.`;
}

// Draw white's expected points, during an analysis as far as it has come.
function drawGraph() {
  const plies = analysis?.plies;
  const chances = plies ? plies.map((ply) => (ply.points === null ? null : whitePoints(ply.points, ply.side))) : [...following];
  if (!chances.length || chances.includes(null)) return;
  if (plies) {
    const last = analysis.outcome;
    chances.push(last ? (last.startsWith("white") ? 1 : last.startsWith("black") ? 0 : 0.5) : chances.at(-1));
  }
  const width = Math.max(plies ? chances.length - 1 : record.moves.length, 1);
  const end = chances.length - 1;
  const points = chances.map((chance, ply) => `${ply},${100 - 100 * chance}`);
  const picture = svg("svg", { viewBox: `0 0 ${width} 100`, preserveAspectRatio: "none", role: "img", "aria-label": "White's expected points after each ply" });
  picture.append(
    svg("polygon", { class: "graph-white", points: `0,100 ${points.join(" ")} ${end},100` }),
    svg("line", { class: "graph-middle", x1: 0, x2: width, y1: 50, y2: 50 }),
    svg("line", { class: "graph-here", x1: game.moves.length, x2: game.moves.length, y1: 0, y2: 100 }),
  );
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * width));
  });
  byId("graph").replaceChildren(picture);
  byId("graph-said").hidden = false;
}

function showReports() {
  const line = (side, report) =>
    el("p", { text: `${side}: ${!report.moves ? "no move" : report.accuracy === null ? "accuracy not measured for these rules" : `accuracy ${report.accuracy.toFixed(1)} %`}; ${several(report.blunders, "blunder")}, ${several(report.mistakes, "mistake")}, ${several(report.inaccuracies, "inaccuracy", "inaccuracies")}, ${several(report.missed_wins, "missed win")}` });
  byId("reports").replaceChildren(line("White", analysis.white), line("Black", analysis.black));
  const error = analysis.first_decisive_error;
  byId("decisive").hidden = !error;
  if (error) {
    byId("analysis-state").textContent = `The losing move: ply ${error.ply}, ${error.side} ${error.move}, ${error.certain ? "the game was not lost before it" : "according to the estimates"}.`;
  } else byId("analysis-state").textContent = "No move is known to have lost the game.";
}

byId("decisive").addEventListener("click", () => go(analysis.first_decisive_error.ply));
byId("analyse").addEventListener("click", async () => {
  const line = byId("analysis-state");
  [analysis, following] = [null, []];
  const heard = (name, { ply, plies: all, points }) => {
    if (name !== "looked") return;
    asks.tell("analysis", `${ply} of ${all} plies`);
    following.push(points ?? null);
    drawGraph();
  };
  try {
    const found = await asks.stream("analysis", "/api/analyse", asked, heard, { line, words: "Looking …", button: byId("analyse") });
    if (!found) return;
    analysis = found;
    for (const [ply, node] of tree.main.entries()) {
      const grade = analysis.plies[ply]?.grade;
      if (grade && !node.marks) node.marks = { blunder: "??", mistake: "?", inaccuracy: "?!" }[grade];
    }
    tree.edition += 1;
    const errors = keepMistakes(record, analysis);
    byId("learn").hidden = !errors;
    byId("learn").textContent = `Find better moves (${several(errors, "position")})`;
    showReports();
    await show();
  } catch (error) {
    line.textContent = error.message;
  }
});

const does = { first: () => go(0), undo: () => go(game.moves.length - 1), redo: () => go(game.moves.length + 1), last: () => go(game.moves.length + game.redo.length), flip: () => view.turn(2) };
for (const [name, call] of Object.entries(does)) byId(name).addEventListener("click", call);
onKeys({ ArrowLeft: "undo", ArrowRight: "redo", ArrowUp: "first", ArrowDown: "last", Home: "first", End: "last", f: "flip" }, does);
const saved = saveGame(byId("save"), () => ({ game: new Game({ ...game, moves: [...game.moves, ...game.redo] }), shown: game, tags: record.tags, result: record.result, write: (text) => withTree(tree, text) }));
// The board takes over the variations and comments.
byId("analyse-here").addEventListener("click", () => keepTree(tree));
if (new URLSearchParams(location.search).has("moves")) load(ofAddress);
