// @ts-check
// The dialog with a game's rules in words and pictures, which the server generates from the rule fields.

import { Asks } from "./asks.js";
import { byId, complain, el } from "./dom.js";
import { miniBoard } from "./mini.js";

/** @param {any} asks @param {{rules?: string | null, variant?: string}} game */
export const rulesOf = (asks, { rules, variant }) => asks.post("rules", "/api/rulebook", rules ? { rules } : { variant });

const picture = ({ terrain, position, arrows, taken, heading, said }) =>
  el("figure", {}, miniBoard(terrain, position, { arrows: arrows.map((move) => [move]), marks: taken, coordinates: true }), el("figcaption", {}, `${heading}: `, el("strong", { text: said })));

const point = ({ name, said, pictures }, deciding) =>
  el("section", { "data-point": name, class: deciding.includes(name) ? "decides" : null },
    el("p", {}, said, deciding.includes(name) ? el("strong", { class: "badge", text: " decides this puzzle" }) : null),
    pictures.length ? el("div", { class: "scenes" }, ...pictures.map(picture)) : null,
  );

// Show the value of each rule field of a rule set.
function showFields(box, { fields, meanings }) {
  const said = (value) => (value === null ? "none" : Array.isArray(value) ? `[${value.join(", ")}]` : String(value));
  box.replaceChildren(...Object.entries(fields).flatMap(([name, value]) => [el("dt", {}, el("code", { text: name }), ` ${meanings[name] || ""}`), el("dd", {}, el("code", { text: said(value) }))]));
}

// `game()` is called when the dialog is opened; `deciding()` returns the points to mark.
export function rulebook(game, deciding = () => []) {
  const asks = new Asks();
  const dialog = byId("rulebook");
  byId("rulebook-close").addEventListener("click", () => dialog.close());
  byId("rules-open").addEventListener("click", async () => {
    try {
      const { rules, variant } = game();
      const book = await rulesOf(asks, game());
      if (!book || game().rules !== rules || game().variant !== variant) return; // other rules have been chosen
      byId("rulebook-title").textContent = book.title || book.variant;
      byId("rulebook-told").replaceChildren(
        el("p", { class: "quiet", text: `${book.source}${book.source ? ". " : ""}An arrow is a move, or shows how far a piece may go; what a move captures is framed.` }),
        ...book.chapters.flatMap(({ title, points }) => [el("h3", { text: title }), ...points.map((one) => point(one, deciding()))]),
      );
      showFields(byId("rule-fields"), game().described);
      dialog.showModal();
      dialog.scrollTop = 0;
    } catch (error) {
      complain(error);
    }
  });
}
