// A game against one of the toolkit's players. A level is a number of nodes, which makes games reproducible.
// The address contains the whole game: rules, position, moves, opponent, level, and whether you have resigned.

import { Asks, offerAgain } from "./asks.js";
import { BoardView } from "./board.js";
import { byId, complain, plies, say } from "./dom.js";
import { Game } from "./game.js";
import { keepGame } from "./kept.js";
import { OWN, ownRules } from "./own-rules.js";
import { showMade, showTurn, turnLine } from "./panel.js";
import { rulebook } from "./rulebook.js";
import { saveGame } from "./save.js";
import { asksTwice } from "./sure.js";

const NODES = [20, 100, 400, 1500, 6000, 25000, 100000, 400000];
const PLAYOUTS = [20, 60, 150, 400, 1000, 3000, 8000, 20000];
const OWN_STRENGTH = ["random", "greedy", "heuristic", "minimax3"];
const HINT_NODES = 100000;
const other = { white: "black", black: "white" };
const choice = JSON.parse(localStorage.getItem("play") || "{}");
// Without a game in the address, continue the last one.
if (!location.search && !location.hash && choice.address) history.replaceState(null, "", choice.address);
let game = Game.fromAddress(choice.variant || "brandubh");
const asks = new Asks(() => game.facts?.position ?? null);
const view = new BoardView(byId("board"), { onMove: (from, to) => mine(`${from}-${to}`), onIllegal: (from, to) => whyNot(`${from}-${to}`), onLocked: () => whyNot() });
let playing = whoPlays();
let hint = null;
let chosen = null; // rules for the next game, while a game is in progress

function whoPlays() {
  const said = new URLSearchParams(location.search);
  const [side, player, level, seed] = ["side", "player", "level", "seed"].map((name) => said.get(name));
  const known = [...byId("player").options].some((option) => option.value === player);
  if (!(side in other) || !known || !(level in NODES.map(String)) || !/^\d{1,9}$/.test(seed)) return null;
  return { side, player, level: Number(level) + 1, seed: Number(seed), resigned: said.has("resigned"), from: 0 };
}

function limits(player, level) {
  if (OWN_STRENGTH.includes(player)) return { nodes: 1 };
  return player.startsWith("mcts") ? { playouts: PLAYOUTS[level - 1] } : { nodes: NODES[level - 1] };
}

function showChoice() {
  const [player, level] = [byId("player").value, Number(byId("level").value)];
  byId("player-help").textContent = byId("player").selectedOptions[0].title;
  byId("level-shown").textContent = level;
  const said = limits(player, level);
  byId("level").disabled = OWN_STRENGTH.includes(player);
  byId("level-help").textContent = byId("level").disabled
    ? "This player has only one level."
    : said.playouts
      ? `It plays ${said.playouts.toLocaleString("en")} random games before each move.`
      : `It examines ${said.nodes.toLocaleString("en")} positions before each move.`;
}

// The largest board on which the other players can search; see docs/variants.md.
const SEARCHED = 11;

// Return the end of the game, by the rules or by resignation.
function outcome() {
  return game.facts.outcome || (playing?.resigned ? { termination: "resignation", winner: other[playing.side] } : null);
}

const over = () => Boolean(outcome() || game.facts.problem);

// Whether you have made a move in a game that is not over.
function isRunning() {
  if (!playing || over()) return false;
  const made = game.moves.length - playing.from;
  return (game.facts.turn === playing.side ? Math.floor(made / 2) : Math.ceil(made / 2)) > 0;
}

const mayMove = () => Boolean(playing) && !over() && game.facts.turn === playing.side;

function whyNot(move = null) {
  if (!playing) say("No game has begun: choose an opponent and press Start.");
  else if (outcome()) say("The game is over.");
  else if (move) game.whyNot(move, asks);
  else say(`It is ${playing.player}'s turn.`);
}

// In a single column, place the form above the board until a game has begun, so that an inactive board does not come first.
const wide = matchMedia("(min-width: 900px)");
function placeForm() {
  const next = playing || wide.matches ? byId("moves") : document.querySelector(".stage");
  if (byId("new").nextElementSibling !== next) next.before(byId("new"));
}
wide.addEventListener("change", placeForm);

const resigning = asksTwice(byId("resign"), "resign");
const starting = asksTwice(byId("start"), "end this game and start another");
const repeating = asksTwice(byId("rematch"), "end this game and start another");

// Show the game's position once it has arrived. Return false if another one was asked for in the meantime.
async function refresh() {
  asks.change();
  view.locked = true; // until the requested position is shown
  if (!(await game.load(asks))) return false;
  asks.change(); // what was asked in the meantime is about the previous position
  const { facts, described } = game;
  hint = null;
  for (const button of [resigning, starting, repeating]) button.forget();
  placeForm();
  if (!playing && described.size > SEARCHED && byId("player").value !== "random") {
    byId("player").value = "random";
    showChoice();
  }
  view.setTerrain(described.terrain);
  draw();
  showTurn(byId("turn"), { ...facts, outcome: outcome() });
  saved(facts);
  showMade(byId("made"), facts, [], null);
  byId("undo").disabled = !playing || !(game.moves.length || playing.resigned);
  byId("hint").disabled = !mayMove();
  byId("hint").textContent = "Hint";
  byId("resign").disabled = !playing || over();
  byId("rematch").disabled = !playing;
  chooseRules();
  byId("from-here-line").hidden = !(game.position || game.moves.length);
  byId("to-board").href = game.address("/board");
  const analysed = game.address("/games", playing?.resigned ? { result: other[playing.side] } : {});
  byId("analyse").href = analysed;
  const said = playing && { side: playing.side, player: playing.player, level: playing.level - 1, seed: playing.seed, ...(playing.resigned && { resigned: 1 }) };
  const address = game.address("/play", said || {});
  history.replaceState(null, "", address);
  if (playing) localStorage.setItem("play", JSON.stringify({ ...playing, variant: game.variant, address }));
  if (playing && game.moves.length) {
    const who = `You, ${playing.side}, against ${playing.player}, ${described.variant}, ${plies(game.moves.length)}: ${turnLine({ ...facts, outcome: outcome() })}`;
    keepGame({ key: `play ${playing.seed}`, who, address: analysed, play: over() ? null : address });
  }
  const level = playing && limits(playing.player, playing.level).nodes !== 1 ? ` at level ${playing.level}` : "";
  byId("opponent").textContent = playing ? `You are ${playing.side}, against ${playing.player}${level}.` : "Choose an opponent and press Start.";
  return true;
}

function draw() {
  const { facts } = game;
  view.show({
    cells: facts.cells,
    legal: facts.moves.map(({ wdl, dtm, ...move }) => move),
    last: facts.made.at(-1)?.move,
    turn: facts.turn,
    locked: !mayMove(),
    marks: hint?.level === 1 ? [hint.move.split("-")[0]] : [],
    arrows: hint?.level === 2 ? [[hint.move]] : [],
  });
}

async function mine(move) {
  game.push(move);
  try {
    await enter();
  } catch (error) {
    game.undo();
    complain(error);
    await refresh().catch(complain);
  }
}

async function answer() {
  if (!playing || over() || game.facts.turn === playing.side) return;
  const line = byId("asking");
  const asked = game.asked({ player: playing.player, seed: playing.seed + game.moves.length, ...limits(playing.player, playing.level) });
  try {
    const found = await asks.post("answer", "/api/bestmove", asked, { line, words: `${playing.player} is thinking …`, again: answer });
    if (!found) return;
    game.push(found.move);
    if (!(await refresh())) return;
    const made = game.facts.made.at(-1);
    byId("live").textContent = `${playing.player} plays ${made.move}${made.captures.length ? `, captures ${made.captures.join(", ")}` : ""}. ${byId("turn").textContent}`;
    say("");
  } catch (error) {
    game.moves = game.facts.made.map(({ move }) => move);
    offerAgain(line, `${playing.player} did not reply.`, answer);
    complain(error);
  }
}

async function enter() {
  if (await refresh()) await answer();
}

async function start(side, player, level) {
  say("");
  playing = { side, player, level, seed: Math.floor(Math.random() * 2 ** 29), resigned: false, from: game.moves.length };
  if ((side === "black") !== (view.turns === 2)) view.turn(2);
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
  start(byId("side").value, byId("player").value, Number(byId("level").value));
});
byId("rematch").addEventListener("click", (event) => {
  if (isRunning() && !repeating.isSure(event)) return;
  again();
  byId("side").value = other[playing.side];
  start(other[playing.side], playing.player, playing.level);
});
byId("resign").addEventListener("click", (event) => {
  if (!resigning.isSure(event)) return;
  playing.resigned = true;
  refresh().catch(complain);
});
byId("undo").addEventListener("click", async () => {
  // After a resignation, first take the resignation back.
  if (!playing.resigned) game.undo();
  playing.resigned = false;
  try {
    while (await refresh()) {
      if (!game.moves.length || game.facts.turn === playing.side) {
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
byId("flip").addEventListener("click", () => view.turn(2));
byId("player").addEventListener("change", showChoice);
byId("level").addEventListener("input", showChoice);

// -- rules: applied immediately, unless a game is in progress; then they apply from the next Start -----

function take(variant, rules = null) {
  chosen = playing && !over() ? { variant, rules } : null;
  if (chosen) {
    byId("from-here-line").hidden = true;
    return;
  }
  playing = null;
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
  tags: playing ? { [playing.side === "white" ? "White" : "Black"]: "you", [playing.side === "white" ? "Black" : "White"]: playing.player } : {},
  result: outcome()?.winner ?? null,
}));

const shown = playing || choice;
for (const name of ["side", "player", "level"]) if (shown[name]) byId(name).value = shown[name];
showChoice();
chooseRules();
// A visitor from the board page plays from its position; after a game, the next one begins at the start position.
byId("from-here").checked = !playing;
if (playing?.side === "black") view.turn(2);
placeForm();
enter().catch(async (error) => {
  complain(error);
  playing = null;
  game = new Game({ variant: "brandubh" });
  await refresh().catch(complain);
});
