// @ts-check
// Who plays a game: your side, the opponent, the level, the clock, and how the game ended if not by the rules. The
// address of the page contains it.

import { CONTROLS } from "./clock.js";
import { LEVELS } from "./levels.js";

export const TWO = " two"; // two people at one board
export const other = { white: "black", black: "white" };

// Return what an address says; null if it is incomplete or names an opponent that is not among the `known` ones.
export function playingOf(said, known) {
  const [side, player, level, seed, control] = ["side", "player", "level", "seed", "clock"].map((name) => said.get(name));
  const isLevel = /^\d$/.test(level) && Number(level) < LEVELS;
  if (!(side in other) || !known.includes(player) || !isLevel || !/^\d{1,9}$/.test(seed)) return null;
  const ends = { resignation: said.get("resigned"), time: said.get("timeout") };
  const how = Object.keys(ends).find((name) => ends[name]);
  return {
    side,
    player,
    level: Number(level) + 1,
    seed: Number(seed),
    control: Object.hasOwn(CONTROLS, control) ? control : "",
    from: 0,
    lost: how ? { how, side: ends[how] in other ? ends[how] : side } : null,
  };
}

export function inAddress(playing) {
  if (!playing) return {};
  const { side, player, level, seed, control, lost } = playing;
  return { side, player, level: level - 1, seed, ...(control && { clock: control }), ...(lost && { [lost.how === "time" ? "timeout" : "resigned"]: lost.side }) };
}
