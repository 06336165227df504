// Copying or downloading a game as text, in this toolkit's format or, if OpenTafl supports the rules, in OpenTafl's.

import { Asks } from "./asks.js";
import { complain, copy, el } from "./dom.js";

// `said()` returns the game, its tags, its result if the board does not show it, and `write(text)`, which completes the
// text of a record, for example by variations. Call the returned function with
// the facts about each position that is displayed.
export function saveGame(box, said) {
  const asks = new Asks(); // what is saved is the game as it was when the button was pressed
  const text = async (form) => {
    const { game, tags = {}, result = null, write = (record) => record } = said();
    const record = await asks.post("save", "/api/save", game.asked({ tags, result, form }), { text: true });
    return record === null || form === "opentafl" ? record : write(record);
  };
  const download = (name) => (record) => {
    const address = URL.createObjectURL(new Blob([record], { type: "text/plain" }));
    el("a", { href: address, download: name }).click();
    URL.revokeObjectURL(address);
  };
  const button = (name, act, form = "tablut") =>
    el("button", {
      type: "button",
      text: name,
      onclick: async () => {
        try {
          const record = await text(form);
          if (record !== null) act(record);
        } catch (error) {
          complain(error);
        }
      },
    });
  const foreign = button("For OpenTafl", download("tablut-game.otg"), "opentafl");
  const why = el("span", { class: "quiet", hidden: true });
  foreign.hidden = true;
  box.replaceChildren(button("Copy the game", (record) => copy(record, "Game")), button("Download it", download("tablut-game.txt")), button("PGN", download("tablut-game.pgn"), "pgn"), foreign, why);
  return ({ opentafl_lacks: lacks }) => {
    foreign.hidden = Boolean(lacks);
    why.hidden = !lacks;
    why.textContent = lacks ? `Not for OpenTafl: ${lacks}.` : "";
  };
}
