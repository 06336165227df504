// An interactive board: the shapes of `tablut/svg.py`, with a button on every square for pointer and keyboard.

import { el, svg } from "./dom.js";

const FILES = "abcdefghijklmnopqrstuvwxyz";
const PIECES = { b: "attacker", w: "defender", K: "king" };
const KINDS = { T: "castle", "*": "escape", X: "corner", ".": "ordinary", "+": "ordinary" };

const squareName = (square, size) => FILES[square % size] + (Math.floor(square / size) + 1);
export const squareOf = (name, size) => FILES.indexOf(name[0]) + size * (Number(name.slice(1)) - 1);
const endsOf = (move) => move.split("-");

function star(x, y, radius) {
  const points = [];
  for (let corner = 0; corner < 10; corner += 1) {
    const reach = corner % 2 === 0 ? radius : radius * 0.42;
    const angle = (Math.PI * corner) / 5 - Math.PI / 2;
    points.push(`${x + reach * Math.cos(angle)} ${y + reach * Math.sin(angle)}`);
  }
  return `M${points.join("L")}z`;
}

export class BoardView {
  // `onMove(from, to)` is called for a move by click or drag, `onIllegal(from, to)` for an illegal one, `onLocked()`
  // for a square chosen while the board is locked. While `editing`, `onSquare(name)` is called for a chosen square, and
  // `onDrag(from, to)` for a man dragged to another square, or off the board (`to` is null).
  constructor(holder, { onMove = () => {}, onIllegal = null, onLocked = null, onSquare = () => {}, onDrag = () => {}, label = "Board", coordinates = true } = {}) {
    this.holder = holder;
    this.onMove = onMove;
    this.onIllegal = onIllegal;
    this.onLocked = onLocked;
    this.onSquare = onSquare;
    this.onDrag = onDrag;
    this.margin = coordinates ? 0.55 : 0.1;
    this.coordinates = coordinates;
    this.turns = 0;
    this.size = 0;
    this.cells = "";
    this.legal = [];
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
      parts.push(svg("rect", { class: `cell ${kind}`, x: x - 0.5, y: y - 0.5, width: 1, height: 1 }));
      const paths = {
        castle: `M${x - 0.3} ${y - 0.3}l.6 .6m0 -.6l-.6 .6`,
        camp: `M${x - 0.2} ${y + 0.16}h.4l-.2 -.36z`,
        escape: star(x, y, 0.22),
        corner: star(x, y, 0.36),
      };
      if (paths[kind]) parts.push(svg("path", { class: `sign ${kind}`, d: paths[kind] }));
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
  show({ cells, legal = [], last = null, arrows = [], turn = "", locked = false, marks = [] }) {
    this.cells = cells;
    this.legal = legal;
    this.last = last;
    this.arrows = arrows;
    this.turnName = turn;
    this.locked = locked;
    this.marks = marks;
    this.selected = null;
    this.draw();
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
    for (const name of this.marks || []) tint(name, "mark");
    if (this.selected !== null) tint(squareName(this.selected, this.size), "selected");
    const targets = this.selected === null || this.locked ? [] : this.movesFrom(this.selected);
    for (const move of targets) {
      const square = squareOf(endsOf(move.move)[1], this.size);
      above.push(...this.target(square, move));
      for (const name of move.captures || []) {
        const [x, y] = this.centre(squareOf(name, this.size));
        above.push(svg("path", { class: "taken", d: `M${x - 0.2} ${y - 0.2}l.4 .4m0 -.4l-.4 .4` }));
      }
    }
    for (const arrow of this.arrows || []) above.push(this.arrow(...arrow));
    const men = [];
    for (let square = 0; square < this.cells.length; square += 1) {
      if (this.cells[square] !== ".") men.push(this.man(this.cells[square], ...this.centre(square), square));
    }
    this.below.replaceChildren(...below);
    this.men.replaceChildren(...men);
    this.above.replaceChildren(...above);
    this.name(targets);
  }

  target(square, move) {
    const [x, y] = this.centre(square);
    const kind = move.wdl || "open";
    const shape =
      kind === "loss"
        ? svg("path", { class: "dot loss", d: `M${x - 0.14} ${y - 0.14}l.28 .28m0 -.28l-.28 .28` })
        : kind === "draw" || kind === "unresolved"
          ? svg("rect", { class: `dot ${kind}`, x: x - 0.13, y: y - 0.13, width: 0.26, height: 0.26 })
          : svg("circle", { class: `dot ${kind}`, cx: x, cy: y, r: 0.15 });
    if (!move.dtm || kind === "draw") return [shape];
    const number = svg("text", { class: `number ${kind}`, x: x + 0.3, y: y + 0.34 });
    number.textContent = move.dtm;
    return [shape, number];
  }

  man(piece, x, y, square) {
    const group = svg("g", { class: `man ${PIECES[piece]}`, "data-at": square });
    group.append(svg("circle", { cx: x, cy: y, r: 0.37 }));
    if (piece === "K") group.append(svg("path", { d: `M${x} ${y - 0.24}v.48M${x - 0.24} ${y}h.48` }));
    return group;
  }

  arrow(move, kind = "") {
    const [from, to] = endsOf(move).map((name) => this.centre(squareOf(name, this.size)));
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
    const neck = [to[0] - 0.32 * Math.cos(angle), to[1] - 0.32 * Math.sin(angle)];
    const wings = [1, -1].map((side) => `${neck[0] + side * 0.19 * Math.sin(angle)},${neck[1] - side * 0.19 * Math.cos(angle)}`);
    return svg(
      "g",
      { class: `arrow ${kind}` },
      svg("line", { x1: from[0], y1: from[1], x2: neck[0], y2: neck[1] }),
      svg("polygon", { points: `${to[0]},${to[1]} ${wings.join(" ")}` }),
    );
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
      button.classList.toggle("movable", this.editing ? this.cells[square] !== "." : !this.locked && starts.has(name));
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
      this.onLocked?.();
      return;
    }
    if (this.selected !== null) {
      const from = squareName(this.selected, this.size);
      if (this.movesFrom(this.selected).some((move) => endsOf(move.move)[1] === name)) {
        this.selected = null;
        this.onMove(from, name);
        return;
      }
      if (square !== this.selected && !this.movesFrom(square).length) this.onIllegal?.(from, name);
    }
    this.selected = square !== this.selected && this.movesFrom(square).length ? square : null;
    this.draw();
  }

  onKey(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const name = event.target.dataset?.square;
    if (!name || event.altKey || event.ctrlKey || event.metaKey) return;
    const square = squareOf(name, this.size);
    // After a move by the pointer, ← and → step through the game; the page handles this.
    if (this.pointed === event.target && ["ArrowLeft", "ArrowRight"].includes(event.key)) return;
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
    const movable = this.editing ? man : !this.locked && this.movesFrom(square).length > 0;
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
      const target = below && this.squares.contains(below) ? below.dataset.square : null;
      const start = squareName(square, this.size);
      if (this.editing) {
        if (!dragged || target === start) this.choose(square);
        else if (man) this.onDrag(start, target);
      } else if (dragged && target && target !== start) {
        if (this.selected === square) this.choose(squareOf(target, this.size));
        else this.onIllegal?.(start, target);
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
