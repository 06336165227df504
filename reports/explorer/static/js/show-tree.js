// @ts-check
// The list of the moves of a game with its variations, and what can be done with the move that is shown.

import { byId, el } from "./dom.js";

const FULL = 1500; // a larger tree shows only the first move of the variations that are not gone through
const MARKS = ["", "!", "?", "!!", "??", "!?", "?!"];

// `go(node)` is called for a chosen move, and `changed()` after a change of the tree.
export function treeView(box, { go, changed }) {
  let shown = "";
  let root = null;
  let buttons = new Map();
  let game = null;

  function button(node, main) {
    const words = node.move + (node.captures || []).map((square) => `x${square}`).join("");
    const made = el(
      "button",
      { type: "button", class: `made${main ? "" : " side-line"}`, onclick: () => go(node) },
      el("span", { class: "nr", "aria-hidden": "true", text: node.ply }),
      ` ${words}`,
      node.marks ? el("span", { class: "grade", text: ` ${node.marks}` }) : null,
    );
    buttons.set(node, made);
    return made;
  }

  const said = (node) => el("span", { class: "said", text: node.comment });

  // Return a variation: its moves in a row, and the variations in it below.
  function variation(first, path) {
    const row = el("span", { class: "moves-row" });
    const holder = el("div", { class: "variation" }, row);
    const inner = [];
    const folded = game.size > FULL && !path.has(first);
    let node = first;
    let number = 0;
    for (; node; [node] = node.children) {
      number += 1;
      if (folded && number > 1) continue;
      row.append(button(node, false));
      if (node.comment) row.append(said(node));
      if (number > 1 && !folded) inner.push(...node.parent.children.slice(1));
    }
    if (folded && number > 1) row.append(el("span", { class: "quiet", text: `… ${number - 1} more` }));
    return [holder, inner];
  }

  function variations(nodes, path) {
    const top = el("li", { class: "variations" });
    // Without recursion: variations may be nested deeply.
    const waiting = nodes.map((node) => [node, top]).reverse();
    while (waiting.length) {
      const [node, parent] = waiting.pop();
      const [holder, inner] = variation(node, path);
      parent.append(holder);
      waiting.push(...inner.map((child) => [child, depthOf(holder) < 6 ? holder : parent]).reverse());
    }
    return top;
  }

  function depthOf(holder) {
    let depth = 0;
    for (let node = holder; node.classList?.contains("variation"); node = node.parentNode) depth += 1;
    return depth;
  }

  function build() {
    buttons = new Map();
    const path = new Set(game.path);
    const items = [];
    if (game.root.comment) items.push(el("li", { class: "said", text: game.root.comment }));
    for (const node of game.main) {
      items.push(el("li", {}, button(node, true)));
      if (node.comment) items.push(el("li", { class: "said", text: node.comment }));
      const others = node.parent.children.slice(1);
      if (others.length) items.push(variations(others, path));
    }
    box.replaceChildren(...(items.length ? items : [el("li", { class: "quiet", text: "No move made yet." })]));
  }

  function show(next, facts) {
    game = next;
    // The server knows what the moves that are shown capture.
    game.path.forEach((node, number) => {
      const captures = facts?.made[number]?.captures;
      if (!captures || node.captures?.length === captures.length) return;
      node.captures = captures;
      game.edition += captures.length ? 1 : 0;
    });
    const path = new Set(game.path);
    const key = `${game.edition} ${game.size > FULL ? game.path.filter((node) => node.parent.children.length > 1).map(({ move, ply }) => `${ply}${move}`) : ""}`;
    if (key !== shown || game.root !== root) {
      build();
      [shown, root] = [key, game.root];
    }
    const line = new Set(game.path);
    for (let node = game.next(game.here); node; node = game.next(node)) line.add(node);
    for (const [node, made] of buttons) {
      const here = node === game.here;
      made.classList.toggle("here", here);
      made.classList.toggle("later", line.has(node) && !path.has(node));
      if (here) made.setAttribute("aria-current", "step");
      else made.removeAttribute("aria-current");
      if (here) box.scrollTop = made.offsetTop - box.clientHeight / 2;
    }
    showTools();
  }

  function showTools() {
    const { here } = game;
    byId("promote").disabled = !game.isVariation;
    byId("delete").disabled = !here.parent;
    byId("mark").disabled = !here.parent;
    if (document.activeElement !== byId("comment")) byId("comment").value = here.comment;
    const known = MARKS.includes(here.marks);
    byId("mark").replaceChildren(...MARKS.map((mark) => el("option", { value: mark, text: mark || "none" })), ...(known ? [] : [el("option", { value: here.marks, text: here.marks })]));
    byId("mark").value = here.marks;
    byId("note-of").textContent = here.parent ? `about ${here.move}` : "about the start";
  }

  byId("promote").addEventListener("click", () => game.promote() && changed());
  byId("delete").addEventListener("click", () => {
    game.remove(game.here);
    changed();
  });
  // A comment belongs to the move that was shown when it was begun.
  let about = null;
  byId("comment").addEventListener("focus", () => (about = game.here));
  byId("comment").addEventListener("blur", () => (about = null));
  byId("comment").addEventListener("input", () => {
    const node = about ?? game.here;
    node.comment = byId("comment").value;
    game.edition += 1;
    changed({ quiet: true });
  });
  byId("mark").addEventListener("change", () => {
    game.here.marks = byId("mark").value;
    game.edition += 1;
    changed({ quiet: true });
  });
  return { show };
}
