// A game against a player of the toolkit. A level is a number of nodes, so a game can be played again.

import { post } from "./api.js";
import { BoardView } from "./board.js";
import { byId, complain, say } from "./dom.js";
import { Game } from "./game.js";
import { showMade, showTurn } from "./panel.js";

const NODES = [20, 100, 400, 1500, 6000, 25000, 100000, 400000];
const PLAYOUTS = [20, 60, 150, 400, 1000, 3000, 8000, 20000];
const OWN_STRENGTH = ["random", "greedy", "heuristic", "minimax3"];
const saved = JSON.parse(localStorage.getItem("play") || "{}");
const game = Game.fromAddress(saved.variant || "brandubh");
const view = new BoardView(byId("board"), { onMove: (from, to) => mine(`${from}-${to}`) });
let playing = null;
let asking = null;

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
    ? "This player has one strength."
    : said.playouts
      ? `It plays ${said.playouts.toLocaleString("en")} games out before each move.`
      : `It looks at ${said.nodes.toLocaleString("en")} positions before each move.`;
}

function locked() {
  const { facts } = game;
  return !playing || Boolean(facts.outcome || facts.problem) || facts.turn !== playing.side;
}

async function refresh() {
  await game.load();
  const { facts } = game;
  view.setTerrain(game.described.terrain);
  view.show({ cells: facts.cells, legal: facts.moves.map(({ wdl, dtm, ...move }) => move), last: facts.made.at(-1)?.move, turn: facts.turn, locked: locked() });
  showTurn(byId("turn"), facts);
  showMade(byId("made"), facts, [], null);
  byId("undo").disabled = !game.moves.length;
  byId("analyse").href = game.address("/board");
  history.replaceState(null, "", game.address());
  byId("opponent").textContent = playing ? `You are ${playing.side}, against ${playing.player}${limits(playing.player, playing.level).nodes === 1 ? "" : ` at level ${playing.level}`}.` : "Choose an opponent, and start.";
}

async function mine(move) {
  game.push(move);
  try {
    await refresh();
    await answer();
  } catch (error) {
    game.undo();
    complain(error);
    await refresh();
  }
}

async function answer() {
  const { facts } = game;
  if (!playing || facts.outcome || facts.turn === playing.side) return;
  asking?.abort();
  asking = new AbortController();
  byId("opponent").textContent = `${playing.player} is thinking …`;
  try {
    const asked = game.asked({ player: playing.player, seed: playing.seed + game.moves.length, ...limits(playing.player, playing.level) });
    const found = await post("/api/bestmove", asked, { signal: asking.signal });
    game.push(found.move);
    await refresh();
    const made = game.facts.made.at(-1);
    byId("live").textContent = `${playing.player} plays ${made.move}${made.captures.length ? `, captures ${made.captures.join(", ")}` : ""}. ${byId("turn").textContent}`;
    say("");
  } catch (error) {
    if (error.name === "AbortError") return;
    complain(error);
    if (error.retryAfter) setTimeout(answer, 1000 * error.retryAfter);
  }
}

byId("new").addEventListener("submit", async (event) => {
  event.preventDefault();
  asking?.abort();
  playing = { side: byId("side").value, player: byId("player").value, level: Number(byId("level").value), seed: Math.floor(Math.random() * 2 ** 30) };
  localStorage.setItem("play", JSON.stringify({ ...playing, variant: byId("variant").value }));
  game.take(byId("variant").value);
  if ((playing.side === "black") !== (view.turns === 2)) view.turn(2);
  try {
    await refresh();
    byId("board").scrollIntoView({ block: "nearest" });
    await answer();
  } catch (error) {
    complain(error);
  }
});
byId("undo").addEventListener("click", async () => {
  asking?.abort();
  game.undo();
  await refresh();
  while (playing && game.moves.length && game.facts.turn !== playing.side) {
    game.undo();
    await refresh();
  }
  await answer();
});
byId("flip").addEventListener("click", () => view.turn(2));
byId("player").addEventListener("change", showChoice);
byId("level").addEventListener("input", showChoice);
byId("variant").addEventListener("change", async () => {
  if (playing) return;
  game.take(byId("variant").value);
  refresh().catch(complain);
});
addEventListener("pagehide", () => asking?.abort());

for (const name of ["side", "player", "level"]) if (saved[name]) byId(name).value = saved[name];
byId("variant").value = game.variant;
showChoice();
refresh().catch(async (error) => {
  complain(error);
  game.take("brandubh");
  byId("variant").value = "brandubh";
  await refresh();
});
