"use strict";
/* A puzzle, played from its solution tree. The tree marks every legal move as correct or wrong, and has the replies. */
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const say = document.getElementById("say"), list = document.getElementById("line");
  const typed = document.getElementById("typed"), buttons = document.getElementById("buttons");
  const other = data.winner === "white" ? "black" : "white";
  const board = new Tablut.Board(document.getElementById("board"), data.terrain, choose);
  let cells, node, from, last, hints, line, over, shown, waiting;

  function start() {
    clearTimeout(waiting);
    cells = Tablut.cellsOf(data.position);
    node = data.nodes[0];
    from = null; last = []; hints = 0; line = []; over = false; shown = false;
    if (data.opening) {
      cells = board.after(cells, data.opening, data.opening_takes);
      line.push(words(data.opening, data.opening_takes));
      last = data.opening.split("-");
      tell(capital(other) + " defends with " + data.opening + ". " + capital(data.winner) + " to move, " + plies(node.plies) + " to the end.", "");
    } else {
      tell(capital(data.winner) + " to move, and wins in " + plies(node.plies) + ".", "");
    }
    draw();
  }

  function plies(count) { return count === 1 ? "1 ply" : count + " plies"; }
  function words(move, takes) { return move + (takes || []).map(function (at) { return " x" + at; }).join(""); }
  function capital(text) { return text[0].toUpperCase() + text.slice(1); }
  function tell(text, kind) { say.textContent = text; say.className = "say " + kind; }
  function moves() { return over ? {} : Object.assign({}, node.right, node.wrong); }

  function draw(hinted) {
    const all = Object.keys(moves());
    const targets = all.filter(function (move) { return from && move.startsWith(from + "-"); });
    board.draw(cells, { last: last, chosen: from, hinted: hinted,
      targets: targets.map(function (move) { return move.split("-")[1]; }) });
    // Disable all controls at the end of the puzzle, except Again, which restarts it.
    for (const button of [...typed.elements, ...buttons.children]) button.disabled = over && button.dataset.do !== "again";
    document.getElementById("moves").replaceChildren(...all.map(function (move) {
      const option = document.createElement("option"); option.value = move; return option;
    }));
    list.replaceChildren(...line.map(function (move) {
      const item = document.createElement("li"); item.textContent = move; return item;
    }));
  }

  function choose(square) {
    if (over || waiting) return;
    const all = moves();
    if (from && all[from + "-" + square]) return play(from + "-" + square);
    const can = Object.keys(all).some(function (move) { return move.startsWith(square + "-"); });
    from = can && from !== square ? square : null;
    draw();
  }

  function play(move) {
    const right = node.right[move], answer = right || node.wrong[move];
    from = null;
    if (!answer) return tell(move + " is not a legal move for " + data.winner + ".", "wrong");
    if (!right) return refute(move, answer);
    hints = 0;
    cells = board.after(cells, move, answer.takes);
    line.push(words(move, answer.takes));
    last = move.split("-");
    if (answer.reply) {
      cells = board.after(cells, answer.reply, answer.reply_takes);
      line.push(words(answer.reply, answer.reply_takes));
      last = answer.reply.split("-");
    }
    if (answer.to === undefined) {
      over = true;
      tell(shown ? "That was the solution." : "Solved: " + data.winner + " has won.", shown ? "" : "right");
      if (!shown) remember();
    } else {
      node = data.nodes[answer.to];
      tell("Right. " + capital(other) + " answers " + words(answer.reply, answer.reply_takes) + "; " + plies(node.plies) + " to the end.", "right");
    }
    draw();
  }

  /* Show a wrong move and the reply to it for a moment, then take both back. */
  function refute(move, answer) {
    const before = cells, marks = last;
    cells = board.after(cells, move, answer.takes);
    last = move.split("-");
    let text = move + " is wrong: ";
    if (answer.reply) {
      cells = board.after(cells, answer.reply, answer.reply_takes);
      last = answer.reply.split("-");
      text += "after " + words(answer.reply, answer.reply_takes) + " there is no win within " + plies(node.plies) + " any more.";
    } else {
      text += "the game is over, and " + data.winner + " has not won.";
    }
    tell(text + " It is taken back.", "wrong");
    draw();
    waiting = setTimeout(function () { waiting = null; cells = before; last = marks; draw(); }, 1800);
  }

  function hint() {
    if (over || waiting) return;
    const move = Object.keys(node.right)[0];
    hints += 1;
    tell(hints > 1 ? "Play " + move + "." : "Look at the piece on " + move.split("-")[0] + ".", "");
    draw(move.split("-")[0]);
  }

  function reveal() {
    if (waiting) return;
    shown = true;
    const step = function () {
      if (over) return;
      play(Object.keys(node.right)[0]);
      if (!over) waiting = setTimeout(function () { waiting = null; step(); }, 900);
    };
    step();
  }

  function remember() {
    try {
      const done = JSON.parse(localStorage.getItem("tablut-solved") || "[]");
      if (!done.includes(data.id)) localStorage.setItem("tablut-solved", JSON.stringify(done.concat(data.id)));
    } catch (error) { /* Some browsers have no storage for local files. Only the record of solved puzzles is lost. */ }
  }

  typed.hidden = buttons.hidden = false;
  typed.addEventListener("submit", function (event) {
    event.preventDefault();
    if (over || waiting) return;
    const text = typed.move.value.trim().toLowerCase(), found = text.match(/^([a-s]\d{1,2})-?([a-s]\d{1,2})$/);
    typed.move.value = "";
    if (found) play(found[1] + "-" + found[2]);
    else tell("Type a move such as " + Object.keys(node.wrong).concat(Object.keys(node.right))[0] + ".", "wrong");
  });
  buttons.addEventListener("click", function (event) {
    const wanted = event.target.dataset.do;
    if (wanted === "hint") hint();
    if (wanted === "reveal") reveal();
    if (wanted === "again") { waiting = clearTimeout(waiting); start(); }
  });
  start();
})();
