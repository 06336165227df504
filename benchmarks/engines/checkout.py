"""``python benchmarks/engines/checkout.py DIR``: the engine of an older checkout, as a program that plays matches.

Speaks the few lines that `tablut match program:…` needs, over the packages of the checkout at DIR,
also of commits that had no ``tablut engine`` yet. Whatever they print or refuse is theirs.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


class Older:
    """The player ``alphabeta`` of a checkout, under the names of its time."""

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
            # Until the packages were put under `tablut.play`.
            self._players, limits = import_module("tablut.players"), import_module("tablut.search.limits")
            self._limits = limits.Limits
        self._variant, self._hash = "ashton", 64
        self._player: Any = None
        self._board = self._board_of(self._variant)
        self._begun, self._moves = (self._variant, "startpos"), list[str]()

    def set_option(self, name: str, value: str) -> None:
        """Take the rules, or the memory for transpositions in MiB."""
        if name == "variant":
            self._variant = value
        else:
            self._hash = int(value)
        self._player = None

    def get_ready(self) -> None:
        """Make a player that knows nothing of earlier games, if there is none, and load what would be loaded late."""
        if self._player is None:
            options = self._players.PlayerOptions(hash_mib=self._hash)
            board = self._board_of(self._variant)
            self._player = self._players.make_player("alphabeta", board.variant, options)
            # The first move of all takes seconds on a busy machine, for what it imports.
            board.push_text(str(next(iter(board.legal_moves))))
            self._player.choose(board, self._limits(nodes=1))
            self._player = self._players.make_player("alphabeta", board.variant, options)

    def forget(self) -> None:
        """Begin a new game."""
        self._player = None

    def set_up(self, words: list[str]) -> None:
        """Take a game."""
        end = words.index("moves") if "moves" in words else len(words)
        start, moves = " ".join(words[:end]), words[end + 1 :]
        known = len(self._moves)
        if (self._variant, start) != self._begun or moves[:known] != self._moves:
            self._board = self._board_of(self._variant, None if start == "startpos" else start)
            self._begun, known = (self._variant, start), 0
        # Of a game that goes on, only what is new: to make all moves again would take time from its own.
        for move in moves[known:]:
            self._board.push_text(move)
        self._moves = moves

    def go(self, words: list[str]) -> Any:
        """Return the player's choice."""
        said = {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
        movetime = said["movetime"] / 1000 if "movetime" in said else None
        limits = self._limits(movetime=movetime, nodes=said.get("nodes"), depth=said.get("depth"))
        self.get_ready()
        return self._player.choose(self._board, limits)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main() -> None:
    """Obey lines until ``quit`` or their end."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python benchmarks/engines/checkout.py DIR")
    # Before anything that the packages print: standard output is the protocol's.
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
