// Games that this browser keeps, the newest first: those that were played here, and records that were opened.

const MOST = 30;
const LONGEST = 50000; // characters of a record that is kept as it was

export function keptGames() {
  try {
    return JSON.parse(localStorage.getItem("games") || "[]");
  } catch {
    return [];
  }
}

// `key` tells games apart, `who` is shown, `address` opens the game, `play` goes on with it, `said` is the record itself.
export function keepGame({ said = null, ...game }) {
  if (JSON.stringify(said).length <= LONGEST) game.said = said;
  let games = [{ ...game, when: Date.now() }, ...keptGames().filter(({ key }) => key !== game.key)].slice(0, MOST);
  while (games.length) {
    try {
      localStorage.setItem("games", JSON.stringify(games));
      return;
    } catch {
      games = games.slice(0, -1); // the storage is full
    }
  }
}

export const forgetGames = () => localStorage.removeItem("games");
