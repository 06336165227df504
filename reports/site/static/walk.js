"use strict";
/* A solved board to explore. The address contains the moves made, so that every position has its own link. */
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const say = document.getElementById("say"), list = document.getElementById("line"), rows = document.getElementById("moves");
  const buttons = document.getElementById("buttons");
  const board = new Tablut.Board(document.getElementById("board"), data.terrain, choose);
  let path = [], from = null;

  /* Return the moves made, the current node, and the cells and squares to draw. */
  function stand() {
    const found = { node: data.nodes[0], cells: Tablut.cellsOf(data.nodes[0].position), last: [], made: [], over: null };
    for (const name of path) {
      const move = found.node && found.node.moves.find(function (one) { return one.move === name; });
      if (!move || !leads(move)) break;
      found.cells = board.after(found.cells, move.move, move.takes);
      found.last = move.move.split("-");
      found.made.push(move);
      found.mover = mover(found.node);
      found.node = move.to === undefined ? null : data.nodes[move.to];
    }
    return found;
  }

  function mover(node) { return node.position.endsWith(" w") ? "white" : "black"; }
  function ends(move) { return move.to === undefined && move.wdl === "win" && move.dtm === 1; }
  function leads(move) { return move.to !== undefined || ends(move); }
  function plies(count) { return count === 1 ? "1 ply" : count + " plies"; }

  function draw() {
    const at = stand();
    path = at.made.map(function (move) { return move.move; });
    history.replaceState(null, "", path.length ? "#" + path.join(",") : location.pathname + location.search);
    const moves = at.node ? at.node.moves : [];
    const targets = moves.filter(function (move) { return from && move.move.startsWith(from + "-") && leads(move); });
    board.draw(at.cells, { last: at.last, chosen: from, targets: targets.map(function (move) { return move.move.split("-")[1]; }) });
    if (at.node) {
      const who = mover(at.node), value = at.node.wdl;
      const within = data.exact ? " in " : " within ";
      const words = { win: " to move, and wins" + within, loss: " to move, and loses" + within }[value];
      const rest = value === "draw" ? " to move: a draw." : " to move: open.";
      say.textContent = who[0].toUpperCase() + who.slice(1) + (words ? words + plies(at.node.dtm) + "." : rest);
    } else {
      say.textContent = at.mover[0].toUpperCase() + at.mover.slice(1) + " has won.";
    }
    list.replaceChildren(...at.made.map(function (move) {
      const item = document.createElement("li");
      item.textContent = move.move + (move.takes || []).map(function (square) { return " x" + square; }).join("");
      return item;
    }));
    rows.replaceChildren(...moves.map(row));
  }

  function row(move) {
    const line = document.createElement("tr"), name = document.createElement("td"), value = document.createElement("td");
    const length = document.createElement("td"), word = document.createElement("span");
    const text = move.move + (move.takes || []).map(function (square) { return " x" + square; }).join("");
    if (leads(move)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", function () { go(move.move); });
      name.append(button);
    } else {
      name.textContent = text;
    }
    word.className = "wdl " + move.wdl;
    word.textContent = move.wdl;
    value.append(word);
    length.textContent = move.dtm === undefined ? "" : (data.exact ? "" : "≤ ") + move.dtm;
    line.append(name, value, length);
    return line;
  }

  function go(move) { path.push(move); from = null; draw(); }

  function choose(square) {
    const at = stand();
    if (!at.node) return;
    const moves = at.node.moves.filter(leads);
    if (from && moves.some(function (move) { return move.move === from + "-" + square; })) return go(from + "-" + square);
    from = moves.some(function (move) { return move.move.startsWith(square + "-"); }) && from !== square ? square : null;
    draw();
  }

  function read() { path = decodeURIComponent(location.hash.slice(1)).split(",").filter(Boolean); from = null; draw(); }

  buttons.hidden = false;
  buttons.addEventListener("click", function (event) {
    const wanted = event.target.dataset.do, at = stand();
    if (wanted === "back") path.pop();
    if (wanted === "start") path = [];
    if (wanted === "best" && at.node && at.node.moves.length && leads(at.node.moves[0])) path.push(at.node.moves[0].move);
    from = null;
    draw();
  });
  window.addEventListener("hashchange", read);
  read();
})();
