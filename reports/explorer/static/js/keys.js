// @ts-check
// Keys for the steps of a game. They work wherever the focus is, except in text fields.

import { byId } from "./dom.js";

const TEXT = "textarea, input:not([type=radio], [type=checkbox], [type=range], [type=file])";
const CHOICES = "select, input"; // they have other keys than ← and → to choose with
const SIDEWAYS = ["ArrowLeft", "ArrowRight"];

// `does` contains what each button of a page does, by the button's name, and `keys` the name for each key.
export function onKeys(keys, does) {
  addEventListener("keydown", (event) => {
    const { key } = event;
    const target = /** @type {Element} */ (event.target);
    const name = keys[key];
    if (!name || event.ctrlKey || event.metaKey || event.altKey || target.closest(TEXT) || document.querySelector("dialog[open]")) return;
    if (target.closest(CHOICES) && !SIDEWAYS.includes(key)) return;
    if (!byId(name).getClientRects().length) return; // nothing to step through is shown
    event.preventDefault();
    if (!byId(name).disabled) does[name]();
  });
}
