// @ts-check
// Reading and writing a tree of moves as the text of a record: variations in parentheses, comments in braces.

import { TreeGame } from "./tree.js";

const DEEPEST = 100; // variations within variations
const MOVE = /^([a-z]\d{1,2})[-–x:]?([a-z]\d{1,2})/;
const MARKS = /^(?:[!?]{1,2}|\$\d{1,3})$/;
const ESCAPE = /\\(?:u(?!d[89a-f])([0-9a-f]{4})|([n"\\{}]))/g;

/** @param {string} text */
const unescaped = (text) => text.replace(ESCAPE, (_, code, sign) => (code ? String.fromCharCode(parseInt(code, 16)) : sign === "n" ? "\n" : sign));

/** @param {string} text */
function escaped(text) {
  const whole = text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
  return whole.trim().replace(/[\\{}\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/g, (sign) => (sign === "\n" ? "\\n" : sign === "\\" ? "\\\\" : `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`));
}

// Return the end of a comment that begins at a place; braces may be nested unless they then do not end.
/** @param {string} text @param {number} start */
function endOfComment(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "{") depth += 1;
    else if (text[at] === "}" && --depth === 0) return at;
  }
  const flat = text.indexOf("}", start);
  return flat < 0 ? text.length : flat;
}

// Read the moves of a variation into the tree, from a node on. Return the number of words that are no moves.
/** @param {TreeGame} game @param {import("./tree.js").Node} from @param {string} text */
function readVariation(game, from, text) {
  let unread = 0;
  let node = from;
  const outer = []; // the nodes to go back to at the end of a variation
  const words = /\{|\(|\)|;[^\n]*|[!?]{1,2}|\$\d{1,3}|[^\s{}()!?$;]+/g;
  for (let found = words.exec(text); found; found = words.exec(text)) {
    const [word] = found;
    if (word === "{") {
      const end = endOfComment(text, found.index);
      const said = unescaped(text.slice(found.index + 1, end).trim());
      // Before the first move of a variation, a comment is about the position that it starts from.
      if (node !== from) node.comment = [node.comment, said].filter(Boolean).join(" ");
      words.lastIndex = end + 1;
    } else if (word === "(") {
      if (outer.length >= DEEPEST) throw new Error(`variations are nested more than ${DEEPEST} deep`);
      outer.push(node);
      node = node.parent ?? node;
    } else if (word === ")") node = outer.pop() ?? node;
    else if (MARKS.test(word)) node.marks = [node.marks, word].filter(Boolean).join(" ");
    else if (word[0] === ";") node.comment = [node.comment, word.slice(1).trim()].filter(Boolean).join(" ");
    else {
      const bare = word.replace(/^\d+(?:\.+|…)/, "");
      const move = MOVE.exec(bare);
      if (move) node = game.add(`${move[1]}-${move[2]}`, node);
      else if (bare && bare !== "*" && !/^\d+$/.test(bare)) unread += 1;
    }
  }
  return unread;
}

// Fill a game with what the server read from a record. Return notes about what could not be read.
/** @param {TreeGame} game @param {any} record */
export function takeRecord(game, record) {
  game.clear();
  Object.assign(game, { tags: record.tags, result: record.result });
  const line = [game.root];
  for (const { move } of record.moves) line.push(game.add(move, line[line.length - 1]));
  line.forEach((node, ply) => Object.assign(node, { comment: record.comments[ply] ?? "", marks: record.marks[ply] ?? "" }));
  const notes = [];
  for (const [ply, text] of record.variations) {
    const at = line[Math.max(ply - 1, 0)];
    if (!at || ply >= line.length) continue;
    try {
      const unread = readVariation(game, at, text);
      if (unread) notes.push(`${unread} word${unread === 1 ? "" : "s"} of the variation after ply ${ply} could not be read.`);
    } catch (error) {
      notes.push(`The variation after ply ${ply} was not read whole: ${error.message}.`);
    }
  }
  return notes;
}

// Return the moves of a tree as words, numbered like the server's text of its main line.
/** @param {TreeGame} game @param {number} number @param {boolean} second */
function movesOf(game, number, second) {
  const words = [];
  let broken = true; // whether the next move needs its number
  const note = (node) => {
    if (node.marks) words.push(...node.marks.split(" "));
    if (node.comment.trim()) words.push(`{${escaped(node.comment)}}`);
    return Boolean(node.comment.trim());
  };
  const one = (node) => {
    const place = node.ply - 1 + (second ? 1 : 0);
    if (place % 2 === 0) words.push(`${number + place / 2}.`);
    else if (broken) words.push(`${number + (place - 1) / 2}...`);
    words.push(node.move);
    broken = note(node);
  };
  // What is still to be written, the next part last: nodes, nodes whose children follow, and parentheses.
  const waiting = [];
  const follow = (parent) => {
    const [main, ...others] = parent.children;
    if (!main) return;
    waiting.push({ below: main });
    for (const other of others.reverse()) waiting.push(")", { below: other }, { move: other }, "(");
    waiting.push({ move: main });
  };
  note(game.root);
  follow(game.root);
  while (waiting.length) {
    const part = waiting.pop();
    if (part.move) one(part.move);
    else if (part.below) follow(part.below);
    else {
      words.push(part);
      broken = true;
    }
  }
  return words;
}

// Join words to lines. A comment is one word, so that it keeps its blanks.
/** @param {string[]} words */
function lines(words) {
  let text = "";
  let width = 0;
  words.forEach((word, at) => {
    const tight = !at || words[at - 1] === "(" || word === ")" || /^[!?]/.test(word);
    const gap = tight ? "" : width + word.length > 100 ? "\n" : " ";
    width = gap === "\n" ? word.length : width + gap.length + word.length;
    text += gap + word;
  });
  return text;
}

// Put the variations, comments and marks of a tree into the text that the server wrote of its main line.
/** @param {TreeGame} game @param {string} text */
export function withTree(game, text) {
  const at = text.indexOf("\n\n");
  const [head, moves] = [text.slice(0, at + 2), text.slice(at + 2)];
  const first = /^(\d+)(\.+)/m.exec(moves);
  const result = moves.trim().split(/\s+/).at(-1);
  const words = movesOf(game, first ? Number(first[1]) : 1, first?.[2] === "...");
  return `${head}${lines(words)}${words.length ? "\n" : ""}${result}\n`;
}

// -- the tree that is worked on, kept in this tab ---------------------------------------------------

const rootOf = (game) => JSON.stringify([game.rules ?? game.variant, game.position ?? ""]);
let kept = "";

/** @param {TreeGame} game */
export function keepTree(game) {
  const key = `${rootOf(game)} ${game.edition}`;
  if (key === kept) return;
  kept = key;
  try {
    const { tags, result } = game;
    sessionStorage.setItem("tree", JSON.stringify({ root: rootOf(game), list: game.store(), tags, result }));
  } catch {
    sessionStorage.removeItem("tree"); // it is too large; its main line is still in the address
  }
}

// Take the kept tree if it contains the moves of the address.
/** @param {TreeGame} game */
export function restoreTree(game) {
  const { moves } = game;
  try {
    const { root, list, tags, result } = JSON.parse(sessionStorage.getItem("tree") || "{}");
    if (root !== rootOf(game) || !list) return;
    const other = new TreeGame({ variant: game.variant, rules: game.rules, position: game.position });
    other.restore(list);
    for (const move of moves) {
      const next = other.here.children.find((child) => child.move === move);
      if (!next) return;
      other.show(next);
    }
    Object.assign(game, { root: other.root, here: other.here, size: other.size, tags, result });
  } catch {
    sessionStorage.removeItem("tree");
  }
}
