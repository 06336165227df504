// @ts-check
// A game in the browser: rule set, position, moves made and taken back. The page address contains all of it.
// Custom rules follow the `#`, which browsers do not send. They are sent with each request and stored nowhere else.

import { say } from "./dom.js";

const encode = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const decode = (text) => new TextDecoder().decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0)));

// Return the custom rules in the address; null if there are none or they cannot be read.
export function rulesOfAddress() {
  const hidden = new URLSearchParams(location.hash.slice(1));
  try {
    return hidden.has("rules") ? decode(hidden.get("rules")) : null;
  } catch {
    return null;
  }
}

export const hiddenRules = (rules) => (rules ? `#rules=${encode(rules)}` : "");

// The facts about the last positions shown. To step back and forth, the server need not be asked again.
const known = new Map();
const MOST_KNOWN = 200;

export class Game {
  constructor({ variant = "ashton", rules = null, position = null, moves = [] } = {}) {
    this.variant = variant;
    /** @type {string | null} */
    this.rules = rules;
    /** @type {string | null} */
    this.position = position;
    /** @type {string[]} */
    this.moves = moves;
    /** @type {string[]} */
    this.redo = [];
    /** @type {any} */
    this.facts = null;
    /** @type {any} */
    this.described = null;
    this.key = "";
  }

  static fromAddress(fallback = "ashton") {
    const asked = new URLSearchParams(location.search);
    return new this({
      variant: asked.get("variant") || fallback,
      rules: rulesOfAddress(),
      position: asked.get("position"),
      moves: (asked.get("moves") || "").split(",").filter(Boolean),
    });
  }

  // With `whole`, the address contains the moves that can be stepped through, too, and the ply that is shown.
  address(path = location.pathname, more = {}, whole = false) {
    const said = new URLSearchParams();
    if (!this.rules) said.set("variant", this.variant);
    if (this.position) said.set("position", this.position);
    const moves = whole ? [...this.moves, ...this.redo] : this.moves;
    if (moves.length) said.set("moves", moves.join(","));
    if (moves.length > this.moves.length) said.set("ply", String(this.moves.length));
    for (const [name, value] of Object.entries(more)) said.set(name, value);
    return `${path}?${said}${hiddenRules(this.rules)}`;
  }

  // Return the fields common to all requests about this game.
  asked(more = {}) {
    const said = this.rules ? { rules: this.rules } : { variant: this.variant };
    if (this.position) said.position = this.position;
    return { ...said, moves: this.moves, ...more };
  }

  // Fetch the rules (only once) and all facts about the position; throw an error if the server refuses them. Return
  // null, and leave the game as it is, if another position was asked for in the meantime.
  async load(asks) {
    const key = this.rules ?? this.variant;
    if (this.key !== key) {
      const described = await asks.post("load", "/api/rules", this.rules ? { rules: this.rules } : { variant: this.variant });
      if (!described) return null;
      Object.assign(this, { described, key });
    }
    const asked = JSON.stringify(this.asked());
    if (known.has(asked)) asks.stop("load");
    const facts = known.get(asked) ?? (await asks.post("load", "/api/position", this.asked(), { any: true }));
    if (!facts) return null;
    known.delete(asked);
    known.set(asked, facts); // the newest is last
    if (known.size > MOST_KNOWN) known.delete(known.keys().next().value);
    this.facts = facts;
    // Replace moves that were typed or came from the address by their standard notation.
    this.moves = this.facts.made.map((made) => made.move);
    return this.facts;
  }

  // Ask the server which rule forbids a move, and show it.
  async whyNot(move, asks) {
    try {
      await asks.post("why", "/api/moves", { ...this.asked(), moves: [...this.moves, move] }, { any: true });
    } catch (error) {
      say(error.message);
    }
  }

  push(move) {
    if (this.redo[0] === move) this.redo.shift();
    else this.redo = [];
    this.moves = [...this.moves, move];
  }

  undo() {
    if (!this.moves.length) return false;
    this.redo.unshift(this.moves.at(-1));
    this.moves = this.moves.slice(0, -1);
    return true;
  }

  forward() {
    if (!this.redo.length) return false;
    this.moves = [...this.moves, this.redo.shift()];
    return true;
  }

  // Go to the position after `ply` moves; the later moves can be stepped through again.
  goTo(ply) {
    const all = [...this.moves, ...this.redo];
    this.moves = all.slice(0, ply);
    this.redo = all.slice(ply);
  }

  startFrom(position) {
    Object.assign(this, { position, moves: [], redo: [] });
  }

  take(variant, rules = null) {
    Object.assign(this, { variant, rules, position: null, moves: [], redo: [] });
  }
}
