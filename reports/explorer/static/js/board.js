// @ts-check
// An interactive board: the shapes of `shapes.js`, with a button on every square for pointer and keyboard.

import { el, svg } from "./dom.js";
import { arrowShape, cellShapes, endsOf, FILES, KINDS, manShape, PIECES, sideOf, squareName, squareOf, targetShapes } from "./shapes.js";

const SLIDE = 170; // milliseconds in which a man slides to its square
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class BoardView {
  // `onMove(from, to)` is called for a move by click or drag, `onIllegal(from, to)` for an illegal one, `onLocked()`
  // for a square chosen while the board is locked. While `editing`, `onSquare(name)` is called for a chosen square, and
  // `onDrag(from, to)` for a man dragged to another square, or off the board (`to` is null).
  // With `instant`, a legal move is shown before `onMove`. While the board is locked, moves of the side `premoves` can be
  // planned: `onPlan(move)` is called for one, and with null to drop it.
  /** @param {any} holder @param {Record<string, any>} [how] */
  constructor(holder, { onMove = () => {}, onIllegal = null, onLocked = null, onSquare = () => {}, onDrag = () => {}, onPlan = () => {}, instant = false, label = "Board", coordinates = true } = {}) {
    this.holder = holder;
    this.onMove = onMove;
    this.onIllegal = onIllegal;
    this.onLocked = onLocked;
    this.onSquare = onSquare;
    this.onDrag = onDrag;
    this.onPlan = onPlan;
    this.instant = instant;
    this.premoves = ""; // the side whose moves can be planned
    this.last = this.planned = null;
    this.margin = coordinates ? 0.55 : 0.1;
    this.coordinates = coordinates;
    this.turns = 0;
    this.size = 0;
    this.cells = "";
    this.legal = [];
    this.marks = [];
    this.arrows = [];
    this.selected = null;
    this.editing = false;
    this.locked = false;
    this.focus = 0;
    this.touched = null;
    this.pointed = null; // the square's button that the pointer chose, until a key is used on the board
    this.picture = svg("svg", { "aria-hidden": "true", focusable: "false" });
    this.squares = el("div", { class: "squares", role: "group", "aria-label": label });
    // A board that is too large for the screen scrolls within its holder.
    holder.replaceChildren(el("div", { class: "whole" }, this.picture, this.squares));
    holder.addEventListener("scroll", () => this.keepLeft(), { passive: true });
    this.squares.addEventListener("keydown", (event) => this.onKey(event));
    this.squares.addEventListener("pointerdown", (event) => this.onDown(event));
    // Keys and screen readers press a button without a pointer. A touch counts as a press only if it did not scroll.
    this.squares.addEventListener("click", (event) => {
      const name = event.target.closest("button[data-square]")?.dataset.square;
      if (name && this.touched === name) this.pointed = this.buttons[squareOf(name, this.size)];
      if (name && (event.detail === 0 || this.touched === name)) this.choose(squareOf(name, this.size));
      this.touched = null;
    });
  }

  // Set the terrain, given by rows, the top rank first.
  setTerrain(rows) {
    const key = rows.join("/");
    if (this.terrainKey === key) return;
    this.terrainKey = key;
    this.size = rows.length;
    this.terrain = rows.slice().reverse().join("");
    this.focus = Math.floor(this.size * this.size / 2);
    this.selected = null;
    this.cells = ""; // the pieces of a board of another size
    this.last = this.planned = null;
    this.build();
  }

  build() {
    const { size } = this;
    const width = size + 2 * this.margin;
    this.picture.setAttribute("viewBox", `${-this.margin} ${-this.margin} ${width} ${width}`);
    this.holder.style.setProperty("--size", size);
    this.holder.style.setProperty("--cells", width);
    this.holder.style.setProperty("--inset", `${(100 * this.margin) / width}%`);
    this.ground = svg("g", { class: "ground" });
    this.below = svg("g", { class: "below" });
    this.men = svg("g", { class: "men" });
    this.above = svg("g", { class: "above" });
    this.left = svg("g", { class: "left" });
    this.picture.replaceChildren(this.ground, this.below, this.men, this.above, this.left);
    this.buttons = [];
    this.drawn = "";
    this.squares.replaceChildren();
    for (let row = 0; row < size; row += 1) {
      for (let column = 0; column < size; column += 1) {
        const square = this.squareAt(column, row);
        const button = el("button", { type: "button", "data-square": squareName(square, size) });
        this.buttons[square] = button;
        this.squares.append(button);
      }
    }
    this.drawGround();
    this.draw();
    this.holder.scrollLeft = (this.holder.scrollWidth - this.holder.clientWidth) / 2;
  }

  // Keep the labels on the left visible while a large board is scrolled.
  keepLeft() {
    const { scrollLeft } = this.holder;
    this.left.setAttribute("transform", `translate(${(scrollLeft * (this.size + 2 * this.margin)) / (this.picture.clientWidth || 1)} 0)`);
    this.left.classList.toggle("afloat", scrollLeft > 0);
  }

  turn(quarters) {
    const focused = this.squares.contains(document.activeElement);
    this.turns = (this.turns + quarters + 4) % 4;
    if (this.size) this.build();
    if (!focused) return;
    this.buttons[this.focus].focus({ preventScroll: true });
    if (this.pointed) this.pointed = this.buttons[this.focus];
  }

  // Return the displayed position of a square: column and row from the top left.
  place(square) {
    let column = square % this.size;
    let row = this.size - 1 - Math.floor(square / this.size);
    for (let turn = 0; turn < this.turns; turn += 1) [column, row] = [this.size - 1 - row, column];
    return [column, row];
  }

  squareAt(column, row) {
    for (let turn = 0; turn < this.turns; turn += 1) [column, row] = [row, this.size - 1 - column];
    return column + this.size * (this.size - 1 - row);
  }

  centre(square) {
    const [column, row] = this.place(square);
    return [column + 0.5, row + 0.5];
  }

  drawGround() {
    const parts = [];
    const left = [];
    for (let square = 0; square < this.size ** 2; square += 1) {
      const [x, y] = this.centre(square);
      const kind = KINDS[this.terrain[square]] || "camp";
      parts.push(...cellShapes(kind, x, y));
    }
    for (let line = 0; line < (this.coordinates ? this.size : 0); line += 1) {
      const odd = this.turns % 2 === 1;
      const alongX = this.squareAt(line, this.size - 1);
      const alongY = this.squareAt(0, line);
      const name = (square, file) => (file ? FILES[square % this.size] : Math.floor(square / this.size) + 1);
      parts.push(this.letter(line + 0.5, this.size + 0.28, name(alongX, !odd)));
      left.push(this.letter(-0.28, line + 0.5, name(alongY, odd)));
    }
    this.ground.replaceChildren(...parts);
    this.left.replaceChildren(...left);
  }

  letter(x, y, text) {
    // The cells of large boards are small, but their labels need not be.
    const node = svg("text", { class: `coordinate${this.size > 12 ? " large" : ""}`, x, y });
    node.textContent = text;
    return node;
  }

  // Show a position: pieces from a1 on, the legal moves, the last move, arrows.
  // `planned` is a move to be made as soon as it is the turn of its side.
  show({ cells, legal = [], last = null, arrows = [], turn = "", locked = false, marks = [], planned = null }) {
    const [before, lastBefore] = [this.cells, this.last];
    const held = this.selected !== null && locked && this.premoves && cells[this.selected] === before[this.selected] ? this.selected : null;
    Object.assign(this, { cells, legal, last, arrows, locked, marks, planned });
    this.turnName = turn;
    this.selected = held;
    this.draw();
    this.slide(before, lastBefore);
  }

  movesFrom(square) {
    const name = squareName(square, this.size);
    return this.legal.filter((move) => endsOf(move.move)[0] === name);
  }

  draw() {
    if (!this.size || !this.cells) return;
    const below = [];
    const above = [];
    const tint = (name, kind) => {
      const [x, y] = this.centre(squareOf(name, this.size));
      below.push(svg("rect", { class: kind, x: x - 0.5, y: y - 0.5, width: 1, height: 1 }));
    };
    if (this.last) for (const name of endsOf(this.last)) tint(name, "last");
    if (this.planned) for (const name of endsOf(this.planned)) tint(name, "planned");
    for (const name of this.marks || []) tint(name, "mark");
    if (this.selected !== null) tint(squareName(this.selected, this.size), "selected");
    const targets = this.selected === null || this.locked ? [] : this.movesFrom(this.selected);
    for (const move of targets) {
      const square = squareOf(endsOf(move.move)[1], this.size);
      above.push(...targetShapes(move, ...this.centre(square)));
      for (const name of move.captures || []) {
        const [x, y] = this.centre(squareOf(name, this.size));
        above.push(svg("path", { class: "taken", d: `M${x - 0.2} ${y - 0.2}l.4 .4m0 -.4l-.4 .4` }));
      }
    }
    for (const [move, kind] of this.arrows || []) above.push(arrowShape(...endsOf(move).map((name) => this.centre(squareOf(name, this.size))), kind));
    this.below.replaceChildren(...below);
    this.drawMen();
    this.above.replaceChildren(...above);
    this.name(targets);
  }

  // Draw the men, unless they are there already: one of them may be sliding.
  drawMen() {
    const key = `${this.turns} ${this.cells}`;
    if (this.drawn === key && this.men.children.length) return;
    this.drawn = key;
    const men = [];
    for (let square = 0; square < this.cells.length; square += 1) {
      if (this.cells[square] !== ".") men.push(manShape(this.cells[square], ...this.centre(square), square));
    }
    this.men.replaceChildren(...men);
  }

  // Let the man slide that has moved, forwards by this position's last move or backwards by that of the one before.
  slide(before, lastBefore) {
    if (before.length !== this.cells.length || before === this.cells || this.dropped || still.matches) return;
    const steps = [this.last && endsOf(this.last), lastBefore && endsOf(lastBefore).reverse()].filter(Boolean);
    for (const [from, to] of steps.map((ends) => ends.map((name) => squareOf(name, this.size)))) {
      if (before[from] === "." || before[from] !== this.cells[to] || before[to] !== "." || this.cells[from] !== ".") continue;
      const [[x, y], [toX, toY]] = [this.centre(from), this.centre(to)];
      const man = this.men.querySelector(`[data-at="${to}"]`);
      this.men.append(man); // above the others
      this.sliding = man.animate([{ transform: `translate(${x - toX}px, ${y - toY}px)` }, { transform: "none" }], { duration: SLIDE, easing: "ease-in-out" });
      return;
    }
  }

  // Wait until no man slides.
  async settled() {
    if (this.sliding?.playState !== "running") return;
    await Promise.race([this.sliding.finished.catch(() => {}), new Promise((go) => setTimeout(go, 2 * SLIDE))]);
  }

  // Show a legal move at once, before its position is known. No other can be made until a position is shown.
  advance(name) {
    const [from, to] = endsOf(name).map((end) => squareOf(end, this.size));
    const cells = [...this.cells];
    for (const taken of this.legal.find(({ move }) => move === name)?.captures || []) cells[squareOf(taken, this.size)] = ".";
    [cells[to], cells[from]] = [this.cells[from], "."];
    this.show({ cells: cells.join(""), last: name, turn: this.turnName, locked: true });
  }

  // Label the squares for screen readers.
  name(targets) {
    const reachable = new Map(targets.map((move) => [endsOf(move.move)[1], move]));
    const starts = new Set(this.legal.map((move) => endsOf(move.move)[0]));
    for (let square = 0; square < this.cells.length; square += 1) {
      const name = squareName(square, this.size);
      const kind = KINDS[this.terrain[square]] || "camp";
      const words = [name, PIECES[this.cells[square]] || "empty"];
      if (kind !== "ordinary") words.push(kind);
      if (square === this.selected) words.push("chosen");
      const move = reachable.get(name);
      if (move) words.push(move.wdl ? `a move that ${{ win: "wins", loss: "loses", draw: "draws" }[move.wdl] || "is open"}` : "can be reached");
      else if (starts.has(name) && !this.locked) words.push("can move");
      const button = this.buttons[square];
      button.setAttribute("aria-label", words.join(", "));
      button.classList.toggle("movable", this.editing ? this.cells[square] !== "." : this.locked ? this.canMove(square) : starts.has(name));
      button.classList.toggle("reachable", Boolean(move));
      button.tabIndex = square === this.focus ? 0 : -1;
    }
  }

  choose(square) {
    const name = squareName(square, this.size);
    this.focus = square;
    if (this.editing) {
      this.onSquare(name);
      return;
    }
    if (this.locked) {
      if (!this.plan(square)) this.onLocked?.();
      return;
    }
    if (this.selected !== null) {
      const from = squareName(this.selected, this.size);
      if (this.movesFrom(this.selected).some((move) => endsOf(move.move)[1] === name)) {
        this.selected = null;
        if (this.instant) this.advance(`${from}-${name}`);
        this.onMove(from, name);
        return;
      }
      if (square !== this.selected && !this.movesFrom(square).length) this.onIllegal?.(from, name);
    }
    this.selected = square !== this.selected && this.movesFrom(square).length ? square : null;
    this.draw();
  }

  // Whether a man can be moved now, or later if moves may be planned.
  canMove(square) {
    if (!this.locked) return this.movesFrom(square).length > 0;
    return Boolean(this.premoves) && sideOf(this.cells[square]) === this.premoves;
  }

  // Choose a square of a move that is planned. Return false if no moves are planned here.
  plan(square) {
    if (!this.premoves) return false;
    const from = this.selected;
    const [[x, y], [toX, toY]] = [this.place(from ?? square), this.place(square)];
    this.selected = from !== square && this.canMove(square) ? square : null;
    if (from !== null && from !== square && this.selected === null && (x === toX || y === toY)) this.onPlan(`${squareName(from, this.size)}-${squareName(square, this.size)}`);
    else if (from === null && this.selected === null) this.onPlan(null);
    this.draw();
    return true;
  }

  onKey(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const name = event.target.dataset?.square;
    if (!name || event.altKey || event.ctrlKey || event.metaKey) return;
    const square = squareOf(name, this.size);
    // After a move by the pointer, the arrows step through the game; the page handles this.
    if (this.pointed === event.target && steps[event.key]) return;
    if ([...Object.keys(steps), "Tab", "Enter", " ", "Escape"].includes(event.key)) this.pointed = null;
    if (steps[event.key]) {
      event.preventDefault();
      event.stopPropagation();
      const [column, row] = this.place(square);
      const next = [column + steps[event.key][0], row + steps[event.key][1]];
      if (next.some((at) => at < 0 || at >= this.size)) return;
      this.focus = this.squareAt(...next);
      this.draw();
      this.buttons[this.focus].focus();
    } else if (event.key === "Escape" && this.selected !== null) {
      this.selected = null;
      this.draw();
      event.stopPropagation();
    }
  }

  onDown(event) {
    const button = event.target.closest("button[data-square]");
    if (!button || event.button !== 0) return;
    const square = squareOf(button.dataset.square, this.size);
    const man = this.cells[square] !== ".";
    const movable = this.editing ? man : this.canMove(square);
    const chosen = this.selected;
    this.touched = !movable && event.pointerType === "touch" ? button.dataset.square : null;
    if (this.touched) return; // it may scroll; a tap is a click as well
    this.pointed = button;
    if (!movable && !this.editing) {
      this.choose(square);
      if (this.onIllegal && man) this.drag(event, square, null);
      return;
    }
    event.preventDefault();
    button.focus({ preventScroll: true });
    this.focus = square;
    this.selected = this.editing ? null : square;
    this.draw();
    this.drag(event, square, chosen);
  }

  drag(down, square, chosen) {
    const man = this.men.querySelector(`[data-at="${square}"]`);
    const scale = () => (this.size + 2 * this.margin) / this.picture.getBoundingClientRect().width;
    let dragged = false;
    const move = (event) => {
      const [dx, dy] = [event.clientX - down.clientX, event.clientY - down.clientY];
      if (!dragged && Math.hypot(dx, dy) < 5) return;
      dragged = true;
      this.holder.classList.add("dragging");
      man?.setAttribute("transform", `translate(${dx * scale()} ${dy * scale()})`);
    };
    const up = (event) => {
      for (const [name, call] of Object.entries({ pointermove: move, pointerup: up, pointercancel: up })) {
        removeEventListener(name, call);
      }
      this.holder.classList.remove("dragging");
      man?.removeAttribute("transform");
      if (event.type === "pointercancel") return;
      const below = document.elementFromPoint(event.clientX, event.clientY)?.closest?.("button[data-square]");
      const target = below && this.squares.contains(below) ? below.getAttribute("data-square") : null;
      const start = squareName(square, this.size);
      if (this.editing) {
        if (!dragged || target === start) this.choose(square);
        else if (man) this.onDrag(start, target);
      } else if (dragged && target && target !== start) {
        this.dropped = true; // the man is where it goes to
        if (this.selected === square) this.choose(squareOf(target, this.size));
        else this.onIllegal?.(start, target);
        this.dropped = false;
      } else if (!dragged && chosen === square) {
        this.selected = null;
        this.draw();
      }
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
    addEventListener("pointercancel", up);
  }
}
