// @ts-check
// Endings: tablebase positions by value and material. Each opens on the board and shows its moves' values.

import { Asks } from "./asks.js";
import { byId, chip, complain, el, plies, several, stepsOf } from "./dom.js";
import { Game } from "./game.js";
import { miniBoard, terrainOf } from "./mini.js";

const PAGE = 24;
const MOST = 100000; // the largest number of positions that the server can skip
const KINDS = {
  "longest-win": { wdl: "win", order: "longest" },
  "longest-loss": { wdl: "loss", order: "longest" },
  draw: { wdl: "draw", order: "index" },
  full: { zugzwang: "full", order: "longest" },
  half: { zugzwang: "half", order: "longest" },
  all: { order: "longest" },
};
const asks = new Asks();
let asking = null;
let table = null;
let page = 0; // from 0 on

function named(material) {
  const [attackers, defenders] = material.split("v").map(Number);
  return `${several(attackers, "attacker")}, ${several(defenders, "defender")}`;
}

async function choose(button) {
  table = button.dataset;
  for (const other of document.querySelectorAll("#tables button")) other.setAttribute("aria-pressed", String(other === button));
  const about = /** @type {HTMLElement} */ (document.querySelector(`#materials [data-table="${CSS.escape(table.table)}"]`));
  byId("table-name").textContent = table.table;
  byId("material").replaceChildren(el("option", { value: "", text: "any" }), ...about.textContent.trim().split(/\s+/).map((material) => el("option", { value: material, text: named(material) })));
  byId("material").value = about.dataset.first;
  byId("walk").replaceChildren(
    ...(about.dataset.whole ? [el("a", { class: "button main", href: new Game({ variant: table.variant }).address("/board"), text: "Explore from the start" })] : []),
  );
  byId("query").hidden = false;
  await ask();
}

async function ask(to = 0) {
  page = to;
  const said = new URLSearchParams(KINDS[byId("kind").value]);
  if (byId("to-move").value) said.set("side", byId("to-move").value);
  if (byId("material").value) said.set("material", byId("material").value);
  said.set("most", String(PAGE));
  said.set("skip", String(page * PAGE));
  const address = new URLSearchParams({ table: table.table, kind: byId("kind").value, side: byId("to-move").value, material: byId("material").value });
  if (page) address.set("page", String(page));
  history.replaceState(null, "", `/endings?${address}`);
  const mine = (asking = {});
  byId("positions").setAttribute("aria-busy", true); // they answer the previous question
  try {
    const found = await asks.get("list", `/api/endings/${encodeURIComponent(table.table)}?${said}`, { line: byId("found"), words: "Looking …", again: () => ask(to) });
    const terrain = found && (await terrainOf(found.variant));
    if (asking !== mine) return;
    if (found) show(found, terrain);
    else clear();
  } catch (error) {
    clear();
    complain(error);
  }
}

function clear() {
  byId("positions").removeAttribute("aria-busy");
  for (const name of ["positions", "pages"]) byId(name).replaceChildren();
}

function show(found, terrain) {
  byId("positions").removeAttribute("aria-busy");
  const depth = found.at_least ? ` of at least ${plies(found.at_least)}` : "";
  byId("found").textContent = found.found ? `${found.found.toLocaleString("en")} positions${depth}, up to symmetry${found.found > MOST ? `; the first ${MOST.toLocaleString("en")} can be shown` : ""}.` : "There are no such positions.";
  byId("pages").replaceChildren(...stepsOf(page, PAGE, Math.min(found.found, MOST), ask, !found.at_least));
  byId("positions").replaceChildren(
    ...found.positions.map((one) => {
      const turn = one.position.split(" ")[1] === "w" ? "White" : "Black";
      return el("li", {}, el("a", { href: new Game({ variant: found.variant, position: one.position }).address("/board") },
        miniBoard(terrain, one.position),
        chip(one.wdl, one.dtm),
        el("span", { class: "quiet", text: `${turn} to move` }),
      ));
    }),
  );
}

for (const button of document.querySelectorAll("#tables button")) {
  button.addEventListener("click", async () => {
    await choose(button);
    byId("query").scrollIntoView({ block: "start" });
  });
}
for (const id of ["kind", "to-move", "material"]) byId(id).addEventListener("change", () => ask());

const asked = new URLSearchParams(location.search);
const buttons = [...document.querySelectorAll("#tables button")];
const first = buttons.find((button) => button.getAttribute("data-table") === asked.get("table")) || buttons[0];
if (first) {
  if (asked.get("kind") in KINDS) byId("kind").value = asked.get("kind");
  if (asked.get("side")) byId("to-move").value = asked.get("side");
  const material = asked.get("material");
  await choose(first);
  if (material !== null && [...byId("material").options].some((option) => option.value === material)) {
    byId("material").value = material;
    await ask(Number(asked.get("page")) || 0);
  }
}
