// @ts-check
// A game with variations: a tree of moves. The first child of a node is the main move, the others are variations.

import { Game } from "./game.js";

export const MOST_NODES = 10000;

export class Node {
  /** @type {Node[]} */ children = [];
  comment = "";
  marks = "";
  /** @type {Node | null} the child that was shown last */ latest = null;

  /** @param {string} move @param {Node | null} parent */
  constructor(move, parent) {
    this.move = move;
    this.parent = parent;
    /** @type {number} */
    this.ply = parent ? parent.ply + 1 : 0;
  }
}

export class TreeGame extends Game {
  /** @param {string} move @param {Node} parent */
  add(move, parent) {
    const known = parent.children.find((child) => child.move === move);
    if (known) return known;
    if (this.size >= MOST_NODES) throw new Error(`At most ${MOST_NODES.toLocaleString("en")} moves are kept in one analysis.`);
    const node = new Node(move, parent);
    parent.children.push(node);
    this.size += 1;
    return node;
  }

  clear() {
    /** @type {number} */
    const before = this.edition ?? 0;
    this.root = new Node("", null);
    this.here = this.root;
    this.size = 0;
    this.tags = {};
    this.result = null;
    this.edition = before + 1; // changes whenever the tree does, except by going from node to node
  }

  /** The moves that lead to the position shown, as nodes. */
  get path() {
    const path = [];
    for (let node = this.here; node.parent; node = node.parent) path.unshift(node);
    return path;
  }

  // @ts-expect-error: a property of other games
  get moves() {
    return this.path.map(({ move }) => move);
  }

  // The server writes moves in the usual way: take its spelling over. Another list begins a new tree.
  set moves(moves) {
    const path = this.root ? this.path : [];
    if (!this.root || path.length !== moves.length) {
      this.clear();
      for (const move of moves) this.here = this.add(move, this.here);
      return;
    }
    let parent = this.root;
    path.forEach((node, number) => {
      const same = parent.children.find((child) => child !== node && child.move === moves[number]);
      if (node.move !== moves[number]) this.edition += 1;
      if (same && node.move !== moves[number]) {
        parent.children = parent.children.filter((child) => child !== node);
        this.here = same; // the move is known in its usual spelling
        this.size -= 1;
        parent = same;
      } else {
        node.move = moves[number];
        parent = node;
      }
    });
    this.keepLatest();
  }

  keepLatest() {
    for (let node = this.here; node.parent; node = node.parent) node.parent.latest = node;
  }

  // @ts-expect-error: a property of other games
  get redo() {
    const line = [];
    for (let node = this.next(this.here); node; node = this.next(node)) line.push(node.move);
    return line;
  }

  set redo(moves) {
    if (!moves.length) return; // the moves that were made are kept
    let node = this.here;
    for (const move of moves) node = this.add(move, node);
  }

  /** @param {Node} node */
  next(node) {
    return node.latest ?? node.children[0] ?? null;
  }

  /** @param {string} move */
  push(move) {
    const before = this.size;
    this.here = this.add(move, this.here);
    this.edition += this.size - before;
    this.isNew = this.size > before;
    this.keepLatest();
  }

  // Take back a move that was refused.
  refuse() {
    const { here } = this;
    this.undo();
    if (this.isNew) this.remove(here);
  }

  undo() {
    if (!this.here.parent) return false;
    this.here = this.here.parent;
    return true;
  }

  forward() {
    const next = this.next(this.here);
    if (next) this.here = next;
    return Boolean(next);
  }

  /** @param {number} ply */
  goTo(ply) {
    while (this.here.ply > ply) this.undo();
    while (this.here.ply < ply && this.forward());
  }

  /** @param {Node} node */
  show(node) {
    this.here = node;
    this.keepLatest();
  }

  // Go to the variation before or after the one shown, at the last move that has any. Return whether there is one.
  /** @param {number} step */
  sideways(step) {
    for (let node = this.here; node.parent; node = node.parent) {
      const { children } = node.parent;
      if (children.length < 2) continue;
      this.show(children[(children.indexOf(node) + step + children.length) % children.length]);
      return true;
    }
    return false;
  }

  // Make the variation that is shown come first, at the last move where it does not.
  promote() {
    for (let node = this.here; node.parent; node = node.parent) {
      const { children } = node.parent;
      const at = children.indexOf(node);
      if (!at) continue;
      [children[at - 1], children[at]] = [children[at], children[at - 1]];
      this.edition += 1;
      return true;
    }
    return false;
  }

  // Whether a variation is shown, rather than the main line.
  get isVariation() {
    return this.path.some((node) => node.parent.children[0] !== node);
  }

  // Delete a move and all that follows it.
  /** @param {Node} node */
  remove(node) {
    const { parent } = node;
    if (!parent) return;
    let below = 0;
    for (const waiting = [node]; waiting.length; below += 1) waiting.push(...waiting.pop().children);
    if (this.path.includes(node)) this.here = parent;
    parent.children = parent.children.filter((child) => child !== node);
    if (parent.latest === node) parent.latest = null;
    this.size -= below;
    this.edition += 1;
  }

  /** The main line, as nodes. */
  get main() {
    const line = [];
    for (let [node] = this.root.children; node; [node] = node.children) line.push(node);
    return line;
  }

  // The game as it is written: its main line.
  get whole() {
    return new Game({ variant: this.variant, rules: this.rules, position: this.position, moves: this.main.map(({ move }) => move) });
  }

  get line() {
    return [...this.moves, ...this.redo];
  }

  /** @param {string | null} position */
  startFrom(position) {
    this.clear();
    this.position = position;
  }

  /** @param {string} variant @param {string | null} [rules] */
  take(variant, rules = null) {
    this.clear();
    Object.assign(this, { variant, rules, position: null });
  }

  // Return the tree as a list: for each node the place of its parent in the list, its move, comment and marks.
  store() {
    const places = new Map([[this.root, 0]]);
    const list = [[-1, "", this.root.comment, this.root.marks]];
    for (const waiting = [...this.root.children].reverse(); waiting.length; ) {
      const node = waiting.pop();
      places.set(node, list.length);
      list.push([places.get(node.parent), node.move, node.comment, node.marks]);
      waiting.push(...[...node.children].reverse());
    }
    return list;
  }

  // Take a tree that was stored. Throw an error if it is none.
  /** @param {any} list */
  restore(list) {
    this.clear();
    const nodes = [];
    for (const [parent, move, comment, marks] of list) {
      const node = nodes.length ? this.add(String(move), nodes[parent]) : this.root;
      nodes.push(node);
      Object.assign(node, { comment: String(comment), marks: String(marks) });
    }
  }
}
