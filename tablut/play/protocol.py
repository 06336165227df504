"""The engine's line protocol, modelled on the Universal Chess Interface (UCI); see docs/engine-protocol.md.

The engine responds with one ``info string`` line to a line that it does not understand, and with exactly one
``bestmove`` to every ``go`` that is sent while no search runs.
"""

from __future__ import annotations

import re
import shlex
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from tablut.board import Board
from tablut.cli.streams import one_line
from tablut.errors import MOST_THREADS, InputError, TablutError, UnknownError, whole_number
from tablut.formats.reading import read_position
from tablut.play.players import Choice, Player, PlayerOptions, parse_settings, player_names
from tablut.play.players.registry import BOOK, check_limits, check_lines, once, ready_player, spec_of
from tablut.play.search.limits import MATE, MAX_PLY, MOST_LINES, PROVEN, Clock, SearchLimits, repeats
from tablut.play.thinking import RunningSearch, WinSearcher
from tablut.position import Move, SideName
from tablut.variants import Variant, load_variant, variant_names
from tablut.work.files import excerpt
from tablut.work.machine import check_memory

LONGEST_LINE: Final = 1 << 20
"""Maximum length of a line in characters. A ``position`` line with 20,000 moves has 120,000 characters."""

COMMANDS: Final = (
    "uci",
    "isready",
    "setoption",
    "ucinewgame",
    "position",
    "go",
    "stop",
    "ponderhit",
    "show",
    "quit",
)
_MOST: Final = 10**12
_NUMBER = re.compile(r"[+-]?[0-9]{1,400}", re.ASCII)


OwnPlayer = Callable[[Variant, PlayerOptions], Player]
"""Type of a function that makes a player, such as an object of a user's class."""


class EngineOptions(NamedTuple):
    """Options of the engine, set by ``setoption``.

    - ``variant``, ``player``: Built-in rule set or path of a TOML file, and name of the player that chooses the moves.
    - ``hash``, ``table_memory``: Memory in MiB for the transposition table, and for tables probed during the search.
    - ``tables``: Folder of a tablebase, or an empty string for the built-in tables.
    - ``threads``, ``multipv``: Numbers of search threads and of best lines to find.
    - ``seed``, ``settings``: Random seed, and settings of the player, in the form ``name=value``, separated by blanks.
    - ``ponder``: Whether to write the expected reply after the chosen move.
    """

    variant: str = "ashton"
    player: str = "alphabeta"
    hash: int = 64
    tables: str = ""
    table_memory: int = 512
    threads: int = 1
    seed: int = 0
    settings: str = ""
    multipv: int = 1
    ponder: bool = False


OPTIONS: Final = {
    "variant": "type string",
    "player": "type combo",
    "hash": "type spin min 1 max 1048576",
    "tables": "type string",
    "table_memory": "type spin min 0 max 1048576",
    "threads": f"type spin min 1 max {MOST_THREADS}",
    "seed": "type spin min 0 max 999999999999",
    "settings": "type string",
    "multipv": f"type spin min 1 max {MOST_LINES}",
    "ponder": "type check",
}


class _Begun(NamedTuple):
    """Game given by the last ``position`` command: its start position and all its moves."""

    start: str
    moves: tuple[str, ...]


_START: Final = _Begun("startpos", ())


class LineProtocol(ABC):
    """Base class of the engine's protocols. It executes lines and records which parts of the state were refused.

    If a line that sets a part, such as the rule set or the position, is refused, the client may assume a state that was
    never set. The engine then refuses to search until another line sets this part.
    """

    sets: ClassVar[dict[str, tuple[str, ...]]]
    """Parts of the state that each command sets. A command that sets only the position requires all other parts."""

    def __init__(self) -> None:
        self._missing: dict[str, str] = {}
        """Missing parts, oldest first, each with the reason why it was refused."""

    def handle(self, line: str) -> bool:
        """Execute a line, without its line ending, and return whether more lines may follow."""
        command, rest = (*line.split(None, 1), "", "")[:2]
        parts = self._parts(command, rest)
        try:
            if len(line) > LONGEST_LINE:
                raise InputError(f"exceeds {LONGEST_LINE:,} characters", subject=f"line of {len(line):,} characters")
            if parts == ("position",):
                self._need(lambda part: part != "position")
            more = self._obey(command, rest.rstrip())
        except TablutError as error:
            self._missing |= dict.fromkeys(parts, str(error))
            self._refuse(command, str(error))
            return True
        for part in parts:
            self._missing.pop(part, None)
        return more

    def _parts(self, command: str, rest: str) -> tuple[str, ...]:  # noqa: ARG002 (subclasses use it)
        """Return the parts of the state that a line would set."""
        return self.sets.get(command, ())

    def _need(self, needed: Callable[[str], bool] = lambda _: True) -> None:
        """Raise InputError if a needed part of the state is missing. By default, every part is needed."""
        for part in filter(needed, self._missing):
            raise InputError(f"no position is set: the last {part} was refused ({excerpt(self._missing[part], 400)})")

    @abstractmethod
    def _obey(self, command: str, rest: str) -> bool:
        """Execute a command, and return whether more lines may follow."""

    @abstractmethod
    def _refuse(self, command: str, why: str) -> None:
        """Write the reason why a command was refused."""


class EngineSession(LineProtocol):
    """Engine session, which executes the lines of the UCI-like protocol and writes the responses.

    ``write`` writes a line. Several threads call this function, but never at the same time. ``own`` makes the player
    that the initial options name, if it is not a registered one; clients cannot name others.

    Examples
    --------
    >>> engine = EngineSession(print, EngineOptions(variant="brandubh", player="random"))
    >>> engine.handle("position startpos moves d2-f2"), engine.handle("show")
    info string position 3b3/3b3/3w3/bbwKwbb/3w3/5b1/3b3 w
    info string moves 1, white to move, brandubh
    (True, True)
    >>> engine.handle("position startpos moves d2-d3"), engine.handle("go nodes 100")
    info string move d2-d3: is not legal in '3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 b' (brandubh): a defender stands on d3
    info string no position is set: the last position was refused ...
    bestmove none
    (True, True)
    >>> engine.handle("quit")
    False
    """

    sets: ClassVar[dict[str, tuple[str, ...]]] = {"position": ("position",), "ucinewgame": ("position",)}

    def __init__(
        self,
        write: Callable[[str], None],
        options: EngineOptions = EngineOptions(),  # noqa: B008
        own: OwnPlayer | None = None,
    ) -> None:
        super().__init__()
        self._written = write
        self._lock = threading.Lock()
        self._options = options
        self._own = {} if own is None else {options.player: own}
        self._players = (*player_names(), *self._own)
        self._variant = load_variant(options.variant)
        self._board, self._begun = Board(self._variant), _START
        self._player: Player | None = None
        self._search: RunningSearch | None = None
        self._proves = False
        """Whether the last ``go`` requested a forced win. Only then is the answer "none" if no move is found."""
        self._check(options)

    @property
    def variant(self) -> str:
        """Name of the rule set."""
        return self._variant.name

    @property
    def board(self) -> Board:
        """Copy of the board, including the game history."""
        return self._board.copy()

    def place(self, board: Board) -> None:
        """Stop any running search, and continue with the game on a board, under its rules."""
        self.leave()
        if board.variant != self._variant:
            self._variant, self._player = board.variant, None
        self._board, self._begun = board.copy(), _Begun("", ())

    # -- lines -------------------------------------------------------------------------

    def _parts(self, command: str, rest: str) -> tuple[str, ...]:
        """Return the parts of the state that a line would set. The only option that sets any parts is ``variant``."""
        rules = command == "setoption" and "variant" in rest.lower().split()[:2]
        return ("rule set", "position") if rules else super()._parts(command, rest)

    def _refuse(self, command: str, why: str) -> None:
        self._info(f"{why}; no option was changed" if command == "setoption" else why)

    def _obey(self, command: str, rest: str) -> bool:
        if command in ("setoption", "ucinewgame", "position", "go") and self._busy():
            raise InputError("a search runs", subject=command, remedy="stop it first")
        match command:
            case "":
                pass
            case "quit":
                return False
            case "uci":
                self._greet()
            case "isready":
                self._get_ready()
            case "stop":
                if self._search is not None:
                    self._search.stop()
            case "ponderhit":
                if self._search is None or not self._search.ponders:
                    raise InputError("the engine is not pondering", subject="ponderhit")
                self._search.ponderhit()
            case "go":
                self._go(rest.split())
            case "show":
                self._show()
            case "setoption":
                self._set(rest)
            case "ucinewgame":
                self._board, self._begun, self._player = Board(self._variant), _START, None
            case "position":
                self._set_up(rest)
            case _:
                known = f"{', '.join(COMMANDS[:-1])} or {COMMANDS[-1]}"
                raise InputError(known, subject=f"unknown command {excerpt(command, 40)}")
        return True

    def finish(self) -> None:
        """End the session when the input ends. A search with limits, or for a forced win, is allowed to finish."""
        if self._search is not None:
            if self._search.endless or self._search.ponders:
                self._search.stop()
            self._search.wait()

    def leave(self, seconds: float = 1.0) -> None:
        """End the session after ``quit``: stop a running search, wait for it for some seconds, and write its move."""
        if self._searching() and self._search is not None:
            self._search.stop()
            self._search.wait(seconds)

    def _searching(self) -> bool:
        return self._search is not None and self._search.running

    def _busy(self) -> bool:
        """Return whether a search is running. If it is about to end, wait a short time for its end."""
        search = self._search
        if search is not None and (search.stopped or not (search.endless or search.ponders)):
            search.wait(None if search.stopped else _PATIENCE)
        return self._searching()

    def _write(self, line: str) -> None:
        with self._lock:
            self._written(line)

    def _info(self, text: str) -> None:
        self._write(f"info string {one_line(text)}")

    # -- greeting and options ----------------------------------------------------------

    def _greet(self) -> None:
        from tablut import __version__

        self._write(f"id name tablut {__version__}")
        self._write("id author the Tablut state-space toolkit developers")
        for name, kind in OPTIONS.items():
            value = getattr(self._options, name)
            value = str(value).lower() if isinstance(value, bool) else str(value) or "<empty>"
            if name == "player":
                kind += "".join(f" var {player}" for player in self._players)
            self._write(one_line(f"option name {name} {kind} default {value}"))
        self._info(f"variants: {' '.join(variant_names())}, or the path of a TOML file; current: {self._variant.name}")
        self._write("uciok")

    def _get_ready(self) -> None:
        try:
            if not self._searching():
                self._chooser()
        finally:
            self._write("readyok")

    def _set(self, rest: str) -> None:
        """Set an option. If the value is refused, no option changes."""
        found = re.fullmatch(r"name\s+(\S+)(?:\s+value(?:\s+(.*))?)?", rest)
        if found is None:
            raise InputError("expected: setoption name NAME value VALUE", subject="setoption")
        name, value = found[1].lower().replace("-", "_"), (found[2] or "").strip()
        if name not in OPTIONS:
            raise InputError(
                f"has no option {excerpt(found[1], 40)}", subject="setoption", remedy=f"use one of {' '.join(OPTIONS)}"
            )
        new: str | int = "" if value == "<empty>" else value
        if "check" in OPTIONS[name]:
            if value.lower() not in ("true", "false"):
                raise InputError("expected true or false", subject=f"setoption {name} {excerpt(value, 40)}")
            new = value.lower() == "true"
        if "spin" in OPTIONS[name]:
            low, high = (int(OPTIONS[name].split()[place]) for place in (3, 5))
            new = whole_number(name, _number(name, value), low, high)
        options = self._options._replace(**{name: new})  # type: ignore[arg-type]
        self._check(options)
        if name == "variant":
            board = Board(load_variant(options.variant))
            self._variant, self._board, self._begun = board.variant, board, _START
        self._options = options
        if name not in ("multipv", "ponder"):
            self._player = None

    def _check(self, options: EngineOptions) -> None:
        """Raise InputError for invalid options, without loading the player or the tables."""
        load_variant(options.variant)
        if options.player not in self._players:
            spec_of(options.player)
        check_lines(options.player, options.multipv, "multipv")
        check_memory("hash", options.hash)
        settings = parse_settings(_words(options.settings))
        for name, path in (("tables", options.tables or None), (BOOK, dict(settings).get(BOOK))):
            if path is not None and not (path and Path(path).exists()):
                raise InputError("does not exist", subject=f"{name} {excerpt(path)}")

    def _chooser(self) -> Player:
        """Return the player. If it cannot use its book, its tables or its settings, it plays without them."""
        if self._player is not None:
            return self._player
        own, settings = self._options, parse_settings(_words(self._options.settings))
        full = PlayerOptions(own.seed, own.hash, own.tables or None, own.table_memory, settings, own.threads)
        bare, _ = full.split_book()
        fewer = (bare, full._replace(tablebase=None), bare._replace(tablebase=None), PlayerOptions(own.seed))
        troubles: list[str] = []
        for options in dict.fromkeys((full, *fewer)):
            try:
                self._player = self._made(options)
            except Exception as error:
                troubles.append(str(error) or type(error).__name__)
                continue
            for trouble in dict.fromkeys(troubles):
                self._info(f"{trouble}; the player goes on without it")
            return self._player
        raise UnknownError(troubles[0])

    def _made(self, options: PlayerOptions) -> Player:
        plain, book = options.split_book()
        name = self._options.player
        own = self._own.get(name)
        player = ready_player(name, self._variant, plain) if own is None else own(self._variant, plain)
        if not book:
            return player
        from tablut.play.book import BookPlayer

        return BookPlayer(player, self._variant, book, options.seed)

    # -- the position ------------------------------------------------------------------

    def _set_up(self, rest: str) -> None:
        text, _, moves = f" {rest} ".partition(" moves ")
        text = text.strip()
        if not text:
            raise InputError("expected: position startpos|TEXT [moves MOVE ...]", subject="position")
        words = tuple(moves.split())
        begun = self._begun
        if begun.start == text and words[: len(begun.moves)] == begun.moves:
            # The same game continues, so only the new moves are played.
            board, new = self._board.copy(), words[len(begun.moves) :]
        else:
            start = None if text == "startpos" else read_position(text, self._variant.size)
            board, new = Board(self._variant, start), words
            board.outcome()  # rejects invalid positions
        for move in new:
            board.push_text(move)
        self._board, self._begun = board, _Begun(text, words)

    def _show(self) -> None:
        self._need()
        board = self._board
        outcome = board.outcome()
        state = f"{board.turn} to move" if outcome is None else f"over: {outcome.how}"
        self._info(f"position {board.position}")
        self._info(f"moves {board.ply}, {state}, {self._variant.name}")

    # -- searching ---------------------------------------------------------------------

    def _go(self, words: list[str]) -> None:
        board = self._board
        try:
            self._need()
            if (outcome := board.outcome()) is not None:
                raise InputError(f"the game is over ({outcome.how})", subject="go")
        except TablutError as error:
            self._info(str(error))
            self._write("bestmove none")
            return
        limits, moves, ponders, mate, refused = _read_go(words, board, self._options.player)
        self._proves = mate is not None
        try:
            player: Player = self._chooser() if mate is None else WinSearcher(board, mate, limits.nodes)
        except Exception as error:
            # Whatever goes wrong, a move without a search is better than none.
            self._answer(None, "; ".join([*refused, str(error)]))
            return
        if refused:
            self._info(f"go: {'; '.join(refused)}")
        wanted = {"moves": moves or None, "lines": 1 if self._proves else self._options.multipv}
        options = {name: value for name, value in wanted.items() if value not in (None, 1)}
        self._search = RunningSearch(player, board, limits, self._tell, self._answer, ponders=ponders, **options)
        self._search.start()

    def _tell(self, choice: Choice, seconds: float) -> None:
        words = [f"info depth {choice.depth}"]
        if self._options.multipv > 1:
            words.append(f"multipv {choice.rank}")
        if choice.mate is not None:
            words.append(f"score mate {choice.mate}")
        elif choice.score is not None:
            words.append(f"score cp {choice.score}")
        words.append(f"nodes {choice.nodes} nps {int(choice.nodes / max(seconds, 1e-6))} time {int(seconds * 1000)}")
        words.append(f"tbhits {choice.tbhits} pv " + " ".join(str(move) for move in choice.pv))
        self._write(" ".join(words))

    def _answer(self, choice: Choice | None, trouble: str) -> None:
        """Write the move. If the player has failed, write a move that repeats no position, if there is one."""
        for note in [f"go: {trouble}"] if choice is None else choice.notes:
            self._info(note)
        move = None if choice is None else choice.move
        if move is None and not self._proves:
            move = min(self._board.legal_moves, key=partial(repeats, self._board))
        with self._lock:
            # The client may send its next command as soon as it reads the move, so the flag is cleared first.
            if self._search is not None:
                self._search.running = False
            reply = f" ponder {choice.pv[1]}" if self._options.ponder and choice and len(choice.pv) > 1 else ""
            self._written(f"bestmove {move or 'none'}{reply}")


def _words(settings: str) -> list[str]:
    """Split the option ``settings`` at spaces outside quotation marks. A backslash has no special meaning."""
    words = shlex.shlex(settings, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters, words.escape = True, "", ""
    try:
        return list(words)
    except ValueError as error:
        raise InputError("has an opening quotation mark without a closing one", subject="settings") from error


_CLOCKS: Final = ("wtime", "btime", "winc", "binc", "movestogo")
_NUMBERS: Final = ("movetime", "nodes", "depth", "playouts", "mate", *_CLOCKS)
_PATIENCE: Final = 2.0
"""Longest time in seconds that a line waits for the end of a search that has limits."""
_HASTE: Final = 0.1
"""Time in seconds for a move if a ``go`` line contains no time, or no limit, that can be used."""


def _read_go(
    words: list[str], board: Board, player: str
) -> tuple[SearchLimits, list[Move], bool, int | None, list[str]]:
    """Parse the words after ``go``. Words that cannot be used are ignored, so that every line leads to a move.

    Return the limits, the moves to choose from (none for all), whether to ponder, the number of plies of a forced win,
    and the reasons why words were ignored. The moves after ``searchmoves`` end at the first word without a digit.
    """
    found: dict[str, int] = {}
    moves: list[Move] = []
    refused: list[str] = []
    given, lists = iter(words), False
    for word in given:
        try:
            if lists and not word.isalpha():
                moves.append(board.copy().push_text(word))
                continue
            lists = word == "searchmoves"
            if word in _NUMBERS:
                value = _number(word, next(given, ""))
                if word in ("movestogo", "mate"):
                    whole_number(word, value, 1, _MOST if word == "movestogo" else MATE - PROVEN - 1)
                once("limit", [*found.items(), (word, value)])
                found[word] = value
            elif word not in ("searchmoves", "ponder", "infinite"):
                raise InputError(
                    f"{excerpt(word, 40)}: expected movetime MS, nodes N, depth N, playouts N, mate N, searchmoves "
                    f"MOVES, ponder, infinite, or the clocks {' '.join(_CLOCKS)}"
                )
        except InputError as error:
            refused.append(str(error))
    if "searchmoves" in words and not moves:
        refused.append("searchmoves needs a legal move")
    mate = found.pop("mate", None)
    if mate is not None and (moves or not {"ponder", "depth", "playouts"}.isdisjoint(words)):
        refused.append("mate can be combined only with a time or nodes")
        mate = None
    limits = _limits(found, board.turn, refused)
    try:
        check_limits(player, limits)
        hurried = limits.movetime is None and not {"movetime", *_CLOCKS}.isdisjoint(words)
    except InputError as error:
        refused += [str(error)] if any(limits) else []
        hurried = bool(refused) and "infinite" not in words
    if hurried and mate is None:
        limits = limits._replace(movetime=_HASTE)
    return limits, moves, "ponder" in words, mate, refused


def _number(name: str, text: str) -> int:
    """Parse a whole number. If it is very large, return the largest number that the engine can handle."""
    if _NUMBER.fullmatch(text) is None:
        raise InputError(f"expected a whole number, not {excerpt(text, 40)}", subject=name)
    return max(-_MOST, min(int(text), _MOST))


def _limits(found: dict[str, int], turn: SideName, refused: list[str]) -> SearchLimits:
    """Return the limits that the numbers after ``go`` define. A time for the move takes precedence over the clocks."""
    nodes, depth, playouts = (max(found[name], 1) if name in found else None for name in ("nodes", "depth", "playouts"))
    limits = SearchLimits(None, nodes, None if depth is None else min(depth, MAX_PLY - 1), playouts)
    if "movetime" in found:
        return limits._replace(movetime=max(found["movetime"], 1) / 1000)
    if found.keys().isdisjoint(_CLOCKS):
        return limits
    own, other = "wb" if turn == "white" else "bw"
    if f"{own}time" not in found:
        refused.append(f"{own}time is missing, the time of the side to move in milliseconds")
        return limits
    left, more, their_left, their_more = (
        max(found.get(name, 0), 0) / 1000 for side in (own, other) for name in (f"{side}time", f"{side}inc")
    )
    opponent = (their_left, their_more) if f"{other}time" in found else None
    return limits.on_clock(Clock(left, more, found.get("movestogo"), opponent))
