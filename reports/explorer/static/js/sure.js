// @ts-check
// Buttons that end something: they ask for a second press, so that an accidental one does nothing.

import { byId } from "./dom.js";

// Return an object whose `isSure(event)` tells whether a click is the second one. If not, the button asks for it, until
// something else is pressed or `forget` is called. `what` is read out.
export function asksTwice(button, what) {
  const label = button.textContent;
  let asked = false;
  const set = (on) => {
    if (on === asked) return;
    asked = on;
    button.textContent = on ? `${label}: sure?` : label;
    if (on) byId("live").textContent = `Press again to ${what}.`;
  };
  const forget = () => set(false);
  addEventListener("pointerdown", (event) => event.target === button || forget());
  button.addEventListener("blur", forget);
  const isSure = (event) => {
    const sure = asked && event.detail < 2; // the second click of a double click is no answer
    set(!sure);
    return sure;
  };
  return { isSure, forget };
}
