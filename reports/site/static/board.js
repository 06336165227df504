"use strict";
/* A board of buttons. It draws a position and reports the chosen square; the rules are handled elsewhere. */
(function () {
  const FILES = "abcdefghijklmnopqrs";
  const PIECES = { b: "attacker", w: "defender", K: "king" };
  const TERRAIN = { T: "castle", "*": "escape", X: "corner", A: "camp", B: "camp", C: "camp", D: "camp" };

  /* Return a position's cells from a1 on, as the toolkit numbers them; "." is empty. */
  function cellsOf(text) {
    const rows = text.split(" ")[0].split("/").map(function (row) {
      return row.replace(/\d+/g, function (count) { return ".".repeat(Number(count)); });
    });
    return rows.reverse().join("").split("");
  }

  function Board(holder, terrain, chosen) {
    this.size = terrain.length;
    this.holder = holder;
    this.chosen = chosen;
    this.buttons = [];
    this.cells = [];
    const grid = document.createElement("div");
    grid.className = "grid";
    grid.style.setProperty("--size", this.size);
    grid.setAttribute("role", "group");
    grid.setAttribute("aria-label", "Board. Arrow keys move, Enter chooses a piece, then its target.");
    for (let rank = this.size; rank >= 1; rank--) {
      grid.append(label(String(rank)));
      for (let file = 0; file < this.size; file++) {
        const square = (rank - 1) * this.size + file;
        const button = document.createElement("button");
        button.type = "button";
        button.tabIndex = -1;
        button.dataset.square = FILES[file] + rank;
        button.dataset.terrain = TERRAIN[terrain[this.size - rank][file]] || "";
        button.addEventListener("click", () => this.chosen(button.dataset.square));
        this.buttons[square] = button;
        grid.append(button);
      }
    }
    grid.append(label(""));
    for (let file = 0; file < this.size; file++) grid.append(label(FILES[file]));
    grid.addEventListener("keydown", (event) => this.walk(event));
    grid.addEventListener("pointerdown", (event) => this.drag(event));
    this.buttons[Math.floor(this.buttons.length / 2)].tabIndex = 0;
    holder.className = "";
    holder.replaceChildren(grid);
  }

  function label(text) {
    const span = document.createElement("span");
    span.className = "label";
    span.setAttribute("aria-hidden", "true");
    span.textContent = text;
    return span;
  }

  Board.prototype.walk = function (event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: this.size, ArrowDown: -this.size };
    const at = this.buttons.indexOf(document.activeElement);
    if (at < 0 || !(event.key in steps)) return;
    event.preventDefault();
    const file = at % this.size;
    if ((event.key === "ArrowLeft" && file === 0) || (event.key === "ArrowRight" && file === this.size - 1)) return;
    const next = this.buttons[at + steps[event.key]];
    if (!next) return;
    this.buttons[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };

  /* Drag a piece to another square: the same as choosing both squares. */
  Board.prototype.drag = function (down) {
    const start = down.target.closest("button[data-square]"), piece = start && start.querySelector(".piece");
    if (!piece || down.button !== 0) return;
    let dragged = false;
    const move = (event) => {
      const by = [event.clientX - down.clientX, event.clientY - down.clientY];
      if (!dragged && Math.hypot(by[0], by[1]) < 5) return;
      dragged = true;
      piece.style.transform = "translate(" + by[0] + "px, " + by[1] + "px)";
      start.classList.add("dragged");
    };
    const up = (event) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
      removeEventListener("pointercancel", up);
      piece.style.transform = "";
      start.classList.remove("dragged");
      if (!dragged || event.type === "pointercancel") return;
      const under = document.elementsFromPoint(event.clientX, event.clientY).find((node) => this.buttons.includes(node));
      if (!under || under === start) return;
      if (!start.classList.contains("chosen")) this.chosen(start.dataset.square);
      this.chosen(under.dataset.square);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
    addEventListener("pointercancel", up);
  };

  /* Draw cells with marks: {last: [squares], targets: [squares], chosen: square, hinted: square}. */
  Board.prototype.draw = function (cells, marks) {
    this.cells = cells;
    const last = marks.last || [], targets = marks.targets || [];
    this.buttons.forEach((button, square) => {
      const name = button.dataset.square, piece = PIECES[cells[square]], terrain = button.dataset.terrain;
      button.className = ["cell", terrain, last.includes(name) ? "last" : "", targets.includes(name) ? "target" : "",
        marks.chosen === name ? "chosen" : "", marks.hinted === name ? "hinted" : ""].join(" ").trim();
      const words = [name, piece || "empty", terrain, targets.includes(name) ? "can be reached" : "",
        marks.chosen === name ? "chosen" : ""];
      button.setAttribute("aria-label", words.filter(Boolean).join(", "));
      const disc = document.createElement("span");
      disc.className = "piece " + piece;
      button.replaceChildren(...(piece ? [disc] : []));
    });
  };

  Board.prototype.square = function (name) {
    return (Number(name.slice(1)) - 1) * this.size + FILES.indexOf(name[0]);
  };

  /* Return the cells after a move that captures the pieces on the squares `takes`. */
  Board.prototype.after = function (cells, move, takes) {
    const ends = move.split("-").map((name) => this.square(name)), next = cells.slice();
    next[ends[1]] = next[ends[0]];
    next[ends[0]] = ".";
    (takes || []).forEach((name) => { next[this.square(name)] = "."; });
    return next;
  };

  /* In a frame of another page, show the board alone; elsewhere, offer the text that makes such a frame. */
  if (new URLSearchParams(location.search).has("embed")) document.body.classList.add("embedded");
  const offer = document.getElementById("embed");
  if (offer) {
    const quoted = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
    const address = location.href.split(/[?#]/)[0] + "?embed";
    offer.hidden = false;
    offer.querySelector("textarea").value =
      '<iframe src="' + quoted(address) + '" title="' + quoted(document.title) + '" width="420" height="640" style="border: 0"></iframe>';
  }

  window.Tablut = { Board: Board, cellsOf: cellsOf };
})();
