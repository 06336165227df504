// @ts-check
// The clock of a game: seconds left for each side, and seconds added for each move.

import { el } from "./dom.js";

const TICK = 100; // milliseconds
export const CONTROLS = { "3+2": [180, 2], "10+5": [600, 5] };

function clockText(seconds) {
  const whole = Math.max(0, seconds);
  if (whole < 10) return `0:0${whole.toFixed(1)}`;
  return `${Math.floor(whole / 60)}:${String(Math.floor(whole % 60)).padStart(2, "0")}`;
}

export class Clock {
  /** @type {string[]} */ sides = [];
  more = 0;
  shown = (/** @type {Clock} */ _) => {};
  ended = (/** @type {string} */ _) => {};
  #since = 0;
  #timer = null;
  #side = null;
  #left;

  // `sides` are those that have a clock, and `left` the seconds they have if the game goes on from before.
  // `shown(clock)` is called as time passes, and `ended(side)` when a side has no time left.
  constructor(control, sides, left, shown, ended) {
    const [base, more] = CONTROLS[control];
    Object.assign(this, { control, sides, base, more, shown, ended });
    this.#left = Object.fromEntries(sides.map((side) => [side, Math.min(Number(left?.[side] ?? base), 3600) || 0]));
  }

  get running() {
    return this.#side;
  }

  left(side) {
    const spent = this.#side === side ? (performance.now() - this.#since) / 1000 : 0;
    return Math.max(0, this.#left[side] - spent);
  }

  get all() {
    return Object.fromEntries(this.sides.map((side) => [side, this.left(side)]));
  }

  // Let the time of a side run; null stops the clock.
  run(side) {
    const next = this.sides.includes(side) ? side : null;
    if (next === this.#side) return;
    if (this.#side) this.#left[this.#side] = this.left(this.#side);
    clearInterval(this.#timer);
    [this.#side, this.#since] = [next, performance.now()];
    if (next) this.#timer = setInterval(() => this.#tick(), TICK);
    this.shown(this);
  }

  // A side has made a move: stop its time and add the seconds for the move.
  press(side) {
    const ran = this.#side === side;
    this.run(null);
    if (ran) this.#left[side] += this.more;
    this.shown(this);
  }

  #tick() {
    const side = this.#side;
    this.shown(this);
    if (this.left(side) > 0) return;
    this.run(null);
    this.ended(side);
  }
}

// Show the time of each side; nothing if there is no clock.
export function showClocks(box, clock) {
  box.hidden = !clock;
  const texts = clock ? clock.sides.map((side) => clockText(clock.left(side))) : [];
  const key = `${clock?.running} ${texts.join()}`;
  if (box.dataset.shown === key) return;
  box.dataset.shown = key;
  const boxes = texts.map((text, number) => {
    const side = clock.sides[number];
    const state = `${clock.running === side ? " runs" : ""}${clock.left(side) < 20 ? " low" : ""}`;
    return el("span", { class: `clock${state}` }, el("span", { class: `disc ${side}`, "aria-hidden": "true" }), el("span", { class: "sr", text: `${side}: ` }), ` ${text}`);
  });
  box.replaceChildren(...boxes);
}
