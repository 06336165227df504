"""Processes that answer lines with lines, and the pool that keeps them between games.

What a process writes is not trusted: a line is bounded, and of all that it says only the answers,
the last ``info`` line and the names of its options are kept. Nothing that it does, or leaves
undone, makes a caller wait longer than it said.
"""

from __future__ import annotations

import os
import queue
import re
import shlex
import signal
import subprocess
import threading
import time
from contextlib import suppress
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from tablut.cli.streams import one_line
from tablut.errors import InputError, MachineError
from tablut.formats.reading import read_move
from tablut.play.players import Choice
from tablut.play.players.registry import Setting, read_settings
from tablut.play.search.limits import MATE
from tablut.store.files import excerpt
from tablut.variants.library import shipped_name

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.play.players import PlayerOptions
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move
    from tablut.variants import Variant

_LONGEST_LINE: Final = 1 << 20
_MOST_ANSWERS: Final = 1000
"""Answers that a program may give unasked, before it counts as mad."""
_MOST_OPTIONS: Final = 1000
_LAST_WORDS: Final = 400
_LONGEST_NAME: Final = 80
_LEAVE: Final = 1.0
"""Seconds that a program has to end after ``quit``."""
_OWN_GROUP: Final[dict[str, Any]] = {"process_group": 0} if hasattr(os, "killpg") else {}
_ANSWERS: Final = (b"bestmove", b"readyok", b"uciok")


class ProgramError(MachineError):
    """A program that has ended, or wrote what no program should: the machine's fault, not the user's."""


class LateError(ProgramError, TimeoutError):
    """A program that gave no answer in its time."""


class UnreadableMoveError(InputError):
    """A player's answer is no move at all: as bad as an illegal one."""


class Answer(NamedTuple):
    """An answer of a program."""

    text: str
    info: str


class Process:
    """A program that runs, and what it has said."""

    def __init__(self, command: str) -> None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"program {excerpt(command)}: {error}") from error
        if not words:
            raise InputError(f"program {excerpt(command)}: expected a command")
        self._command = command
        try:
            self._popen = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # A group of its own: what it starts ends with it, and an interrupt is not meant for it. No session
                # of its own: Linux shares processors out by session, and the other player thinks in ours.
                **_OWN_GROUP,
            )
        except OSError as error:
            way = f"; a script needs its interpreter: python3 {excerpt(words[0])}" * words[0].endswith(".py")
            why = f"{error.strerror or error}{way}"
            raise InputError(f"program {excerpt(command)}: cannot be started: {why}") from error
        self.options: set[str] = set()
        """What it says that it can be told."""
        self.name = ""
        """What it says that it is called."""
        self._answers: queue.Queue[Answer | None] = queue.Queue()
        """What was said and not read yet; None at the end."""
        self._info = ""
        self._fault = ""
        self._ended = False
        self._last_words = b""
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self._threads = [
            threading.Thread(target=self._listen, args=(self._popen.stdout,), daemon=True, name="program"),
            threading.Thread(target=self._overhear, args=(self._popen.stderr,), daemon=True, name="program errors"),
        ]
        for thread in self._threads:
            thread.start()

    # -- what it says ------------------------------------------------------------------

    def _listen(self, stream: IO[bytes]) -> None:
        """Take notice of what the program writes, until it ends or writes what no program should."""
        with stream:
            while line := stream.readline(_LONGEST_LINE):
                if not line.endswith(b"\n") and len(line) >= _LONGEST_LINE:
                    self._fault = f"wrote a line of more than {_LONGEST_LINE:,} bytes"
                    break
                words = line.split(None, 2)
                kind = words[0] if words else b""
                text = line.decode("utf-8", "replace").strip()
                if kind in _ANSWERS:
                    self._answers.put(Answer(text, self._info))
                    self._info = ""
                elif kind == b"info" and b" score " in line:
                    self._info = text
                elif words[:2] == [b"id", b"name"]:
                    self.name = " ".join(text.split()[2:])[:_LONGEST_NAME]
                elif kind == b"option" and len(self.options) < _MOST_OPTIONS:
                    self._learn_option(text.split())
                if self._answers.qsize() > _MOST_ANSWERS:
                    self._fault = f"gave more than {_MOST_ANSWERS} answers that nobody asked for"
                    break
        self._ended = True
        self._answers.put(None)

    def _learn_option(self, words: list[str]) -> None:
        """Take notice of ``option name NAME type …``."""
        if words[1:2] == ["name"]:
            end = words.index("type") if "type" in words else len(words)
            self.options.add(" ".join(words[2:end]).lower())

    def _overhear(self, stream: IO[bytes]) -> None:
        """Keep the end of what the program writes as errors."""
        with stream:
            while piece := stream.readline(1 << 12):
                self._last_words = (self._last_words + piece)[-_LAST_WORDS:]

    # -- what is asked -----------------------------------------------------------------

    def ask(self, lines: str, answer: str, seconds: float) -> Answer:
        """Write lines and return the answer to them."""
        deadline = time.monotonic() + seconds
        with suppress(queue.Empty):
            while self._answers.get_nowait() is not None:
                pass
            self._answers.put(None)
        self._info = ""
        # Who does not read would let us wait in `write` for ever.
        guard = threading.Timer(seconds, self.kill)
        guard.daemon = True
        guard.start()
        try:
            assert self._popen.stdin is not None
            with suppress(OSError, ValueError):  # it has gone: said below
                self._popen.stdin.write(lines.encode())
                self._popen.stdin.flush()
            with suppress(queue.Empty):
                while (found := self._answers.get(timeout=max(deadline - time.monotonic(), 0))) is not None:
                    if found.text.split()[0] == answer:
                        return found
                # At the deadline it is the guard that ends the program.
                if time.monotonic() < deadline:
                    raise ProgramError(f"program {excerpt(self._command)}: {self._why()}")
        finally:
            guard.cancel()
        self.kill()
        raise LateError(f"program {excerpt(self._command)}: no {answer} within {seconds:g} s")

    def _why(self) -> str:
        """Return in one line how the program ended."""
        if self._fault:
            return self._fault
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_LEAVE)
        self._threads[1].join(_LEAVE)
        code = self._popen.returncode
        how = "closed its output" if code is None else f"ended with code {code}"
        said = one_line(self._last_words.decode("utf-8", "replace").strip().rpartition("\n")[2])
        return f"the program {how}" + (f": {said}" if said else "")

    @property
    def usable(self) -> bool:
        """Whether it runs and can be asked again."""
        return not self._ended and not self._fault and self._popen.poll() is None

    # -- its end -----------------------------------------------------------------------

    def leave(self) -> None:
        """Ask the program to end, and end it."""
        assert self._popen.stdin is not None
        if self.usable:
            guard = threading.Timer(_LEAVE, self.kill)
            guard.daemon = True
            guard.start()
            with suppress(OSError, ValueError):
                self._popen.stdin.write(b"quit\n")
                self._popen.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(_LEAVE)
            guard.cancel()
        self.kill()

    def kill(self) -> None:
        """End the program, and what it has started, now."""
        if hasattr(os, "killpg"):
            # Its group outlives it where a child of it does.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
        else:
            self._popen.kill()
        self._popen.wait()
        with suppress(OSError, ValueError):
            assert self._popen.stdin is not None
            self._popen.stdin.close()


class IdlePrograms:
    """Programs that wait for their next game, by command; a context that ends them all.

    Several games may be played at once; each has a process of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[str, list[Process]] = {}
        self._all: list[Process] = []
        self._closed = False

    def __enter__(self) -> IdlePrograms:
        """Return itself."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """End all programs, those of games that were interrupted too."""
        with self._lock:
            self._closed = True
            running, self._all = self._all, []
        for process in running:
            process.leave()

    def take(self, command: str) -> tuple[Process, bool]:
        """Return a process, and whether it has just been started."""
        with self._lock:
            waiting = self._idle.get(command, [])
            while waiting:
                process = waiting.pop()
                if process.usable:
                    return process, False
                self._end(process)
        process = Process(command)
        with self._lock:
            self._all.append(process)
        return process, True

    def give_back(self, command: str, process: Process, good: bool) -> None:
        """Take a process back after a game."""
        with self._lock:
            if good and process.usable and not self._closed:
                self._idle.setdefault(command, []).append(process)
            else:
                self._end(process)

    def _end(self, process: Process) -> None:
        process.kill()
        if process in self._all:
            self._all.remove(process)


# -- programs as players: whatever speaks the engine's line protocol over pipes ------------


# ``program:COMMAND`` is any program that understands the few lines of docs/engine-protocol.md.
# Its answer counts only if it is a legal move. A program that is late, unreadable or gone loses
# its game as any player at fault does, and is ended.
#
# A process serves one game after the other, told of each new one by ``ucinewgame``, so that a
# match does not pay for its start every time; it ends with the match.


_LATE: Final = 5.0
"""Seconds after its time in which a late answer is still waited for: it loses, but the process can be used again."""
_PATIENCE: Final = "patience"
_SETTINGS: Final = {_PATIENCE: Setting(600.0, least=0.01, most=1e6)}
"""Of the player itself, not of the program: seconds for what has no time of its own."""
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}", re.ASCII)


class ProgramPlayer:
    """A program at the board, for one game."""

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
        except (ProgramError, InputError) as error:
            self.close()
            raise InputError(str(error)) from error
        self._good = True

    @property
    def name(self) -> str:
        """What the program says that it is called."""
        return self._process.name

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
        """Return the program's move."""
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
            raise UnreadableMoveError(f"program {excerpt(self._command)}: answered {excerpt(answer.text)}") from None
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
