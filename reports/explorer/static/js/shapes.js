// @ts-check
// The shapes of a board, as in `tablut/svg.py`, and the names of its squares.

import { svg } from "./dom.js";

export const FILES = "abcdefghijklmnopqrstuvwxyz";
export const PIECES = { b: "attacker", w: "defender", K: "king" };
export const KINDS = { T: "castle", "*": "escape", X: "corner", ".": "ordinary", "+": "ordinary" };

export const squareName = (square, size) => FILES[square % size] + (Math.floor(square / size) + 1);
export const squareOf = (name, size) => FILES.indexOf(name[0]) + size * (Number(name.slice(1)) - 1);
export const endsOf = (move) => move.split("-");

// Return the pieces of a position in this toolkit's text, from a1 on.
export function cellsOf(position) {
  const rows = position.split(" ")[0].split("/").map((row) => row.replace(/\d+/g, (count) => ".".repeat(Number(count))));
  return rows.reverse().join("");
}

// Return the side that a piece belongs to; "" for an empty square.
export const sideOf = (piece) => ({ b: "black", w: "white", K: "white" })[piece] || "";

function star(x, y, radius) {
  const points = [];
  for (let corner = 0; corner < 10; corner += 1) {
    const reach = corner % 2 === 0 ? radius : radius * 0.42;
    const angle = (Math.PI * corner) / 5 - Math.PI / 2;
    points.push(`${x + reach * Math.cos(angle)} ${y + reach * Math.sin(angle)}`);
  }
  return `M${points.join("L")}z`;
}

// Return a square of the board with the sign of its kind.
export function cellShapes(kind, x, y) {
  const paths = {
    castle: `M${x - 0.3} ${y - 0.3}l.6 .6m0 -.6l-.6 .6`,
    camp: `M${x - 0.2} ${y + 0.16}h.4l-.2 -.36z`,
    escape: star(x, y, 0.22),
    corner: star(x, y, 0.36),
  };
  const cell = svg("rect", { class: `cell ${kind}`, x: x - 0.5, y: y - 0.5, width: 1, height: 1 });
  return paths[kind] ? [cell, svg("path", { class: `sign ${kind}`, d: paths[kind] })] : [cell];
}

export function manShape(piece, x, y, square) {
  const group = svg("g", { class: `man ${PIECES[piece]}`, "data-at": square });
  group.append(svg("circle", { cx: x, cy: y, r: 0.37 }));
  if (piece === "K") group.append(svg("path", { d: `M${x} ${y - 0.24}v.48M${x - 0.24} ${y}h.48` }));
  return group;
}

// Return the sign on a square that a move reaches, and its distance to the end if that is known.
export function targetShapes(move, x, y) {
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

export function arrowShape(from, to, kind = "") {
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
