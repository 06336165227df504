// @ts-check
// The levels of the opponents. A level is a number of nodes or of playouts, which makes games reproducible.

const NODES = [20, 100, 400, 1500, 6000, 25000, 100000, 400000];
const PLAYOUTS = [20, 60, 150, 400, 1000, 3000, 8000, 20000];
const NAMES = ["Beginner", "Novice", "Learner", "Casual", "Regular", "Strong", "Expert", "Master"];
const ONE_LEVEL = ["random", "greedy", "heuristic", "minimax3"];
export const LEVELS = NODES.length;

// Elo of alphabeta's levels above level 1, summed over matches between neighbours on brandubh: docs/explorer.md.
const ELO = [0, 150, 320, 520, 630, 720, 800, 870];

export function limits(player, level) {
  if (ONE_LEVEL.includes(player)) return { nodes: 1 };
  return player.startsWith("mcts") ? { playouts: PLAYOUTS[level - 1] } : { nodes: NODES[level - 1] };
}

export const hasLevels = (player) => !ONE_LEVEL.includes(player);
export const levelName = (level) => NAMES[level - 1];

// Return in words what a player does at a level, and how strong it is if this was measured.
export function aboutLevel(player, level) {
  if (!hasLevels(player)) return "This player has only one level.";
  const { nodes, playouts } = limits(player, level);
  if (playouts) return `It plays ${playouts.toLocaleString("en")} random games before each move.`;
  const words = `It examines ${nodes.toLocaleString("en")} positions before each move.`;
  if (player !== "alphabeta" || ELO[level - 1] === undefined || level === 1) return words;
  return `${words} Measured on Brandubh: about ${ELO[level - 1]} Elo above level 1 (${levelName(1)}).`;
}
