// @ts-check
// Small helpers for the document: elements, messages, the clipboard.

// Pages know what kind of element each of their identifiers names.
/** @type {(id: string) => any} */
export const byId = (id) => document.getElementById(id);

// Create an element with properties (`class`, `text`, `on…`, attributes) and children; text is never parsed as markup.
/** @param {string} tag @param {Record<string, any>} properties @param {(Node | string | null | undefined)[]} children @returns {any} */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const svgNS = "http://www.w3.org/2000/svg";

/** @param {string} tag @param {Record<string, any>} attributes @param {(Node | string)[]} children @returns {any} */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(svgNS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// Show a message over the page and announce it to screen readers. A press takes it away; one that is no error goes by
// itself after a while.
const GOES = 8000; // milliseconds
let going = 0;
export function say(line, kind = "") {
  const box = byId("message");
  clearTimeout(going);
  if (line && !kind) going = setTimeout(() => say(""), GOES);
  box.textContent = line;
  box.className = `message ${kind}`;
  box.hidden = !line;
}

byId("message")?.addEventListener("click", () => say(""));

export function complain(error) {
  say(error.message, "wrong");
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied.`);
  } catch {
    say("The browser does not allow copying; select the text and copy it yourself.", "wrong");
  }
}

export const several = (number, word, words = `${word}s`) => `${number} ${number === 1 ? word : words}`;
// A ply is a move of one side. The number of full moves is added for readers who count in moves.
export const plies = (number) => several(number, "ply", "plies") + (number > 1 ? ` (${several(Math.ceil(number / 2), "move")})` : "");

// Return buttons to page through a list. Pages are counted from 0, each has `size` entries, and `go(page)` shows one.
// Without `whole` the length of the list is unknown, and `all` is the number of entries found so far.
export function stepsOf(page, size, all, go, whole = true) {
  if (whole && all <= size) return [];
  const step = (name, to, off) => el("button", { type: "button", text: name, disabled: off, onclick: () => go(to) });
  const last = Math.min((page + 1) * size, all);
  return [
    step("Back", page - 1, page === 0),
    el("span", { class: "quiet", text: ` ${page * size + 1} to ${last}${whole ? ` of ${all.toLocaleString("en")}` : ""} ` }),
    step("Next", page + 1, whole && last === all),
  ];
}

const WORDS = { win: "wins", loss: "loses", draw: "draws", unresolved: "is open" };

export function verdict(wdl, dtm) {
  const names = { win: "Win", loss: "Loss", draw: "Draw", unresolved: "Unresolved" };
  return dtm === null || dtm === undefined ? names[wdl] : `${names[wdl]} in ${plies(dtm)}`;
}

// Create a coloured label with a letter, so that it can be read without its colour.
export function chip(wdl, dtm) {
  if (!wdl) return el("span", { class: "chip unknown", title: "not known", text: "?" });
  const letter = { win: "W", loss: "L", draw: "D", unresolved: "U" }[wdl];
  const words = `${WORDS[wdl]}${dtm === null || dtm === undefined ? "" : ` in ${plies(dtm)}`}`;
  const label = dtm === null || dtm === undefined ? letter : `${letter} ${dtm}`;
  return el("span", { class: `chip ${wdl}`, title: words }, el("span", { "aria-hidden": "true", text: label }), el("span", { class: "sr", text: words }));
}

// Return white's expected points, 0 to 1, from those of the side to move. Both are null if nobody has measured them.
export function whitePoints(points, turn) {
  return points === null || turn === "white" ? points : 1 - points;
}

// Return white's expected points in words, or the score if they were not measured for these rules.
export function sayPoints(score, points, turn) {
  if (points === null) return `${score > 0 ? "+" : ""}${score} for ${turn} (expected points not measured for these rules)`;
  return `White is expected to score ${Math.round(100 * whitePoints(points, turn))} % of the points`;
}
