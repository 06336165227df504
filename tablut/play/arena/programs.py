"""Programs as players: whatever speaks the engine's line protocol over pipes.

``program:COMMAND`` is any program that understands the few lines of docs/engine-protocol.md.
Its answer counts only if it is a legal move. A program that is late, unreadable or gone loses
its game as any player at fault does, and is ended.

A process serves one game after the other, told of each new one by ``ucinewgame``, so that a
match does not pay for its start every time; it ends with the match.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tablut.errors import InputError
from tablut.files import excerpt
from tablut.formats.reading import read_move
from tablut.play.arena.game import UnreadableMoveError
from tablut.play.arena.processes import IdlePrograms
from tablut.play.players import Choice
from tablut.play.players.options import Setting, read_settings
from tablut.play.search.scores import MATE
from tablut.variants.library import shipped_name

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.play.players import PlayerOptions
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move
    from tablut.variants import Variant

__all__ = ["ProgramPlayer"]

_LATE: Final = 5.0
"""Seconds after its time in which a late answer is still waited for: it loses, but the process can be used again."""
_PATIENCE: Final = "patience"
_SETTINGS: Final = {_PATIENCE: Setting(600.0, least=0.01, most=1e6)}
"""Of the player itself, not of the program: seconds for what has no time of its own."""
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}", re.ASCII)


class ProgramPlayer:
    """A program at the board, for one game.

    Parameters
    ----------
    command : str
        Of the program.
    variant : Variant
        The rule set: one that ships, since the program is told its name. For others, the
        setting ``variant`` names what the program knows.
    options : PlayerOptions
        Memory, seed and tables are passed on to a program that says it has such options; each
        setting is an option of the program's own. ``patience`` is ours: seconds to wait
        for what has no time of its own.
    idle : IdlePrograms, optional
        Where its process comes from, and goes after the game; by default it ends with the game.

    Raises
    ------
    InputError
        If the program cannot be started, does not speak the protocol, or has no such option.
    """

    def __init__(
        self, command: str, variant: Variant, options: PlayerOptions, idle: IdlePrograms | None = None
    ) -> None:
        self._command, self._size = command, variant.size
        own = options._replace(settings=tuple(pair for pair in options.settings if pair[0] == _PATIENCE))
        self._patience = float(read_settings("program", own, _SETTINGS)[_PATIENCE])
        self._start = variant.start_position
        self._own_idle = idle is None
        self._idle = IdlePrograms() if idle is None else idle
        self._process, new = self._idle.take(command)
        self._good = False
        try:
            if new:
                self._process.ask("uci\n", "uciok", self._patience)
            self._process.ask(
                "".join(self._told(variant, options)) + "ucinewgame\nisready\n", "readyok", self._patience
            )
        except (ChildProcessError, TimeoutError) as error:
            self.close()
            raise InputError(f"program {excerpt(command)}: {error}") from error
        except InputError:
            self.close()
            raise
        self._good = True

    def _told(self, variant: Variant, options: PlayerOptions) -> list[str]:
        """Return the lines that set the program up."""
        said = {name: value for name, value in options.settings if name != _PATIENCE}
        known = self._process.options
        if unknown := sorted(name for name in said if name.lower() not in known and name != "variant"):
            raise InputError(f"program {excerpt(self._command)}: has no option {excerpt(unknown[0])}")
        name = said.pop("variant", None) or shipped_name(variant)
        if name is None:
            raise InputError(
                f"program {excerpt(self._command)}: cannot be told the rules of {variant.name}, which do not ship; "
                f"say what it calls them: option.variant=NAME"
            )
        if options.threads != 1 and "threads" not in known:
            raise InputError(f"program {excerpt(self._command)}: has no option threads")
        shared = {
            "hash": options.hash_mib,
            "seed": options.seed,
            "table_memory": options.table_mib,
            "threads": options.threads,
        }
        if options.tablebase is not None:
            shared["tables"] = options.tablebase  # type: ignore[assignment]
        lines = {"variant": name} | {key: str(value) for key, value in shared.items() if key in known} | said
        return [f"setoption name {key} value {' '.join(value.split())}\n" for key, value in lines.items()]

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the program's move.

        Parameters
        ----------
        board : Board
            The game; not changed.
        limits : SearchLimits
            At least one.

        Returns
        -------
        Choice
            The move, which may be illegal, and what the program's last ``info`` line says of it.

        Raises
        ------
        UnreadableMoveError
            If the answer is no move.
        ChildProcessError
            If the program has ended, or writes what no program should.
        TimeoutError
            If no answer comes.
        """
        go = [
            f"{name} {value}"
            for name, value in (("nodes", limits.nodes), ("depth", limits.depth), ("playouts", limits.playouts))
            if value is not None
        ]
        if limits.movetime is not None:
            # At least one: a search of no time is none.
            go.insert(0, f"movetime {max(1, int(limits.movetime * 1000))}")
        seconds = self._patience if limits.movetime is None else limits.movetime + _LATE
        self._good = False
        answer = self._process.ask(f"position {self._game(board)}\ngo {' '.join(go)}\n", "bestmove", seconds)
        words = answer.text.split()
        try:
            move = read_move(words[1], self._size).said.move
        except (InputError, IndexError):
            raise UnreadableMoveError(f"answered {excerpt(answer.text)}") from None
        self._good = True
        return _choice(move, answer.info)

    def _game(self, board: Board) -> str:
        """Return the game as the words after ``position``."""
        walk = board.copy()
        while walk.ply:
            walk.pop()
        start = str(walk.position)
        words = ["startpos" if start == self._start else start]
        if board.ply:
            words += ["moves", *(str(move) for move in board.move_stack)]
        return " ".join(words)

    def close(self) -> None:
        """Give the process back, or end it where something went wrong."""
        self._idle.give_back(self._command, self._process, self._good)
        if self._own_idle:
            self._idle.__exit__()


def _choice(move: Move, info: str) -> Choice:
    """Return a move with what an ``info`` line says of it, as far as it can be read."""
    said: dict[str, int] = {}
    for name, value in pairwise(info.split()):
        if name in ("depth", "nodes", "tbhits", "cp", "mate") and _NUMBER.fullmatch(value):
            said.setdefault(name, int(value))
    depth, nodes, tbhits = (max(said.get(name, 0), 0) for name in ("depth", "nodes", "tbhits"))
    mate, score = said.get("mate"), said.get("cp")
    if mate is not None and 0 < abs(mate) < MATE:
        score = MATE - mate if mate > 0 else -MATE - mate
    else:
        mate = None
    return Choice(move, score, mate, depth, nodes, (move,), tbhits)
