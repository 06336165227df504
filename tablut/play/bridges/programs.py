"""External programs as players. They are processes that exchange lines over pipes and are kept between games.

A program's protocol is a subclass of `Words`. The output of a process is not trusted: lines are limited in length, only
what the protocol needs is stored, and a call never waits longer than its time limit.
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
from functools import partial
from typing import IO, Any, ClassVar, Final, NamedTuple

from tablut.board import Board
from tablut.cli.streams import complain, one_line
from tablut.errors import InputError, MachineError
from tablut.play.players import Choice, PlayerOptions
from tablut.play.players.registry import Setting, read_settings
from tablut.play.search.limits import SearchLimits, TimeControl
from tablut.position import Position
from tablut.variants import Variant
from tablut.variants.library import load_variant
from tablut.variants.model import rule_fields
from tablut.work.clocks import alarm
from tablut.work.files import excerpt
from tablut.work.one_caller import OneCaller, alone

_LONGEST_LINE: Final = 1 << 20
_MOST_ANSWERS: Final = 1000
"""Maximum number of unrequested answers. A program that sends more is treated as faulty."""
_LAST_WORDS: Final = 4000
"""Number of bytes kept from the end of a program's error stream."""
_LONGEST_NAME: Final = 80
_LEAVE: Final = 1.0
"""Time in seconds within which a program must exit after being asked to exit."""
_OWN_GROUP: Final[dict[str, Any]] = {"process_group": 0} if hasattr(os, "killpg") else {}
REFUSAL: Final = "refusal"
"""Kind of answer that a program uses to refuse a request. It can be sent instead of any other answer."""


class ProgramError(MachineError):
    """Error raised when a program has exited or violated its protocol. It is reported like a failure of the machine."""


class LateError(ProgramError, TimeoutError):
    """Error raised when a program has not answered within its time limit."""


class UnreadableMoveError(InputError):
    """Error raised when a player's answer cannot be parsed as a move. The answer counts as an illegal move."""


class ProgramAnswer(NamedTuple):
    """Answer from a program: its kind, its text, and the numbers that the program reported about its search."""

    kind: str
    text: str
    info: dict[str, int]


class ProgramGame(NamedTuple):
    """Rules and options of a game that is played by a program."""

    variant: Variant
    rules: str
    """Rules in the form sent to the program."""
    options: PlayerOptions
    own: dict[str, str]
    """Options specific to the program."""


class Words(ABC):
    """A program's protocol, together with the state of one session."""

    game: ProgramGame
    """Game that the program is playing."""

    limits: ClassVar[tuple[str, ...]] = ("movetime",)
    """Names of the fields of `SearchLimits` that the protocol supports."""
    anywhere: ClassVar[bool] = True
    """Whether a game may begin from a position other than the start position of its variant."""
    options_known: ClassVar[bool] = False
    """Whether the protocol supports options."""
    farewell: ClassVar[str] = "quit\n"

    def __init__(self) -> None:
        self.name = ""
        """Name reported by the program."""
        self.info: dict[str, int] = {}
        """Numbers that the program has reported about its current search, if the protocol supports this."""

    @classmethod
    @abstractmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
        """Return the rules to send to the program, and the rules that the protocol cannot express."""

    @abstractmethod
    def receive(self, text: str) -> tuple[str, str]:
        """Process a line from the program, and return the kind of answer and an immediate reply. Both may be empty."""

    @abstractmethod
    def greet(self, process: Process, seconds: float) -> None:
        """Wait until a program that has just been started is ready."""

    def begin(self, process: Process, seconds: float) -> None:  # noqa: B027 (some send it with the first request)
        """Announce a new game to the program."""

    @abstractmethod
    def request_move(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> ProgramAnswer:
        """Request a move from the program and return its answer."""

    @abstractmethod
    def read(self, answer: ProgramAnswer) -> Choice:
        """Return the move in an answer, with the score and statistics that the program reported."""

    def end(self, process: Process, winner: str | None) -> None:  # noqa: B027 (most protocols have no line for it)
        """Send the game result. ``winner`` is None if the result is not known."""

    @classmethod
    def clock_gap(cls, control: TimeControl) -> str:  # noqa: ARG003 (some protocols support some time controls)
        """Return the part of a time control that the protocol cannot express, or an empty string."""
        return "clocks, so the program receives the time planned for each move"

    @classmethod
    def check(cls, limits: SearchLimits, *, elsewhere: bool) -> None:
        """Raise InputError if the protocol cannot express the limits, or a start position other than the variant's."""
        if elsewhere and not cls.anywhere:
            raise InputError(
                "its protocol cannot set another start position", remedy="use the start position of the rules"
            )
        # If the protocol has no clocks, the program receives the planned time for each move instead (`clock_gap`).
        given = limits._replace(clock=None)._asdict()
        if unsupported := [name for name, value in given.items() if value and name not in cls.limits]:
            raise InputError(
                f"its protocol does not support {' or '.join(unsupported)}",
                remedy=f"use {' or '.join(cls.limits)} instead",
            )


def unlike(variant: Variant, plays: Variant) -> tuple[list[str], list[str]]:
    """Return the rules that differ between two variants: those about positions, and those about the game history."""
    ours, theirs = ({field.name: field.value for field in rule_fields(one.rules)} for one in (variant, plays))
    found: tuple[list[str], list[str]] = ([], [])
    for name in ours | theirs:
        if ours.get(name) != theirs.get(name):
            found[name.startswith(("repetition", "move_limit"))].append(f"{name} ({ours.get(name, 'none')})")
    if (variant.terrain, variant.start) != (plays.terrain, plays.start):
        found[0].append(f"the board of {variant.name}")
    return found


def opening_of(board: Board) -> Position:
    """Return the start position of the game on a board."""
    walk = board.copy()
    while walk.ply:
        walk.pop()
    return walk.position


def built_in(variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
    """Return the rules for a program that plays only one variant, by default Copenhagen.

    Raise `InputError` if the rules differ, except those about the game history, which the match itself enforces.
    """
    plays = load_variant(own.pop("variant", "copenhagen"))
    other, unsupported = unlike(variant, plays)
    if other:
        raise InputError(
            (f"its protocol does not support {', '.join(other)}; by default such programs play {plays.name}"),
            remedy="if it plays other rules, add option.variant=NAME",
        )
    return "", unsupported


class Process:
    """Process of an external program, together with its answers that have not been read yet."""

    def __init__(self, command: str, words: Words) -> None:
        self.words = words
        try:
            line = shlex.split(command)
        except ValueError as error:
            raise InputError(str(error), subject=f"program {excerpt(command)}") from error
        if not line:
            raise InputError("expected a command", subject=f"program {excerpt(command)}")
        self._command = command
        try:
            self._popen = subprocess.Popen(
                line,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # The program gets a separate process group, so that its children end with it and it receives no
                # keyboard interrupt. It does not get a separate session, because Linux divides processor time between
                # sessions, and the other player may run in this session.
                **_OWN_GROUP,
            )
        except OSError as error:
            way = f"; a script needs its interpreter: python3 {excerpt(line[0])}" * line[0].endswith(".py")
            why = f"{error.strerror or error}{way}"
            raise InputError(f"cannot be started: {why}", subject=f"program {excerpt(command)}") from error
        self._answers: queue.Queue[ProgramAnswer | None] = queue.Queue()
        """Unread answers, followed by None."""
        self._unrequested = 0
        self._writing = threading.Lock()
        self._fault = ""
        self._ended = False
        self._last_words = b""
        self._last_line = ""
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self._threads = [
            threading.Thread(target=self._listen, args=(self._popen.stdout,), daemon=True, name="program"),
            threading.Thread(target=self._drain_errors, args=(self._popen.stderr,), daemon=True, name="program errors"),
        ]
        for thread in self._threads:
            thread.start()

    # -- output of the program ---------------------------------------------------------

    def _listen(self, stream: IO[bytes]) -> None:
        """Process the program's output until it ends or exceeds the limits."""
        with stream:
            while line := stream.readline(_LONGEST_LINE):
                if not line.endswith(b"\n") and len(line) >= _LONGEST_LINE:
                    self._fault = f"wrote a line of more than {_LONGEST_LINE:,} bytes"
                    break
                text = line.decode("utf-8", "replace").strip()
                self._last_line = text or self._last_line
                kind, reply = self.words.receive(text)
                if kind:
                    self._answers.put(ProgramAnswer(kind, text, self.words.info))
                    self.words.info = {}
                self._unrequested += bool(kind or reply)
                if self._unrequested > _MOST_ANSWERS:
                    self._fault = f"sent more than {_MOST_ANSWERS} unrequested answers"
                    break
                if reply:  # without a reply, do not wait for the lock of `send`, which would delay reading
                    self.send(reply)
        self._ended = True
        self._answers.put(None)

    def _drain_errors(self, stream: IO[bytes]) -> None:
        """Read the program's error stream, and keep the end of its text."""
        with stream:
            while piece := stream.readline(1 << 12):
                self._last_words = (self._last_words + piece)[-_LAST_WORDS:]

    # -- requests ----------------------------------------------------------------------

    def send(self, lines: str) -> bool:
        """Write lines to the program. Return False if the lines are lost, because it has closed its input."""
        assert self._popen.stdin is not None
        with self._writing, suppress(OSError, ValueError):
            self._popen.stdin.write(lines.encode())
            self._popen.stdin.flush()
            return True
        return False

    def request(self, lines: str, answer: str, seconds: float, times: int = 1) -> ProgramAnswer:
        """Write lines to the program and return its answer, or the last of ``times`` answers."""
        deadline = time.monotonic() + seconds
        if lines:
            self.words.info = {}
            with suppress(queue.Empty):
                while self._answers.get_nowait() is not None:
                    pass
                self._answers.put(None)
        self._unrequested = -times
        # If the program does not read its input, writing could block for ever. The alarm then kills the program.
        with alarm(seconds, self.kill), suppress(queue.Empty):
            if not (reads := self.send(lines)):
                # It may have answered before it exited. If it still runs, it cannot know the request.
                deadline = min(deadline, time.monotonic() + _LEAVE)
            while (found := self._answers.get(timeout=max(deadline - time.monotonic(), 0))) is not None:
                if found.kind == REFUSAL:
                    raise ProgramError(f"replied {excerpt(found.text)}", subject=f"program {excerpt(self._command)}")
                times -= found.kind == answer
                if not times:
                    return found
            # At the deadline, the alarm has already ended the program.
            if time.monotonic() < deadline:
                raise ProgramError(self._why(), subject=f"program {excerpt(self._command)}")
        self.kill()
        problem = f"no {answer} within {seconds:g} s" if reads else "closed its input"
        kind = LateError if reads else ProgramError
        raise kind(problem + self._last_lines(), subject=f"program {excerpt(self._command)}")

    def _why(self) -> str:
        """Return the reason why the program ended, as one line of text."""
        if self._fault:
            return self._fault
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_LEAVE)
        code = self._popen.returncode
        how = "closed its output" if code is None else f"exited with code {code}"
        return f"the program {how}{self._last_lines()}"

    def _last_lines(self) -> str:
        """Return the last lines of the program's standard error and standard output.

        Indented lines are left out if possible, because they are mostly the frames of a stack trace.
        """
        self._threads[1].join(_LEAVE)
        lines = [line for line in self._last_words.decode("utf-8", "replace").splitlines() if line.strip()]
        error = one_line(([line for line in lines if not line[0].isspace()] or lines or [""])[-1], 400)
        output = f"; its last output: {excerpt(self._last_line)}" if self._last_line else ""
        return (f": {error}" if error else "") + output

    @property
    def usable(self) -> bool:
        """Whether the program is running and can be used again."""
        return not self._ended and not self._fault and self._popen.poll() is None

    # -- end of the program ------------------------------------------------------------

    def leave(self) -> None:
        """Ask the program to exit, and kill it if it does not exit."""
        if self.usable:
            with alarm(_LEAVE, self.kill):
                self.send(self.words.farewell)
                self._close()
                with suppress(subprocess.TimeoutExpired):
                    self._popen.wait(_LEAVE)
        self.kill()

    def kill(self) -> None:
        """Kill the program and its child processes immediately."""
        if hasattr(os, "killpg"):
            # Kill the group even if the program has exited, since its children may still be running.
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
    """Pool of programs that wait for their next game. When used as a context manager, it ends all programs on exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, type[Words]], list[Process]] = {}
        self._all: list[Process] = []
        self._closed = False

    def __enter__(self) -> IdlePrograms:
        """Return the pool."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """End all programs, including those of interrupted games."""
        with self._lock:
            self._closed = True
            running, self._all = self._all, []
        for process in running:
            process.leave()

    def take(self, command: str, words: type[Words]) -> tuple[Process, bool]:
        """Return an idle process or start a new one. The second return value is True if the process is new."""
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
        """Return a process to the pool after a game. If it cannot be reused, end it instead."""
        with self._lock:
            if good and process.usable and not self._closed:
                self._idle.setdefault((command, type(process.words)), []).append(process)
            else:
                self._end(process)

    def _end(self, process: Process) -> None:
        process.kill()
        if process in self._all:
            self._all.remove(process)


# -- programs as players ------------------------------------------------------------


# In a match, a program that is late, writes something unreadable or exits loses its game, like any player at fault. Its
# process is then ended. Outside a match, it is started again when its next move is due.
#
# A process plays one game after another and is notified of each new game. It therefore has to start only once in a
# match, and it ends with the match.


_LATE: Final = 5.0
"""Time in seconds to wait for a late answer. A late player loses, but if it answers, its process can be reused."""
_PATIENCE: Final = "patience"
_SETTINGS: Final = {_PATIENCE: Setting(600.0, least=0.01, most=1e6)}
"""Setting that is not sent to the program. It is the time in seconds allowed for requests without a time limit."""
_GREETING: Final = 30.0
"""Time in seconds allowed for a program's greeting, unless the setting above is given."""
_SILENCE: Final = 3.0
"""Time in seconds after which the user is informed that a program has not started yet."""


@contextmanager
def _naming(command: str) -> Iterator[None]:
    """Prefix the messages of input errors with the program's name."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error), subject=f"program {excerpt(command)}") from error


class ProgramPlayer(OneCaller):
    """External program that acts as the player in a single game."""

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
        self._greeting = self._patience if patience.settings else _GREETING
        self._words, self._late = words, _LATE
        with _naming(command):
            rules, self.unsupported = words.rules(variant, own)
            extra = sorted(own) + ["threads"] * (options.threads != 1)
            if extra and not words.options_known:
                raise InputError(f"its protocol does not support options, such as {excerpt(extra[0])}")
        self._own_idle = idle is None
        self._idle = IdlePrograms() if idle is None else idle
        self._game = ProgramGame(variant, rules, options, own)
        self._winner: str | None = None
        self._start()

    def _start(self) -> None:
        """Take a process from the pool, and wait until it is ready for the game."""
        self._good = False
        self._process, new = self._idle.take(self._command, self._words)
        words, shown = self._process.words, f"program {excerpt(self._command)}"
        words.game = self._game
        try:
            with _naming(self._command):
                steps = [(words.greet, "its greeting", self._greeting), (words.begin, "it to be ready", self._patience)]
                for step, what, seconds in steps[not new :]:
                    line = f"{shown}: waiting for {what}, for at most {seconds:g} s"
                    with alarm(_SILENCE + seconds * (not new), partial(complain, line)):
                        step(self._process, seconds)
        except (ProgramError, InputError) as error:
            self._idle.give_back(self._command, self._process, good=False)
            way = "use a program with this protocol, or set its option patience" * isinstance(error, LateError)
            raise InputError(error.problem, subject=error.subject, remedy=error.remedy or way) from error
        self._good = True

    @property
    def name(self) -> str:
        """Name reported by the program."""
        return self._process.words.name[:_LONGEST_NAME]

    @alone
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Request a move from the program and return it."""
        if self._own_idle and not self._process.usable:
            self._idle.give_back(self._command, self._process, good=False)
            self._start()
        words = self._process.words
        with _naming(self._command):
            words.check(limits, elsewhere=str(opening_of(board)) != words.game.variant.start_position)
        time = limits.movetime if limits.clock is None else limits.clock.left
        seconds = self._patience if time is None else time + self._late
        self._good = False
        answer = words.request_move(self._process, board, limits, seconds)
        try:
            choice = words.read(answer)
        except (InputError, IndexError):
            raise UnreadableMoveError(f"program {excerpt(self._command)}: replied {excerpt(answer.text)}") from None
        self._good = True
        return choice

    def be_patient(self) -> None:
        """Wait for a late answer as long as for a greeting, because the caller can do without it."""
        self._late = max(_LATE, self._greeting)

    def over(self, winner: str) -> None:
        """Store the game result. `close` sends it to the program."""
        self._winner = winner

    def close(self) -> None:
        """Return the process to the pool, or end it if an error has occurred."""
        if self._good:
            self._process.words.end(self._process, self._winner)
        self._idle.give_back(self._command, self._process, self._good)
        if self._own_idle:
            self._idle.__exit__()
