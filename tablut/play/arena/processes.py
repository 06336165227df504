"""Processes that answer lines with lines, and the pool that keeps them between games.

What a process writes is not trusted: a line is bounded, and of all that it says only the answers,
the last ``info`` line and the names of its options are kept. Nothing that it does, or leaves
undone, makes a caller wait longer than it said.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import IO, Any, Final, NamedTuple

from tablut.cli.printable import one_line
from tablut.errors import InputError
from tablut.files import excerpt

__all__ = ["Answer", "IdlePrograms", "Process"]

_LONGEST_LINE: Final = 1 << 20
_MOST_ANSWERS: Final = 1000
"""Answers that a program may give unasked, before it counts as mad."""
_MOST_OPTIONS: Final = 1000
_LAST_WORDS: Final = 400
_LEAVE: Final = 1.0
"""Seconds that a program has to end after ``quit``."""
_OWN_GROUP: Final[dict[str, Any]] = {"process_group": 0} if hasattr(os, "killpg") else {}
_ANSWERS: Final = (b"bestmove", b"readyok", b"uciok")


class Answer(NamedTuple):
    """An answer of a program.

    Attributes
    ----------
    text : str
        The whole line.
    info : str
        The last ``info`` line with a score before it; empty if there was none.
    """

    text: str
    info: str


class Process:
    """A program that runs, and what it has said.

    Parameters
    ----------
    command : str
        As a shell would split it; no shell runs it.

    Raises
    ------
    InputError
        If it cannot be started.
    """

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
            raise InputError(f"program {excerpt(command)}: cannot be started: {error.strerror or error}") from error
        self.options: set[str] = set()
        """What it says that it can be told."""
        self._heard = threading.Condition()
        self._answers: list[Answer] = []
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
                with self._heard:
                    if kind in _ANSWERS:
                        self._answers.append(Answer(text, self._info))
                        self._info = ""
                        self._heard.notify_all()
                    elif kind == b"info" and b" score " in line:
                        self._info = text
                    elif kind == b"option" and len(self.options) < _MOST_OPTIONS:
                        self._learn_option(text.split())
                    if len(self._answers) > _MOST_ANSWERS:
                        self._fault = f"gave more than {_MOST_ANSWERS} answers that nobody asked for"
                        break
        with self._heard:
            self._ended = True
            self._heard.notify_all()

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
        """Write lines and return the answer to them.

        Parameters
        ----------
        lines : str
            Each with its end.
        answer : str
            The word with which the answer begins.
        seconds : float
            How long it is waited for.

        Returns
        -------
        Answer
            The first answer of that kind since.

        Raises
        ------
        ChildProcessError
            If the program has ended, or writes what no program should.
        TimeoutError
            If no answer comes; the program is ended then.
        """
        deadline = time.monotonic() + seconds
        with self._heard:
            self._answers.clear()
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
            with self._heard:
                while True:
                    found = next((one for one in self._answers if one.text.split()[0] == answer), None)
                    if found is not None:
                        return found
                    left = deadline - time.monotonic()
                    if left <= 0:
                        break
                    if self._ended:
                        raise ChildProcessError(self._why())
                    self._heard.wait(left)
        finally:
            guard.cancel()
        self.kill()
        raise TimeoutError(f"no {answer} within {seconds:g} s")

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
        """Return a process, and whether it has just been started.

        Parameters
        ----------
        command : str
            Of the program.

        Returns
        -------
        tuple of (Process, bool)
            For one player at a time.

        Raises
        ------
        InputError
            If it cannot be started.
        """
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
        """Take a process back after a game.

        Parameters
        ----------
        command : str
            Of the program.
        process : Process
            Which `take` returned.
        good : bool
            Whether it may serve again; else it ends.
        """
        with self._lock:
            if good and process.usable and not self._closed:
                self._idle.setdefault(command, []).append(process)
            else:
                self._end(process)

    def _end(self, process: Process) -> None:
        process.kill()
        if process in self._all:
            self._all.remove(process)
