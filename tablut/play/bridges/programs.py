"""Programs as players, whatever protocol they speak: processes that answer lines with lines, kept between games.

What a process writes is not trusted: a line is bounded, and of all that it says only the answers and what its
protocol's words (`Words`) take notice of is kept. Nothing that it does, or leaves undone, makes a caller wait longer
than it said.
"""

from __future__ import annotations

import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, ClassVar, Final, NamedTuple

from tablut.board import Board
from tablut.cli.streams import one_line
from tablut.errors import InputError, MachineError
from tablut.play.players import Choice, PlayerOptions
from tablut.play.players.registry import Setting, read_settings
from tablut.play.search.limits import SearchLimits
from tablut.position import Move, Position
from tablut.running.clocks import alarm
from tablut.running.one_caller import OneCaller, alone
from tablut.store.files import excerpt
from tablut.variants import Variant
from tablut.variants.library import load_variant
from tablut.variants.model import rule_fields

_LONGEST_LINE: Final = 1 << 20
_MOST_ANSWERS: Final = 1000
"""Answers that a program may give unasked, before it counts as mad."""
_LAST_WORDS: Final = 400
_LONGEST_NAME: Final = 80
_LEAVE: Final = 1.0
"""Seconds that a program has to end after it was told to."""
_OWN_GROUP: Final[dict[str, Any]] = {"process_group": 0} if hasattr(os, "killpg") else {}
REFUSAL: Final = "refusal"
"""The answer of a program that will not go on, whatever it was asked."""


class ProgramError(MachineError):
    """A program that has ended, or wrote what no program should: the machine's fault, not the user's."""


class LateError(ProgramError, TimeoutError):
    """A program that gave no answer in its time."""


class UnreadableMoveError(InputError):
    """A player's answer is no move at all: as bad as an illegal one."""


class Answer(NamedTuple):
    """An answer of a program: what kind of one, as it was said, and what was said of the search before."""

    kind: str
    text: str
    info: str


class Game(NamedTuple):
    """What a game is played by."""

    variant: Variant
    rules: str
    """As the program is told them."""
    options: PlayerOptions
    own: dict[str, str]
    """What only this program knows."""


class Words(ABC):
    """The words of a protocol, as one program hears and says them."""

    game: Game
    """The one that it plays."""

    limits: ClassVar[tuple[str, ...]] = ("movetime",)
    """Those of `SearchLimits` that it can say."""
    anywhere: ClassVar[bool] = True
    """Whether a game may begin elsewhere than its rule set says."""
    options_known: ClassVar[bool] = False
    """Whether it has a word for options."""
    farewell: ClassVar[str] = "quit\n"

    def __init__(self) -> None:
        self.name = ""
        """What the program says that it is called."""
        self.info = ""
        """What it said last of its search."""

    @classmethod
    @abstractmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
        """Return what a program is told of the rules, and what not; take what says that out of its settings."""

    @abstractmethod
    def hear(self, text: str) -> tuple[str, str]:
        """Take notice of a line: return the kind of answer that it is, and what is replied at once; or nothing."""

    @abstractmethod
    def greet(self, process: Process, seconds: float) -> None:
        """Wait until a program that has just been started is there."""

    def begin(self, process: Process, seconds: float) -> None:  # noqa: B027 (some tell it with the first question)
        """Tell it of a new game."""

    @abstractmethod
    def ask(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> Answer:
        """Ask it for a move."""

    @abstractmethod
    def read(self, answer: Answer) -> Choice:
        """Return the move that it answered, with what it said of it."""

    def end(self, process: Process, winner: str | None) -> None:  # noqa: B027 (most have no word for it)
        """Tell it how the game ended, None where nobody knows."""

    @classmethod
    def check(cls, limits: SearchLimits, *, elsewhere: bool) -> None:
        """Refuse limits that it cannot say, and a game that begins elsewhere if it cannot say where."""
        if elsewhere and not cls.anywhere:
            raise InputError("its protocol cannot say a start of a game's own; begin where its rules begin")
        if unsaid := [name for name, value in limits._asdict().items() if value and name not in cls.limits]:
            raise InputError(f"its protocol cannot say {' or '.join(unsaid)}; name {' or '.join(cls.limits)} instead")


def unlike(variant: Variant, plays: Variant) -> tuple[list[str], list[str]]:
    """Return the rules of a variant that another has not, with their values: of a position, and of a game's history."""
    ours, theirs = ({field.name: field.value for field in rule_fields(one.rules)} for one in (variant, plays))
    found: tuple[list[str], list[str]] = ([], [])
    for name in ours | theirs:
        if ours.get(name) != theirs.get(name):
            found[name.startswith(("repetition", "move_limit"))].append(f"{name} ({ours.get(name, 'none')})")
    if (variant.terrain, variant.start) != (plays.terrain, plays.start):
        found[0].append(f"the board of {variant.name}")
    return found


def bare(move: Move) -> Choice:
    """Return a move of which nothing else was said."""
    return Choice(move, None, None, 0, 0, (move,))


def opening_of(board: Board) -> Position:
    """Return the position in which a board's game began."""
    walk = board.copy()
    while walk.ply:
        walk.pop()
    return walk.position


def built_in(variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
    """Return the rules of a program that has but one game, Copenhagen unless ``variant`` says another.

    What only the history decides may differ: the match judges it.
    """
    plays = load_variant(own.pop("variant", "copenhagen"))
    other, unsaid = unlike(variant, plays)
    if other:
        raise InputError(
            f"its protocol cannot say {', '.join(other)}, and the game of such a program is {plays.name}; "
            f"if it plays another, say which: option.variant=NAME"
        )
    return "", unsaid


class Process:
    """A program that runs, and what it has said."""

    def __init__(self, command: str, words: Words) -> None:
        self.words = words
        try:
            line = shlex.split(command)
        except ValueError as error:
            raise InputError(f"program {excerpt(command)}: {error}") from error
        if not line:
            raise InputError(f"program {excerpt(command)}: expected a command")
        self._command = command
        try:
            self._popen = subprocess.Popen(
                line,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # A group of its own: what it starts ends with it, and an interrupt is not meant for it. No session
                # of its own: Linux shares processors out by session, and the other player thinks in ours.
                **_OWN_GROUP,
            )
        except OSError as error:
            way = f"; a script needs its interpreter: python3 {excerpt(line[0])}" * line[0].endswith(".py")
            why = f"{error.strerror or error}{way}"
            raise InputError(f"program {excerpt(command)}: cannot be started: {why}") from error
        self._answers: queue.Queue[Answer | None] = queue.Queue()
        """What was said and not read yet; None at the end."""
        self._unasked = 0
        self._writing = threading.Lock()
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
                text = line.decode("utf-8", "replace").strip()
                kind, reply = self.words.hear(text)
                if kind:
                    self._answers.put(Answer(kind, text, self.words.info))
                    self.words.info = ""
                self._unasked += bool(kind or reply)
                if self._unasked > _MOST_ANSWERS:
                    self._fault = f"gave more than {_MOST_ANSWERS} answers that nobody asked for"
                    break
                if reply:  # a lock that is waited for would keep what it says from being read
                    self.tell(reply)
        self._ended = True
        self._answers.put(None)

    def _overhear(self, stream: IO[bytes]) -> None:
        """Keep the end of what the program writes as errors."""
        with stream:
            while piece := stream.readline(1 << 12):
                self._last_words = (self._last_words + piece)[-_LAST_WORDS:]

    # -- what is asked -----------------------------------------------------------------

    def tell(self, lines: str) -> None:
        """Write lines; one that has gone hears nothing, which whoever asks it is told."""
        assert self._popen.stdin is not None
        with self._writing, suppress(OSError, ValueError):
            self._popen.stdin.write(lines.encode())
            self._popen.stdin.flush()

    def ask(self, lines: str, answer: str, seconds: float, times: int = 1) -> Answer:
        """Write lines and return the answer to them, the last one of several; to no lines, also one given before."""
        deadline = time.monotonic() + seconds
        if lines:
            self.words.info = ""
            with suppress(queue.Empty):
                while self._answers.get_nowait() is not None:
                    pass
                self._answers.put(None)
        self._unasked = -times
        # Who does not read would let us wait in `write` for ever.
        with alarm(seconds, self.kill), suppress(queue.Empty):
            self.tell(lines)
            while (found := self._answers.get(timeout=max(deadline - time.monotonic(), 0))) is not None:
                if found.kind == REFUSAL:
                    raise ProgramError(f"program {excerpt(self._command)}: said {excerpt(found.text)}")
                times -= found.kind == answer
                if not times:
                    return found
            # At the deadline it is the alarm that ends the program.
            if time.monotonic() < deadline:
                raise ProgramError(f"program {excerpt(self._command)}: {self._why()}")
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
        if self.usable:
            with alarm(_LEAVE, self.kill):
                self.tell(self.words.farewell)
                self._close()
                with suppress(subprocess.TimeoutExpired):
                    self._popen.wait(_LEAVE)
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
        self._close()

    def _close(self) -> None:
        assert self._popen.stdin is not None
        with suppress(OSError, ValueError):
            self._popen.stdin.close()


class IdlePrograms:
    """Programs that wait for their next game, by command and protocol; a context that ends them all.

    Several games may be played at once; each has a process of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, type[Words]], list[Process]] = {}
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

    def take(self, command: str, words: type[Words]) -> tuple[Process, bool]:
        """Return a process, and whether it has just been started."""
        with self._lock:
            waiting = self._idle.get((command, words), [])
            while waiting:
                process = waiting.pop()
                if process.usable:
                    return process, False
                self._end(process)
        process = Process(command, words())
        with self._lock:
            self._all.append(process)
        return process, True

    def give_back(self, command: str, process: Process, good: bool) -> None:
        """Take a process back after a game."""
        with self._lock:
            if good and process.usable and not self._closed:
                self._idle.setdefault((command, type(process.words)), []).append(process)
            else:
                self._end(process)

    def _end(self, process: Process) -> None:
        process.kill()
        if process in self._all:
            self._all.remove(process)


# -- programs as players: whatever speaks a protocol of lines over pipes ------------


# Its answer counts only if it is a legal move. A program that is late, unreadable or gone loses its game as any player
# at fault does, and is ended.
#
# A process serves one game after the other, and is told of each new one, so that a match does not pay for its start
# every time; it ends with the match.


_LATE: Final = 5.0
"""Seconds after its time in which a late answer is still waited for: it loses, but the process can be used again."""
_PATIENCE: Final = "patience"
_SETTINGS: Final = {_PATIENCE: Setting(600.0, least=0.01, most=1e6)}
"""Of the player itself, not of the program: seconds for what has no time of its own."""


@contextmanager
def _naming(command: str) -> Iterator[None]:
    """Have errors in what a program is asked say which program it is."""
    try:
        yield
    except InputError as error:
        raise InputError(f"program {excerpt(command)}: {error}") from error


class ProgramPlayer(OneCaller):
    """A program at the board, for one game."""

    def __init__(
        self,
        words: type[Words],
        command: str,
        variant: Variant,
        options: PlayerOptions,
        idle: IdlePrograms | None = None,
    ) -> None:
        self._command = command
        own = {name: value for name, value in options.settings if name != _PATIENCE}
        patience = options._replace(settings=tuple(pair for pair in options.settings if pair[0] == _PATIENCE))
        self._patience = float(read_settings("program", patience, _SETTINGS)[_PATIENCE])
        with _naming(command):
            rules, self.unsaid = words.rules(variant, own)
            extra = sorted(own) + ["threads"] * (options.threads != 1)
            if extra and not words.options_known:
                raise InputError(f"its protocol cannot say an option, such as {excerpt(extra[0])}")
        self._own_idle = idle is None
        self._idle = IdlePrograms() if idle is None else idle
        self._process, new = self._idle.take(command, words)
        self._process.words.game = Game(variant, rules, options, own)
        self._winner: str | None = None
        self._good = False
        try:
            with _naming(command):
                if new:
                    self._process.words.greet(self._process, self._patience)
                self._process.words.begin(self._process, self._patience)
        except (ProgramError, InputError) as error:
            self.close()
            raise InputError(str(error)) from error
        self._good = True

    @property
    def name(self) -> str:
        """What the program says that it is called."""
        return self._process.words.name[:_LONGEST_NAME]

    @alone
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the program's move."""
        words = self._process.words
        with _naming(self._command):
            words.check(limits, elsewhere=str(opening_of(board)) != words.game.variant.start_position)
        seconds = self._patience if limits.movetime is None else limits.movetime + _LATE
        self._good = False
        answer = words.ask(self._process, board, limits, seconds)
        try:
            choice = words.read(answer)
        except (InputError, IndexError):
            raise UnreadableMoveError(f"program {excerpt(self._command)}: answered {excerpt(answer.text)}") from None
        self._good = True
        return choice

    def over(self, winner: str) -> None:
        """Take notice of how its game ended, for the program to be told."""
        self._winner = winner

    def close(self) -> None:
        """Give the process back, or end it where something went wrong."""
        if self._good:
            self._process.words.end(self._process, self._winner)
        self._idle.give_back(self._command, self._process, self._good)
        if self._own_idle:
            self._idle.__exit__()
