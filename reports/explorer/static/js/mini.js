// @ts-check
// A small static board for lists.

import { Asks } from "./asks.js";
import { BoardView } from "./board.js";
import { el } from "./dom.js";
import { cellsOf } from "./shapes.js";

const asks = new Asks();
const grounds = new Map();

// Return the terrain of a built-in rule set; it is fetched only once.
export async function terrainOf(variant) {
  if (!grounds.has(variant)) grounds.set(variant, asks.post(variant, "/api/rules", { variant }));
  try {
    return (await grounds.get(variant)).terrain;
  } catch (error) {
    grounds.delete(variant); // ask again the next time
    throw error;
  }
}

export function miniBoard(terrain, position, marked = {}) {
  const holder = el("span", { class: "mini board", "aria-hidden": "true" });
  const view = new BoardView(holder, { coordinates: Boolean(marked.coordinates) });
  view.setTerrain(terrain);
  view.show({ cells: cellsOf(position), locked: true, ...marked });
  view.squares.remove();
  return holder;
}
