// @ts-check
// A game against one of the toolkit's players, or of two people at one board. The address contains the whole game:
// rules, position, moves, opponent, level, clock, and how it ended if not by the rules.

import { Asks, offerAgain } from "./asks.js";
import { BoardView } from "./board.js";
import { Clock, showClocks } from "./clock.js";
import { byId, complain, plies, say } from "./dom.js";
import { Game } from "./game.js";
import { keepGame } from "./kept.js";
import { onKeys } from "./keys.js";
import { aboutLevel, hasLevels, levelName, limits } from "./levels.js";
import { OWN, ownRules } from "./own-rules.js";
import { showMade, showTurn, turnLine } from "./panel.js";
import { inAddress, other, playingOf, TWO } from "./playing.js";
import { rulebook } from "./rulebook.js";
import { saveGame } from "./save.js";
import { cellsOf } from "./shapes.js";
import { soundMove } from "./sound.js";
import { asksTwice } from "./sure.js";

const HINT_NODES = 100000;
const choice = JSON.parse(localStorage.getItem("play") || "{}");
// Without a game in the address, continue the last one.
if (!location.search && !location.hash && choice.address) history.replaceState(null, "", choice.address);
let game = Game.fromAddress(choice.variant || "brandubh");
const asks = new Asks(() => game.facts?.position ?? null);
const view = new BoardView(byId("board"), {
  onMove: (from, to) => mine(`${from}-${to}`),
  onIllegal: (from, to) => whyNot(`${from}-${to}`),
  onLocked: () => whyNot(),
  onPlan: (move) => plan(move),
  instant: true,
});
let playing = playingOf(new URLSearchParams(location.search), [...byId("player").options].map(({ value }) => value));
let clock = null;
let hint = null;
let planned = null; // the move to make as soon as it is the visitor's turn
let looked = null; // the ply that is looked at; null for the end of the game
let chosen = null; // rules for the next game, while a game is in progress

const isTwo = () => playing?.player === TWO;
const opponent = () => [...byId("player").options].find(({ value }) => value === playing.player).text.replace(/ \(.*\)$/, "");

function showChoice() {
  const [player, level] = [byId("player").value, Number(byId("level").value)];
  const two = player === TWO;
  byId("player-help").textContent = byId("player").selectedOptions[0].title;
  byId("level-shown").textContent = `${level} ${levelName(level)}`;
  byId("side-line").hidden = byId("level-line").hidden = two;
  byId("level").disabled = !hasLevels(player);
  byId("level-help").textContent = two ? "" : aboutLevel(player, level);
}

// The largest board on which the other players can search; see docs/variants.md.
const SEARCHED = 11;

// Return the end of the game, by the rules, by resignation or by the clock.
function outcome() {
  return game.facts.outcome || (playing?.lost ? { termination: playing.lost.how, winner: other[playing.lost.side] } : null);
}

const over = () => Boolean(outcome() || game.facts.problem);
const you = () => (playing && !isTwo() ? playing.side : null);

// Whether you have made a move in a game that is not over.
function isRunning() {
  if (!playing || over()) return false;
  const made = game.moves.length - playing.from;
  if (isTwo()) return made > 0;
  return (game.facts.turn === playing.side ? Math.floor(made / 2) : Math.ceil(made / 2)) > 0;
}

const mayMove = () => Boolean(playing) && looked === null && !over() && (isTwo() || game.facts.turn === playing.side);

function whyNot(move = null) {
  if (!playing) say("No game has begun: choose an opponent and press Start.");
  else if (outcome()) say("The game is over.");
  else if (looked !== null) say("This is an earlier position of the game. Go on from the last one.");
  else if (move) game.whyNot(move, asks);
  else say(`It is the turn of your opponent, ${opponent()}.`);
}

// In a single column, place the form above the board until a game has begun, so that an inactive board does not come
// first. During a game it is folded, at the end of the page.
const wide = matchMedia("(min-width: 900px)");
function placeForm() {
  const [form, moves] = [byId("fold"), byId("moves")];
  const next = playing ? moves.nextElementSibling : wide.matches ? moves : document.querySelector(".stage");
  if (form === next || form.nextElementSibling === next) return;
  if (playing) moves.after(form);
  else next.before(form);
}
wide.addEventListener("change", placeForm);

const resigning = asksTwice(byId("resign"), "resign");
const starting = asksTwice(byId("start"), "end this game and start another");

// -- the clock ------------------------------------------------------------------------------------

function setClock(left = null) {
  clock?.run(null);
  clock = playing?.control ? new Clock(playing.control, isTwo() ? ["white", "black"] : [playing.side], left, showClock, timeIsUp) : null;
  showClock();
}

const showClock = () => showClocks(byId("clocks"), clock);

// The time of a side begins after its first move. Without a game in progress, no time runs.
function runClock() {
  const begun = playing && game.moves.length - playing.from > 1;
  clock?.run(begun && !over() && game.facts.turn);
}

function timeIsUp(side) {
  if (!playing || over()) return;
  playing.lost = { how: "time", side };
  refresh().catch(complain);
}

addEventListener("pagehide", () => keepPlaying());

function keepPlaying(address = game.address("/play", inAddress(playing))) {
  if (playing) localStorage.setItem("play", JSON.stringify({ ...playing, variant: game.variant, address, left: clock?.all }));
}

// -- the page ---------------------------------------------------------------------------------------

// Show the game's position once it has arrived. Return false if another one was asked for in the meantime.
async function refresh() {
  asks.change();
  view.locked = true; // until the requested position is shown
  if (!(await game.load(asks))) return false;
  asks.change(); // what was asked in the meantime is about the previous position
  const { facts, described } = game;
  hint = null;
  for (const button of [resigning, starting]) button.forget();
  placeForm();
  if (!playing && described.size > SEARCHED && byId("player").value !== TWO) {
    byId("player").value = "random";
    showChoice();
  }
  view.setTerrain(described.terrain);
  saved(facts);
  show();
  chooseRules();
  byId("from-here-line").hidden = !(game.position || game.moves.length);
  byId("to-board").href = game.address("/board");
  const analysed = game.address("/games", playing?.lost ? { result: other[playing.lost.side] } : {});
  byId("analyse").href = analysed;
  const address = game.address("/play", inAddress(playing));
  history.replaceState(null, "", address);
  keepPlaying(address);
  const against = isTwo() ? "two players" : playing && `You, ${playing.side}, against ${opponent()}`;
  if (playing && game.moves.length) {
    const who = `${against}, ${described.variant}, ${plies(game.moves.length)}: ${turnLine({ ...facts, outcome: outcome() })}`;
    keepGame({ key: `play ${playing.seed}`, who, address: analysed, play: over() ? null : address });
  }
  const level = playing && hasLevels(playing.player) ? ` at level ${playing.level} (${levelName(playing.level)})` : "";
  byId("opponent").textContent = isTwo() ? "Two players at this board." : playing ? `You are ${playing.side}, against ${opponent()}${level}.` : "Choose an opponent and press Start.";
  runClock();
  return true;
}

// Show what depends on the position looked at, and what can be done there.
function show() {
  const { facts } = game;
  const ended = playing && over();
  showTurn(byId("turn"), { ...facts, outcome: outcome() }, you());
  byId("turn").classList.toggle("ended", Boolean(ended));
  byId("after").hidden = !playing || isRunning();
  byId("rematch").classList.toggle("main", Boolean(ended));
  byId("undo").disabled = !playing || !(game.moves.length || playing.lost);
  byId("hint").disabled = !mayMove() || isTwo();
  byId("hint").textContent = "Hint";
  byId("resign").disabled = !playing || over();
  showMade(byId("made"), facts, [], lookAt, new Map(), looked ?? facts.made.length);
  const ply = looked ?? facts.made.length;
  byId("first").disabled = byId("back").disabled = ply === 0;
  byId("forth").disabled = byId("last").disabled = looked === null;
  byId("last").classList.toggle("main", looked !== null);
  draw();
}

function draw() {
  const { facts } = game;
  if (looked !== null) {
    view.premoves = "";
    view.show({ cells: cellsOf(facts.positions[looked]), last: facts.made[looked - 1]?.move, locked: true });
    return;
  }
  view.premoves = playing && !isTwo() && !over() && facts.turn !== playing.side ? playing.side : "";
  view.show({
    cells: facts.cells,
    legal: facts.moves.map(({ wdl, dtm, ...move }) => move),
    last: facts.made.at(-1)?.move,
    turn: facts.turn,
    locked: !mayMove() || asks.runs("load"),
    marks: hint?.level === 1 ? [hint.move.split("-")[0]] : [],
    arrows: hint?.level === 2 ? [[hint.move]] : [],
    planned,
  });
}

// Look at an earlier position. The game goes on meanwhile.
function lookAt(ply) {
  if (asks.runs("load")) return; // a move was made, whose position is about to be shown
  looked = ply >= game.facts.made.length ? null : Math.max(ply, 0);
  show();
}

function plan(move) {
  if (planned === move || (planned && move)) move = null;
  planned = move;
  byId("live").textContent = move ? `${move} is planned.` : "";
  draw();
}

async function mine(move) {
  const { turn, moves } = game.facts;
  clock?.press(turn);
  game.push(move);
  planned = null;
  soundMove(moves.find((one) => one.move === move)?.captures.length > 0);
  try {
    await enter();
  } catch (error) {
    game.undo();
    complain(error);
    await refresh().catch(complain);
  }
}

async function answer() {
  if (!playing || isTwo() || over() || game.facts.turn === playing.side) return;
  const line = byId("asking");
  const asked = game.asked({ player: playing.player, seed: playing.seed + game.moves.length, ...limits(playing.player, playing.level) });
  try {
    const { moves } = game;
    const found = await asks.post("answer", "/api/bestmove", asked, { line, words: `${opponent()} is thinking …`, again: answer });
    if (!found) return;
    await view.settled();
    if (game.moves !== moves) return; // taken back while the man was sliding
    game.push(found.move);
    if (!(await refresh())) return;
    const made = game.facts.made.at(-1);
    soundMove(made.captures.length > 0);
    byId("live").textContent = `${opponent()} plays ${made.move}${made.captures.length ? `, captures ${made.captures.join(", ")}` : ""}. ${byId("turn").textContent}`;
    say("");
  } catch (error) {
    game.moves = game.facts.made.map(({ move }) => move);
    offerAgain(line, `${opponent()} did not reply.`, answer);
    complain(error);
    return;
  }
  const next = planned;
  planned = null;
  if (!next || looked !== null || !mayMove()) return;
  if (game.facts.moves.some(({ move }) => move === next)) {
    view.advance(next);
    mine(next);
  } else draw();
}

async function enter() {
  if (await refresh()) await answer();
}

async function start(side, player, level, control) {
  say("");
  [looked, planned] = [null, null];
  playing = { side, player, level, control, seed: Math.floor(Math.random() * 2 ** 29), lost: null, from: game.moves.length };
  setClock();
  byId("fold").open = false;
  if ((you() === "black") !== (view.turns === 2)) view.turn(2);
  try {
    if (!(await refresh())) return;
    byId("board").scrollIntoView({ block: "nearest" });
    await answer();
  } catch (error) {
    complain(error);
  }
}

// Restart with the same rules and the same initial position.
function again() {
  if (game.position) game.startFrom(game.position);
  else game.take(game.variant, game.rules);
}

byId("start").addEventListener("click", (event) => isRunning() && !starting.isSure(event) && event.preventDefault());
byId("new").addEventListener("submit", (event) => {
  event.preventDefault();
  if (chosen) game.take(chosen.variant, chosen.rules);
  else if (byId("from-here-line").hidden || !byId("from-here").checked) game.take(game.variant, game.rules);
  chosen = null;
  byId("from-here").checked = false;
  start(byId("side").value, byId("player").value, Number(byId("level").value), byId("control").value);
});
byId("rematch").addEventListener("click", () => {
  if (isRunning()) return;
  again();
  byId("side").value = other[playing.side];
  start(other[playing.side], playing.player, playing.level, playing.control);
});
byId("resign").addEventListener("click", (event) => {
  if (!resigning.isSure(event)) return;
  playing.lost = { how: "resignation", side: isTwo() ? game.facts.turn : playing.side };
  looked = planned = null;
  refresh().catch(complain);
});
byId("undo").addEventListener("click", async () => {
  // After a resignation, first take the resignation back.
  if (!playing.lost) game.undo();
  if (playing.lost?.how === "time") setClock();
  playing.lost = looked = planned = null;
  try {
    while (await refresh()) {
      if (isTwo() || !game.moves.length || game.facts.turn === playing.side) {
        await answer();
        return;
      }
      game.undo();
    }
  } catch (error) {
    complain(error);
  }
});
// The first press shows the piece to move, the second the move.
byId("hint").addEventListener("click", async () => {
  if (hint) hint.level = 2;
  else {
    try {
      const found = await asks.post("hint", "/api/bestmove", game.asked({ player: "alphabeta", nodes: HINT_NODES }), { line: byId("asking"), words: "Looking for a hint …", button: byId("hint") });
      if (found) hint = { level: 1, move: found.move };
    } catch (error) {
      complain(error);
    }
  }
  if (!hint) return;
  byId("hint").textContent = hint.level === 1 ? "Which move?" : "Hint";
  byId("hint").disabled = hint.level === 2;
  byId("live").textContent = hint.level === 1 ? `Think about the piece on ${hint.move.split("-")[0]}.` : `The engine would play ${hint.move}.`;
  draw();
});
const at = () => looked ?? game.facts.made.length;
const does = { first: () => lookAt(0), back: () => lookAt(at() - 1), forth: () => lookAt(at() + 1), last: () => lookAt(Infinity), flip: () => view.turn(2) };
for (const [name, call] of Object.entries(does)) byId(name).addEventListener("click", call);
onKeys({ ArrowLeft: "back", ArrowRight: "forth", ArrowUp: "first", ArrowDown: "last", Home: "first", End: "last", f: "flip" }, does);
byId("player").addEventListener("change", showChoice);
byId("level").addEventListener("input", showChoice);

// -- rules: applied immediately, unless a game is in progress; then they apply from the next Start -----

function take(variant, rules = null) {
  chosen = playing && !over() ? { variant, rules } : null;
  if (chosen) {
    byId("from-here-line").hidden = true;
    return;
  }
  playing = looked = planned = null;
  setClock();
  game.take(variant, rules);
  refresh().catch(complain);
}

function chooseRules() {
  const now = chosen || game;
  byId("variant").value = now.rules ? OWN : now.variant;
}

const askForRules = ownRules((text) => take("", text), chooseRules);
byId("variant").addEventListener("change", () => (byId("variant").value === OWN ? askForRules() : take(byId("variant").value)));
rulebook(() => game);
const saved = saveGame(byId("save"), () => ({
  game,
  tags: you() ? { [playing.side === "white" ? "White" : "Black"]: "you", [playing.side === "white" ? "Black" : "White"]: playing.player } : {},
  result: outcome()?.winner ?? null,
}));

const shown = playing || choice;
for (const name of ["side", "player", "level", "control"]) if (shown[name]) byId(name).value = shown[name];
setClock(playing?.seed === choice.seed ? choice.left : null);
showChoice();
chooseRules();
// A visitor from the board page plays from its position; after a game, the next one begins at the start position.
byId("from-here").checked = !playing;
byId("fold").open = !playing;
if (you() === "black") view.turn(2);
placeForm();
enter().catch(async (error) => {
  complain(error);
  playing = null;
  setClock();
  game = new Game({ variant: "brandubh" });
  await refresh().catch(complain);
});
