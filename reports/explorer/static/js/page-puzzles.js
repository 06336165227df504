// @ts-check
// Puzzles: the list, and one puzzle solved move by move. The server proves correct moves and refutes the others.

import { Asks } from "./asks.js";
import { BoardView } from "./board.js";
import { byId, complain, el, plies, say, stepsOf } from "./dom.js";
import { Game } from "./game.js";
import { onKeys } from "./keys.js";
import { miniBoard, terrainOf } from "./mini.js";
import { keptMistakes, solveMistake } from "./mistakes.js";
import { showMade, showTurn } from "./panel.js";
import { count, dayOf, puzzleOfDay, standingLine } from "./rating.js";
import { rulebook, rulesOf } from "./rulebook.js";
import { saveGame } from "./save.js";
import { soundMove } from "./sound.js";

const FILTERS = { rules: "variant", winner: "winner", plies: "plies", grade: "grade", "theme-of": "theme" };
const progress = JSON.parse(localStorage.getItem("puzzles") || "{}");
const asks = new Asks(() => game?.facts?.position ?? null);
const PAGE = 24;
let page = 0; // from 0 on
let deciding = { rules: [] };
let listed = [];
let listing = null;
let view = null;
let game = null;
let puzzle = null;
let saved = null;
let moves = [];
let helped = false;
let solution = null; // the line that is gone through, after it was shown
let shows = 0; // how often a position was shown
let day = null; // the date, if the puzzle is that of the day

const stars = (grade) => (grade ? "★".repeat(grade) + "☆".repeat(5 - grade) : "not graded");
const claim = (one) => `${one.winner === "white" ? "White" : "Black"} wins in ${plies(one.plies)}`;
const toMove = (one) => `${one.side === "white" ? "White" : "Black"} to move`;

// The first attempt at a puzzle counts for the rating.
function keep(id, state) {
  if (!progress[id]) {
    const { change, rating } = count(puzzle, state === "solved", day);
    byId("rated").textContent = `Your rating: ${Math.round(rating)} (${change > 0 ? "+" : ""}${change}). ${standingLine().replace(/^[^;.]*[;.] ?/, "")}`;
  } else if (day && state === "solved") byId("rated").textContent = standingLine();
  if (progress[id] === "solved" && state !== "solved") return;
  progress[id] = state;
  localStorage.setItem("puzzles", JSON.stringify(progress));
}

function chosen() {
  const state = byId("state").value;
  return listed.filter(
    (one) =>
      Object.entries(FILTERS).every(([id, field]) => !byId(id).value || String(one[field]) === byId(id).value) &&
      (!state || (state === "solved") === (progress[one.id] === "solved")),
  );
}

function query() {
  const said = new URLSearchParams([...Object.keys(FILTERS), "state"].filter((id) => byId(id).value).map((id) => [id, byId(id).value]));
  if (page) said.set("page", String(page));
  return said;
}

async function showList() {
  const mine = (listing = {});
  const shown = chosen();
  page = Math.max(0, Math.min(page, Math.ceil(shown.length / PAGE) - 1));
  const solved = listed.filter((one) => progress[one.id] === "solved").length;
  byId("progress").textContent = `${shown.length} of ${listed.length} puzzles; ${solved} solved so far in this browser.`;
  byId("none").hidden = shown.length > 0;
  const said = query();
  history.replaceState(null, "", `/puzzles${said.size ? `?${said}` : ""}`);
  const items = [];
  byId("pages").replaceChildren(...stepsOf(page, PAGE, shown.length, (to) => {
    page = to;
    showList().catch(complain);
  }));
  for (const one of shown.slice(page * PAGE, (page + 1) * PAGE)) {
    const terrain = await terrainOf(one.variant);
    const address = new URLSearchParams(said);
    address.set("puzzle", one.id);
    const state = progress[one.id];
    items.push(
      el("li", {}, el("a", { href: `/puzzles?${address}`, class: state || "", "data-puzzle": one.id },
        miniBoard(terrain, one.position),
        el("strong", { text: claim(one) }),
        el("span", { class: "quiet", text: toMove(one) }),
        el("span", { class: "quiet", text: `${one.id} ${stars(one.grade)}${state ? `, ${state}` : ""}` }),
      )),
    );
  }
  if (listing === mine) byId("list").replaceChildren(...items);
}

// -- solving --------------------------------------------------------------------------------------

function showSolving() {
  for (const name of ["offers", "filters", "standing-line", "progress", "list", "pages"]) byId(name).hidden = true;
  byId("solving").hidden = false;
}

async function open(id) {
  const line = byId("progress");
  const opened = await asks.get("open", `/api/puzzles/${encodeURIComponent(id)}`, { line, words: "Opening the puzzle …", any: true });
  if (!opened) return false;
  showSolving();
  view = new BoardView(byId("board"), { onMove: (from, to) => attempt(`${from}-${to}`), onIllegal: (from, to) => game.whyNot(`${from}-${to}`, asks), instant: true });
  puzzle = opened.puzzle;
  puzzle.right = opened.first;
  document.title = `${puzzle.id} · Puzzles · Tablut explorer`;
  byId("heading").textContent = day ? `Puzzle of the day, ${new Date(day).toLocaleDateString("en", { dateStyle: "long", timeZone: "UTC" })}` : `Puzzle ${puzzle.id}`;
  byId("claim").textContent = claim(puzzle);
  byId("about").textContent = `${day ? `${puzzle.id}, ` : ""}${puzzle.variant}, ${stars(puzzle.grade)}, ${puzzle.theme}, ${puzzle.men} men. Every first move of a shortest win is correct.`;
  game = new Game({ variant: puzzle.variant, position: puzzle.position });
  saved = saveGame(byId("save"), () => ({ game, tags: { Event: `puzzle ${puzzle.id}` } }));
  if (puzzle.winner === "black") view.turn(2);
  puzzle.first = opened.reply ? [opened.reply] : [];
  await begin();
  return true;
}

// Show the rules that decide the puzzle: changing one changes the solution. The server proves this on request.
async function showDeciding() {
  const line = byId("deciding-said");
  try {
    const found = await asks.post("rules", `/api/puzzles/${puzzle.id}/rules`, {}, { line, words: "Solving the puzzle under other rules …", button: byId("decide"), any: true });
    const book = found && (await rulesOf(asks, { variant: puzzle.variant }));
    if (!book) return;
    deciding = found;
    const { chapters } = book;
    const said = (names) => chapters.flatMap(({ points }) => points).filter(({ name }) => names.includes(name)).map((point) => el("li", { text: point.said }));
    byId("deciding").replaceChildren(...said(deciding.rules));
    byId("undecided").replaceChildren(...said(deciding.unknown));
    line.textContent = deciding.rules.length ? "The solution depends on these rules:" : "No rule is known to change the solution.";
    byId("undecided-said").hidden = !deciding.unknown.length;
    byId("decide").disabled = true;
  } catch (error) {
    line.textContent = error.message;
  }
}
byId("decide").addEventListener("click", showDeciding);

async function begin() {
  helped = false;
  solution = null;
  byId("replay").hidden = true;
  if (await show(puzzle.first)) answer(moves.length ? `${moves[0]} was the longest defence. Find the move that wins.` : "Find the first move.", "");
}

// Show the position after some moves. Return false if another position was asked for in the meantime.
async function show(made = moves, { marks = [], arrows = [], locked = false } = {}) {
  for (const name of ["puzzle", "why"]) asks.stop(name);
  shows += 1;
  game.moves = made;
  if (!(await game.load(asks))) return false;
  moves = game.moves;
  const { facts, described } = game;
  view.setTerrain(described.terrain);
  view.show({
    cells: facts.cells,
    legal: facts.moves.map(({ wdl, dtm, ...move }) => move),
    last: facts.made.at(-1)?.move,
    turn: facts.turn,
    locked: locked || Boolean(solution) || facts.turn !== puzzle.winner || Boolean(facts.outcome),
    marks,
    arrows,
  });
  showTurn(byId("turn"), facts);
  saved(facts);
  showMade(byId("made"), facts, solution ? solution.slice(made.length) : [], solution ? step : null);
  byId("first").disabled = byId("back").disabled = !made.length;
  byId("forth").disabled = byId("last").disabled = !solution || made.length >= solution.length;
  for (const name of ["hint", "reveal", "move", "make"]) byId(name).disabled = Boolean(facts.outcome || solution);
  byId("next").classList.toggle("main", Boolean(facts.outcome));
  byId("analyse").href = game.address("/board");
  return true;
}

function answer(line, kind) {
  byId("answer").textContent = line;
  byId("answer").className = `answer ${kind}`;
}

// Ask for a proof about the puzzle, and call `take` with the answer. Another question replaces this one. Without an
// answer, the board shows the position before a move that was tried.
async function ask(what, body, take, button = null, words = "Looking for a proof …") {
  if (game.facts.turn !== puzzle.winner || game.facts.outcome) return; // the reply to a move is about to be shown
  answer("", "");
  const before = shows;
  try {
    const found = await asks.post("puzzle", `/api/puzzles/${puzzle.id}/${what}`, body, { line: byId("answer"), words, button });
    if (found) {
      say("");
      await take(found);
    } else if (shows === before && !asks.runs("puzzle")) await show();
  } catch (error) {
    complain(error);
    if (shows === before) await show().catch(complain);
  }
}

// A first move that the puzzle's file names is right at once; only the best defence has to be found.
function attempt(move) {
  soundMove(game.facts.moves.find((one) => one.move === move)?.captures.length > 0);
  const right = !moves.length && puzzle.right.includes(move);
  return ask("try", { moves: [...moves, move] }, judged, null, right ? "Right! Looking for a proof of the longest defence …" : undefined);
}

async function judged(tried) {
  if (!tried.right) {
    helped = true;
    keep(puzzle.id, "tried");
    if (await show(moves, { arrows: [[tried.move, "tried"], ...(tried.reply ? [[tried.reply, "wrong"]] : [])] })) answer(`${tried.move}: ${tried.said}`, "wrong");
    return;
  }
  const after = [...moves, tried.move];
  if (tried.reply) {
    if (!(await show(after, { locked: true })) || (await asks.pause("puzzle", 0.35)) === null) return;
    after.push(tried.reply);
  }
  if (!(await show(after))) return;
  if (tried.over) {
    keep(puzzle.id, helped ? "seen" : "solved");
    answer(helped ? "Solved, with help." : "Solved!", "right");
    byId("next").focus();
  } else answer(tried.said, "right");
}

byId("hint").addEventListener("click", () =>
  ask("hint", { moves }, async ({ square }) => {
    helped = true;
    if (await show(moves, { marks: [square] })) answer(`The piece on ${square} moves.`, "");
  }, byId("hint")),
);
byId("reveal").addEventListener("click", () =>
  ask("reveal", { moves }, async ({ right, line }) => {
    helped = true;
    keep(puzzle.id, "seen");
    const before = [...moves];
    solution = [...before, ...line];
    byId("replay").hidden = false;
    if (!(await show(before, { arrows: right.map((move) => [move]) }))) return;
    answer(`${right.length === 1 ? "Only" : "Right:"} ${right.join(", ")}. The line: ${line.join("  ")}`, "");
    // Play the solution through, until something else is asked for.
    for (let ply = before.length + 1; solution && ply <= solution.length; ply += 1) {
      if ((await asks.pause("puzzle", ply === before.length + 1 ? 1.2 : 0.8)) === null || !(await show(solution.slice(0, ply)))) return;
    }
  }, byId("reveal")),
);

function step(ply) {
  if (solution) show(solution.slice(0, Math.max(ply, 0))).catch(complain);
}
const steps = { first: () => step(0), back: () => step(moves.length - 1), forth: () => step(moves.length + 1), last: () => step(Infinity) };
for (const [name, call] of Object.entries(steps)) byId(name).addEventListener("click", call);
onKeys({ ArrowLeft: "back", ArrowRight: "forth", ArrowUp: "first", ArrowDown: "last", Home: "first", End: "last" }, steps);

byId("again").addEventListener("click", () => begin().catch(complain));
byId("next").addEventListener("click", () => {
  const open = chosen();
  const here = open.findIndex((one) => one.id === puzzle.id);
  const after = [...open.slice(here + 1), ...open.slice(0, here + 1)];
  const next = after.find((one) => progress[one.id] !== "solved") || after[0] || listed[0];
  const address = query();
  address.set("puzzle", next.id);
  location.href = `/puzzles?${address}`;
});
byId("read-move").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("move").value.trim();
  byId("move").value = "";
  if (text) attempt(text);
});

rulebook(() => game, () => deciding.rules);

// -- the page -------------------------------------------------------------------------------------

const asked = new URLSearchParams(location.search);
for (const id of [...Object.keys(FILTERS), "state"]) {
  if (asked.has(id)) byId(id).value = asked.get(id);
  byId(id).addEventListener("change", () => {
    page = 0;
    showList().catch(complain);
  });
}
page = Number(asked.get("page")) || 0;
byId("any").addEventListener("click", () => {
  byId("filters").reset();
  showList().catch(complain);
});
try {
  listed = (await asks.get("list", "/api/puzzles"))?.puzzles ?? [];
  byId("standing-line").textContent = standingLine();
  byId("own-mistakes").hidden = !keptMistakes().length;
  if (asked.has("daily")) day = dayOf(new Date());
  if (asked.has("mistake")) {
    showSolving();
    await solveMistake(Number(asked.get("mistake")), asks);
  } else if (!(day && (await open(puzzleOfDay(listed, day).id))) && (!asked.has("puzzle") || !(await open(asked.get("puzzle"))))) await showList();
} catch (error) {
  complain(error);
  if (!puzzle) await showList().catch(complain);
}
