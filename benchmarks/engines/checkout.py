"""``python benchmarks/engines/checkout.py DIR``: run an older checkout's engine as a program that plays matches.

The program implements the part of the protocol that `tablut match program:…` uses, on top of the packages from the
checkout at DIR. It also works for commits that do not yet have ``tablut engine``. Any other output, and any errors,
come from these packages.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


class Older:
    """The player ``alphabeta`` from a checkout, imported from whichever modules the checkout has."""

    def __init__(self, folder: Path) -> None:
        sys.path.insert(0, str(folder))
        package = import_module("tablut")
        if folder not in Path(str(package.__file__)).parents:
            raise SystemExit(f"checkout {folder}: has no package tablut; found {package.__file__}")
        self._board_of = package.Board
        try:
            self._players, limits = import_module("tablut.play.players"), import_module("tablut.play.search.limits")
            self._limits: Any = limits.SearchLimits
        except ModuleNotFoundError:
            # This is an older checkout, where the packages are not yet under `tablut.play`.
            self._players, limits = import_module("tablut.players"), import_module("tablut.search.limits")
            self._limits = limits.Limits
        self._variant, self._hash = "ashton", 64
        self._player: Any = None
        self._board = self._board_of(self._variant)
        self._begun, self._moves = (self._variant, "startpos"), list[str]()

    def set_option(self, name: str, value: str) -> None:
        """Set the variant, or the size of the transposition table in MiB."""
        if name == "variant":
            self._variant = value
        else:
            self._hash = int(value)
        self._player = None

    def get_ready(self) -> None:
        """Create a player with no memory of earlier games if there is none yet, and trigger all lazy loading."""
        if self._player is None:
            options = self._players.PlayerOptions(hash_mib=self._hash)
            board = self._board_of(self._variant)
            self._player = self._players.make_player("alphabeta", board.variant, options)
            # The first move takes seconds on a busy machine, because of lazy imports.
            board.push_text(str(next(iter(board.legal_moves))))
            self._player.choose(board, self._limits(nodes=1))
            self._player = self._players.make_player("alphabeta", board.variant, options)

    def forget(self) -> None:
        """Prepare for a new game by discarding the player."""
        self._player = None

    def set_up(self, words: list[str]) -> None:
        """Set up the game given by the arguments of ``position``."""
        end = words.index("moves") if "moves" in words else len(words)
        start, moves = " ".join(words[:end]), words[end + 1 :]
        known = len(self._moves)
        if (self._variant, start) != self._begun or moves[:known] != self._moves:
            self._board = self._board_of(self._variant, None if start == "startpos" else start)
            self._begun, known = (self._variant, start), 0
        # If the game continues, make only the new moves, because repeating all moves would cost thinking time.
        for move in moves[known:]:
            self._board.push_text(move)
        self._moves = moves

    def go(self, words: list[str]) -> Any:
        """Return the player's choice under the limits given by the arguments of ``go``."""
        said = {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
        movetime = said["movetime"] / 1000 if "movetime" in said else None
        limits = self._limits(movetime=movetime, nodes=said.get("nodes"), depth=said.get("depth"))
        self.get_ready()
        return self._player.choose(self._board, limits)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main() -> None:
    """Process protocol lines from standard input until ``quit`` or end of input."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python benchmarks/engines/checkout.py DIR")
    # Load the packages before the protocol starts, so that their output does not mix with the protocol's.
    engine = Older(Path(sys.argv[1]).resolve())
    for line in sys.stdin:
        match line.split():
            case ["uci"]:
                _say(f"id name tablut of {sys.argv[1]}", "option name variant type string default ashton")
                _say("option name hash type spin default 64 min 1 max 65536", "uciok")
            case ["setoption", "name", name, "value", *value]:
                engine.set_option(name, " ".join(value))
            case ["ucinewgame"]:
                engine.forget()
            case ["isready"]:
                engine.get_ready()
                _say("readyok")
            case ["position", *words]:
                engine.set_up(words)
            case ["go", *words]:
                found = engine.go(words)
                _say(f"info depth {found.depth} score cp {found.score} nodes {found.nodes}", f"bestmove {found.move}")
            case ["quit"]:
                break


if __name__ == "__main__":
    main()
