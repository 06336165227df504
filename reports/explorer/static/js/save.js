// A game on any page as text: copied or downloaded, in our record's form.

import { post } from "./api.js";
import { complain, copy, el } from "./dom.js";

// `said()` gives the game, its tags, and its result where the board does not show it.
export function saveGame(box, said) {
  const text = async () => {
    const { game, tags = {}, result = null } = said();
    return post("/api/save", game.asked({ tags, result }), { text: true });
  };
  const button = (name, act) =>
    el("button", {
      type: "button",
      text: name,
      onclick: async () => {
        try {
          act(await text());
        } catch (error) {
          complain(error);
        }
      },
    });
  box.replaceChildren(
    button("Copy the game", (record) => copy(record, "Game")),
    button("Download it", (record) => {
      const address = URL.createObjectURL(new Blob([record], { type: "text/plain" }));
      el("a", { href: address, download: "tablut-game.txt" }).click();
      URL.revokeObjectURL(address);
    }),
  );
}
