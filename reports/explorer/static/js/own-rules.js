// @ts-check
// The dialog for custom rules: a file or text, checked by the server, and stored in the page address.

import { Asks } from "./asks.js";
import { byId } from "./dom.js";

export const OWN = " own";
const MOST = 65536;

// `taken(text)` is called with rules that the server accepted, and `closed()` whenever the dialog closes.
export function ownRules(taken, closed) {
  const asks = new Asks();
  const wrong = (line) => (byId("own-wrong").textContent = line);
  byId("own-file").addEventListener("change", async () => {
    const [file] = byId("own-file").files;
    wrong("");
    if (file && file.size > MOST) wrong(`The file has ${file.size.toLocaleString("en")} bytes; at most 65,536 are read.`);
    else if (file) byId("own-text").value = await file.text();
  });
  byId("own-take").addEventListener("click", async () => {
    const text = byId("own-text").value;
    try {
      if (!(await asks.post("rules", "/api/rules", { rules: text }, { line: byId("own-wrong"), words: "Reading …" }))) return;
    } catch (error) {
      wrong(error.message);
      return;
    }
    wrong("");
    taken(text);
    byId("own-rules").close();
  });
  byId("own-leave").addEventListener("click", () => byId("own-rules").close());
  byId("own-rules").addEventListener("close", () => {
    asks.change();
    closed();
  });
  return () => byId("own-rules").showModal();
}
