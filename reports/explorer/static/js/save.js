// @ts-check
// Copying or downloading a game as text, in this toolkit's format or, if OpenTafl supports the rules, in OpenTafl's.

import { Asks } from "./asks.js";
import { complain, copy, el } from "./dom.js";

// `said()` returns the game, the game up to the position shown if that differs, its tags, its result if the board does not show it, and `write(text)`, which completes the
// text of a record, for example by variations. Call the returned function with
// the facts about each position that is displayed.
export function saveGame(box, said) {
  const asks = new Asks(); // what is saved is the game as it was when the button was pressed
  const text = async (form) => {
    const { game, tags = {}, result = null, write = (record) => record } = said();
    const record = await asks.post("save", "/api/save", game.asked({ tags, result, form }), { text: true });
    return record === null || form === "opentafl" ? record : write(record);
  };
  const fetched = (name, blob) => {
    const address = URL.createObjectURL(blob);
    el("a", { href: address, download: name }).click();
    URL.revokeObjectURL(address);
  };
  const download = (name) => (record) => fetched(name, new Blob([record], { type: "text/plain" }));
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
  const line = el("span", { role: "status" });
  const picture = (name, file, animated) => {
    const node = el("button", { type: "button", text: name });
    node.addEventListener("click", async () => {
      try {
        const { game, shown = game } = said();
        const asked = animated ? game.asked({ moves: shown.line ?? game.moves }) : shown.asked();
        const found = await asks.post("picture", "/api/picture", { ...asked, animated }, { file: true, line, words: "Drawing …", button: node });
        if (found) fetched(file, found);
      } catch (error) {
        complain(error);
      }
    });
    return node;
  };
  const share = el("details", { class: "share" }, el("summary", { text: "Share" }), el("div", { class: "steps" },
    el("button", { type: "button", text: "Copy the address", onclick: () => copy(location.href, "Address") }),
    picture("Picture (PNG)", "tablut-position.png", false),
    picture("Animation (GIF)", "tablut-game.gif", true),
    line,
  ));
  const foreign = button("For OpenTafl", download("tablut-game.otg"), "opentafl");
  const why = el("span", { class: "quiet", hidden: true });
  foreign.hidden = true;
  box.replaceChildren(button("Copy the game", (record) => copy(record, "Game")), button("Download it", download("tablut-game.txt")), button("PGN", download("tablut-game.pgn"), "pgn"), foreign, why, share);
  return ({ opentafl_lacks: lacks }) => {
    foreign.hidden = Boolean(lacks);
    why.hidden = !lacks;
    why.textContent = lacks ? `Not for OpenTafl: ${lacks}.` : "";
  };
}
