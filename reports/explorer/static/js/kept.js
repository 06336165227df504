// @ts-check
// Games stored in this browser, newest first: games played here, and records that were opened.

const MOST = 30;
const LONGEST = 50000; // maximum number of characters of a record that is stored unchanged

export function keptGames() {
  try {
    return JSON.parse(localStorage.getItem("games") || "[]");
  } catch {
    return [];
  }
}

// `key` identifies a game, `who` is displayed, `address` opens it, `play` continues it, and `said` is its record.
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

// Delete all stored games, and return what `restoreGames` needs to store them again.
export function forgetGames() {
  const games = localStorage.getItem("games");
  localStorage.removeItem("games");
  return games;
}

export const restoreGames = (games) => localStorage.setItem("games", games);
