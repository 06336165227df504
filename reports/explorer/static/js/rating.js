// @ts-check
// A rating for puzzles, kept in this browser: Glicko-2 as in Mark Glickman's "Example of the Glicko-2 system"
// (glicko.net/glicko/glicko2.pdf; the numbers of its steps are named below), one puzzle a rating period.

const SCALE = 173.7178;
const TAU = 0.5; // how much the volatility may change
const START = { rating: 1500, deviation: 350, volatility: 0.06 };
const PUZZLE_DEVIATION = 120;

// A puzzle is rated by its length and by how many nodes the engine needs until it finds the first move. Both are
// measured; their weights are an estimate.
/** @param {{nodes: number, plies: number}} puzzle */
export const puzzleRating = ({ nodes, plies }) => 900 + 90 * Math.log2(1 + nodes / 50) + 40 * Math.floor(plies / 2);

/** @param {typeof START} player @param {number} opponent @param {number} score 1 for a win, 0 for a loss */
export function rated(player, opponent, score) {
  const mu = (player.rating - 1500) / SCALE; // step 2
  const phi = player.deviation / SCALE;
  const other = PUZZLE_DEVIATION / SCALE;
  const g = 1 / Math.sqrt(1 + (3 * other ** 2) / Math.PI ** 2);
  const expected = 1 / (1 + Math.exp(-g * (mu - (opponent - 1500) / SCALE)));
  const v = 1 / (g ** 2 * expected * (1 - expected)); // step 3
  const delta = v * g * (score - expected); // step 4
  const a = Math.log(player.volatility ** 2); // step 5
  /** @param {number} x */
  const f = (x) => (Math.exp(x) * (delta ** 2 - phi ** 2 - v - Math.exp(x))) / (2 * (phi ** 2 + v + Math.exp(x)) ** 2) - (x - a) / TAU ** 2;
  let [low, high] = [a, 0];
  if (delta ** 2 > phi ** 2 + v) high = Math.log(delta ** 2 - phi ** 2 - v);
  else for (let k = 1; ; k += 1) if (f((high = a - k * TAU)) >= 0) break;
  let [atLow, atHigh] = [f(low), f(high)];
  for (let round = 0; Math.abs(high - low) > 1e-6 && round < 100; round += 1) {
    const between = low + ((low - high) * atLow) / (atHigh - atLow);
    const value = f(between);
    if (value * atHigh <= 0) [low, atLow] = [high, atHigh];
    else atLow /= 2;
    [high, atHigh] = [between, value];
  }
  const volatility = Math.exp(low / 2);
  const before = Math.sqrt(phi ** 2 + volatility ** 2); // step 6
  const after = 1 / Math.sqrt(1 / before ** 2 + 1 / v); // step 7
  return { rating: 1500 + SCALE * (mu + after ** 2 * g * (score - expected)), deviation: SCALE * after, volatility }; // step 8
}

// -- what is kept -----------------------------------------------------------------------------------

const KEY = "puzzle-record";

export function standing() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) || "{}");
    const good = ["rating", "deviation", "volatility"].every((name) => Number.isFinite(kept[name]));
    return { streak: 0, days: 0, lastDay: "", count: 0, ...kept, ...(good ? {} : START) };
  } catch {
    return { streak: 0, days: 0, lastDay: "", count: 0, ...START };
  }
}

// Count the first attempt at a puzzle. Return the standing and how the rating changed.
/** @param {any} puzzle @param {boolean} solved @param {string | null} day the date if it is the puzzle of the day */
export function count(puzzle, solved, day) {
  const old = standing();
  const now = { ...old, ...rated(old, puzzleRating(puzzle), solved ? 1 : 0), streak: solved ? old.streak + 1 : 0, count: old.count + 1 };
  if (day && solved && old.lastDay !== day) {
    const yesterday = dayOf(new Date(Date.parse(day) - 86400000));
    Object.assign(now, { days: old.lastDay === yesterday ? old.days + 1 : 1, lastDay: day });
  }
  localStorage.setItem(KEY, JSON.stringify(now));
  return { ...now, change: Math.round(now.rating) - Math.round(old.rating) };
}

/** @param {Date} date */
export const dayOf = (date) => date.toISOString().slice(0, 10);

// Return the puzzle of a day (a date of UTC), the same for everybody who has the same puzzles.
/** @param {{id: string}[]} puzzles @param {string} day */
export function puzzleOfDay(puzzles, day) {
  let hash = 2166136261; // FNV-1a
  for (const sign of day) hash = Math.imul(hash ^ sign.charCodeAt(0), 16777619) >>> 0;
  const sorted = [...puzzles].sort((one, other) => (one.id < other.id ? -1 : 1));
  return sorted[hash % sorted.length];
}

// Return the standing in words.
export function standingLine() {
  const { rating, deviation, streak, days, lastDay, count: all } = standing();
  if (!all) return "";
  const today = dayOf(new Date());
  const going = [today, dayOf(new Date(Date.now() - 86400000))].includes(lastDay) ? days : 0;
  const parts = [`Your rating: ${Math.round(rating)}${deviation > 110 ? "?" : ""}`];
  if (streak > 1) parts.push(`${streak} puzzles in a row`);
  if (going) parts.push(`puzzle of the day solved on ${going} day${going === 1 ? "" : "s in a row"}`);
  return `${parts.join("; ")}.`;
}
