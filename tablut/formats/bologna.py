"""Formats of the Bologna competition server: JSON messages, the frames that contain them, and the server's logs.

A state is ``{"board": [[…], …], "turn": "WHITE"}``: row 0 of the board is rank 1, and column 0 is file a. The empty
castle is written ``THRONE``. Once the game is over, ``turn`` contains the result instead of the side to move. A message
is sent as its length in bytes (a big-endian number of four bytes), followed by its text in UTF-8.

A game log, ``…gameLog.txt``, is written with Java's logger. Dates and levels are in the machine's language, but the
messages are always in Italian, so the reader uses only these:

- ``Players:`` and the names, with ``White:`` before the first name in some years;
- ``Stato:`` with the board in letters (rank 1 first), on the same line or on the next line;
- ``Turn: W Pawn from e4 to f4``, a move (some clients write capitals, or ``null`` instead of the turn);
- ``Pedina bianca rimossa in: d5``, a capture (in some years, this message is written twice);
- ``Mossa …``, ``Giocatore …`` and similar messages: the preceding move was rejected.

A move counts only if the resulting state follows it. A 7×7 board is written without line breaks.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from math import isqrt
from typing import Any, Final, Literal, get_args

from tablut.errors import InputError, shown_value
from tablut.formats.game_text import GameRecord, overruled, start_under
from tablut.position import OTHER_SIDE, Move, MoveText, Position, Side, parse_square, square_name
from tablut.rules.outcome import GameResult
from tablut.variants import Variant, shipped_variant
from tablut.work.files import excerpt
from tablut.work.sealed_records import read_json

# -- states, moves and names in JSON -------------------------------------------------------


Turn = Literal["WHITE", "BLACK", "WHITEWIN", "BLACKWIN", "DRAW"]

_TURNS: tuple[Turn, ...] = get_args(Turn)
_SIDES: dict[str, Side] = {"WHITE": "w", "BLACK": "b"}
_TURN_OF: dict[Side, Turn] = {"w": "WHITE", "b": "BLACK"}
_OVER: dict[str, GameResult] = {"WHITEWIN": "white", "BLACKWIN": "black", "DRAW": "draw"}
_TURN_AT_END: dict[GameResult, Turn] = {"white": "WHITEWIN", "black": "BLACKWIN", "draw": "DRAW"}
_NAME_LENGTH, _LONGEST_NAME = 10, 100
_CELLS = {"EMPTY": ".", "WHITE": "w", "BLACK": "b", "KING": "K", "THRONE": "."}
_NAMES = {".": "EMPTY", "w": "WHITE", "b": "BLACK", "K": "KING"}
_SIZES = range(3, 20, 2)


@dataclass(frozen=True, slots=True)
class BolognaState:
    """State sent by the server: the cells, and the side to move or the game result."""

    cells: str
    turn: Turn

    @property
    def size(self) -> int:
        """Number of cells along a side of the board."""
        return isqrt(len(self.cells))

    @property
    def side(self) -> Side | None:
        """Side to move, or None once the game is over."""
        return _SIDES.get(self.turn)

    @property
    def result(self) -> GameResult | None:
        """Winner or ``draw``, or None while the game continues."""
        return _OVER.get(self.turn)

    def position(self, side: Side | None = None) -> Position:
        """Return the state's position. Once the game is over, the caller must specify the side to move."""
        to_move = self.side or side
        if to_move is None:
            raise InputError(
                "does not contain the side to move, because the game is over", subject=f"state with turn {self.turn!r}"
            )
        return Position(self.cells, to_move)


def read_state(text: str) -> BolognaState:
    """Parse a state from the server's JSON."""
    data = _json_object(text, "state")
    turn, board = data.get("turn"), data.get("board")
    if turn not in _TURNS:
        raise InputError(f"turn {shown_value(turn)}: expected one of {' '.join(_TURNS)}", subject="state")
    if not isinstance(board, list) or len(board) not in _SIZES:
        found = f"{len(board)} rows" if isinstance(board, list) else shown_value(board)
        raise InputError(f"board: expected a list of 9 rows (an odd number from 3 to 19), not {found}", subject="state")
    size = len(board)
    cells = ""
    for number, row in enumerate(board):
        if not isinstance(row, list) or len(row) != size:
            found = f"{len(row)} cells" if isinstance(row, list) else shown_value(row)
            raise InputError(
                f"board row {number} (rank {number + 1}): expected {size} cells, not {found}", subject="state"
            )
        for name in row:
            square = len(cells)
            if not isinstance(name, str) or name not in _CELLS:
                where = f"board row {number} column {square % size} ({square_name(square, size)})"
                raise InputError(f"{where}: {shown_value(name)}: expected one of {' '.join(_CELLS)}", subject="state")
            if name == "THRONE" and square != size * size // 2:
                centre = square_name(size * size // 2, size)
                raise InputError(f"THRONE on {square_name(square, size)}: the castle is on {centre}", subject="state")
            cells += _CELLS[name]
    return BolognaState(cells, turn)


def write_state(position: Position, turn: Turn | None = None) -> str:
    """Return the server's JSON for a position, without spaces."""
    size = position.size
    names = [_NAMES[letter] for letter in position.cells]
    centre = size * size // 2
    if names[centre] == "EMPTY":
        names[centre] = "THRONE"
    board = [names[rank * size : (rank + 1) * size] for rank in range(size)]
    return json.dumps({"board": board, "turn": turn or _TURN_OF[position.side]}, separators=(",", ":"))


def read_move(text: str, size: int = 9) -> tuple[Move, Side | None]:
    """Parse a client's JSON for a move, and return the move with the side that claims to make it, or None."""
    data = _json_object(text, "move")
    squares = []
    for key in ("from", "to"):
        name = data.get(key)
        if not isinstance(name, str):
            raise InputError(f"{key} {shown_value(name)}: expected a square such as e4", subject="move")
        try:
            squares.append(parse_square(name, size))
        except InputError as error:
            raise InputError(f"{key}: {error}", subject="move") from error
    turn = data.get("turn")
    if turn is not None and (not isinstance(turn, str) or turn not in _SIDES):
        raise InputError(f"turn {shown_value(turn)}: expected WHITE or BLACK", subject="move")
    return Move(squares[0], squares[1], size), None if turn is None else _SIDES[turn]


def write_move(move: Move, side: Side) -> str:
    """Return a client's JSON for a move, without spaces; the inverse of `read_move`."""
    start, target = (square_name(square, move.size) for square in (move.start, move.target))
    return json.dumps({"from": start, "to": target, "turn": _TURN_OF[side]}, separators=(",", ":"))


def final_turn(result: GameResult) -> Turn:
    """Return the ``turn`` field of the state that ends a game with a given result."""
    return _TURN_AT_END[result]


def read_name(text: str) -> str:
    """Parse a player's name from a client's JSON. Collapse white space, and truncate long names."""
    name = _json_value(text, "name")
    if not isinstance(name, str):
        raise InputError("expected a JSON string", subject=f"name {excerpt(text)}")
    return " ".join(name.split())[:_LONGEST_NAME]


def short_name(name: str) -> str:
    """Return a player's name in the server's shortened form, which has at most ten letters and digits."""
    return "".join(sign for sign in name[:_NAME_LENGTH] if sign.isalnum())


def write_name(name: str) -> str:
    """Return the JSON in which a client gives its player's name."""
    return json.dumps(name)


def _json_object(text: str, what: str) -> dict[str, Any]:
    data = _json_value(text, what)
    if not isinstance(data, dict):
        raise InputError("expected a JSON object", subject=f"{what} {excerpt(text)}")
    return data


def _json_value(text: str, what: str) -> Any:
    try:
        return read_json(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too large or nested too deeply"
        raise InputError(f"is not valid JSON ({reason})", subject=f"{what} {excerpt(text)}") from error


# -- frames: messages preceded by their length ---------------------------------------------


# A message is returned when all of its bytes have arrived. Messages that exceed a limit are rejected, so that a sender
# cannot exhaust the reader's memory.


MOST_BYTES: Final = 16 << 10
"""Maximum size of a message in bytes. For comparison, a state with an 11×11 board has about 2,000 bytes."""

PORTS: Final = {"w": 5800, "b": 5801}
"""The competition server's port for each side."""

_PREFIX = 4


class FrameError(InputError):
    """Error for received bytes that are not a valid message. Nothing after these bytes can be read."""


def encode_frame(text: str) -> bytes:
    r"""Return a message as bytes, preceded by its length."""
    body = text.encode()
    return len(body).to_bytes(_PREFIX, "big") + body


class FrameReader:
    r"""Decoder that takes bytes in pieces of any size and returns complete messages."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._held += data

    @property
    def held(self) -> int:
        """Number of received bytes that have not been returned in a message yet."""
        return len(self._held)

    @property
    def partial(self) -> bool:
        """Whether some received bytes have not been returned in a message yet."""
        return bool(self._held)

    def take(self) -> str | None:
        """Return the next message, or None if it is not complete yet."""
        if len(self._held) < _PREFIX:
            return None
        length = int.from_bytes(self._held[:_PREFIX], "big")
        if length > self._most:
            raise FrameError(f"message of {length:,} bytes: the limit is {self._most:,}")
        end = _PREFIX + length
        if len(self._held) < end:
            return None
        body = bytes(self._held[_PREFIX:end])
        del self._held[:end]
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            raise FrameError(f"message of {length:,} bytes: is not UTF-8") from error


# -- game logs -----------------------------------------------------------------------------


# Every part is bounded or possessive, so that matching takes linear time on any text.
_EVENT = re.compile(
    r"Players:\s++(?:White:\s++)?(?P<white>[^\t\n]{0,300})\tvs\t(?P<black>[^\n]{0,300})"
    r"|(?P<begin>Inizio partita)"
    r"|Stato:(?P<state>)"
    r"|Turn: \S{1,40} Pawn from (?P<start>\S{0,40}) to (?P<target>\S{0,40})"
    r"|Pedina (?:bianca|nera) rimossa in: (?P<removed>\S{1,40})"
    r"|(?P<refused>(?:Mossa (?:sopra|sul|fuori|che|in)|Nessuna mossa|Formato mossa|Giocatore \S{1,40} cerca)"
    r"[^\n]{0,300})"
)
_BOARD = re.compile(r"([OWBKT\s]++)-\s*+(WW|BW|W|B|D)\b")
_SOURCE = re.compile(r"\S*\bGame(?P<game>\w++)")
_METHOD = re.compile(r"<init>|\w++")
_LETTERS = str.maketrans("OWBKT", ".wbK.")
_LETTER_TURNS: dict[str, Turn] = dict(zip(("W", "B", "WW", "BW", "D"), _TURNS, strict=True))
_LETTER_OF_TURN = {turn: letters for letters, turn in _LETTER_TURNS.items()}
_COLOURS = {"w": "bianca", "b": "nera"}
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_PACKAGE = "it.unibo.ai.didattica.competition.tablut.domain.Game"


def looks_like_log(text: str) -> bool:
    r"""Return whether a text is a game log rather than another kind of record."""
    return _EVENT.search(text) is not None and any(_source(line) for line in text.split("\n"))


def _source(line: str) -> tuple[str, str] | None:
    """Return the date and the game named on a line before a message, or None for any other line."""
    words = line.rsplit(None, 2)
    if len(words) != 3 or len(line) > 300 or _METHOD.fullmatch(words[2]) is None:
        return None
    found = _SOURCE.fullmatch(words[1])
    return None if found is None else (words[0].lstrip(), found["game"])


class _Log:
    """The text of a log, accessible by line number."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._ends = [found.start() for found in re.finditer("\n", text)]
        sources = (number for number in range(len(self._ends), -1, -1) if _source(self.line(number)) is not None)
        self._last_source = next(sources, -1)

    def number(self, place: int) -> int:
        """Return the line number, counted from 0, that contains a given place in the text."""
        return bisect_left(self._ends, place)

    def line(self, number: int) -> str:
        """Return the line with a given number, or an empty string if there is no such line."""
        if not 0 <= number <= len(self._ends):
            return ""
        start = self._ends[number - 1] + 1 if number else 0
        return self.text[start : self._ends[number] if number < len(self._ends) else len(self.text)]

    def goes_on_after(self, place: int) -> bool:
        """Return whether another message follows a given place in the text."""
        return self._last_source > self.number(place)


def read_logs(text: str, variant: Variant | None = None) -> Iterator[GameRecord | InputError]:
    """Yield each game in a log, or the error that makes the game unreadable.

    A log may contain several games, because a server that keeps running also writes later games into earlier logs.
    """
    log = _Log(text)
    games = [_LoggedGame(log)]
    for found in _EVENT.finditer(text):
        game = games[-1]
        opens = found["begin"] is not None or found["white"] is not None
        if opens and (game.begun or (found["white"] is not None and game.tags)):
            games.append(game := _LoggedGame(log))
        game.take(found)
    games = [game for game in games if game.begun or game.moves or game.start or game.fault]
    if not games:
        raise InputError("contains no game; expected a line such as FINE: Inizio partita", subject="game log")
    for game in games:
        try:
            yield game.record(variant)
        except InputError as error:
            yield error


@dataclass
class _LoggedGame:
    """State of a game while its log is being read."""

    log: _Log
    tags: dict[str, str] = field(default_factory=dict)
    begun: bool = False
    start: BolognaState | None = None
    last: BolognaState | None = None
    moves: list[MoveText] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # The last requested move, if no state has followed it yet: its match in the log, and the names of its squares.
    pending: tuple[re.Match[str], str, str] | None = None
    removed: set[str] = field(default_factory=set)
    game: str | None = None
    fault: InputError | None = None

    def take(self, found: re.Match[str]) -> None:
        """Process one message of the log. After a fault, the later messages have no meaning."""
        try:
            if self.fault is None:
                self._take(found)
        except InputError as error:
            self.fault = error

    def _take(self, found: re.Match[str]) -> None:
        # The line before the message contains the date and the source.
        before = self.log.line(self.log.number(found.start()) - 1)
        if self.game is None and (source := _source(before)) is not None:
            self.tags["Date"], self.game = source
        if found["white"] is not None:
            self.tags |= {name.capitalize(): found[name].strip() for name in ("white", "black")}
        elif found["begin"] is not None:
            self.begun = True
        elif found["start"] is not None:
            self._leave_pending("no state follows it")
            self.pending, self.removed = (found, found["start"], found["target"]), set()
        elif found["removed"] is not None:
            self.removed.add(found["removed"])
        elif found["refused"] is not None:
            self._leave_pending(found["refused"].strip())
        else:
            self._state(found)

    def record(self, variant: Variant | None) -> GameRecord:
        """Return the game's record, under the server's rules or the given rules."""
        if self.fault is not None:
            raise self.fault
        self._leave_pending("no state follows it")
        servers = shipped_variant("bologna") if self.game == "AshtonTablut" else None
        rules = variant or servers
        if rules is not None and self.last is not None and self.last.size != rules.size:
            raise InputError(
                f"its board has side {self.last.size}, but that of {rules.name!r} has {rules.size}", subject="game log"
            )
        if rules is None:
            game = self.game or "(not named)"
            self.notes.append(f"the log is of the server's game {game}, which matches no built-in rule set")
        start = None
        if self.start is not None:
            start = self.start.position("w")
        elif servers is not None:
            start = Position.parse(servers.start_position, servers.size)
        if rules is not None:
            start = start_under(start, rules, "game log")
        return GameRecord(
            tags=dict(self.tags),
            variant=variant or (servers and servers.name),
            start=start,
            moves=tuple(self.moves),
            result=None if self.last is None else self.last.result,
            positions=tuple(self.positions),
            notes=tuple(self.notes),
            warnings=overruled(servers, variant),
        )

    def _line(self, found: re.Match[str]) -> str:
        return f"game log line {self.log.number(found.start()) + 1}"

    def _leave_pending(self, reason: str) -> None:
        if self.pending is not None:
            found, start, target = self.pending
            self.notes.append(f"{self._line(found)}: {start}-{target} was not played: {reason}")
            self.pending = None

    def _state(self, found: re.Match[str]) -> None:
        board = _BOARD.match(self.log.text, found.end())
        if board is None:
            if not self.log.goes_on_after(found.end()):
                self.notes.append(f"{self._line(found)}: the log ends in the middle of a state")
                return
            raise InputError(
                "state: expected rows of O W B K T, a line with -, and W, B, WW, BW or D",
                subject=self._line(found),
            )
        cells = "".join(board[1].split()).translate(_LETTERS)
        state = BolognaState(cells, _LETTER_TURNS[board[2]])
        if state.size not in (7, 9) or state.size**2 != len(cells):
            raise InputError(f"state: has {len(cells)} cells; expected 81 (49 for Brandub)", subject=self._line(found))
        if self.last is not None and self.last.size != state.size:
            raise InputError(
                f"state: has {len(cells)} cells, but the previous one has {self.last.size**2}",
                subject=self._line(found),
            )
        if self.pending is not None:
            self._ply(state)
        elif self.last is None:
            self.start = state
        elif state.cells == self.last.cells and self.last.result is None and state.result is not None:
            self.notes.append(f"{self._line(found)}: decided without a move, by time or because a player left")
        elif state != self.last:
            # Only the repeated state at the end of a game is allowed here. Any other change requires a move.
            raise InputError(
                "state: differs from the previous one, but no move lies between them", subject=self._line(found)
            )
        self.last = state

    def _ply(self, state: BolognaState) -> None:
        assert self.pending is not None
        found, *names = self.pending
        side = self.positions[-1].side if self.positions else (self.start.side if self.start else None) or "w"
        try:
            start, target = (parse_square(name, state.size) for name in names)
            captures = frozenset(parse_square(name, state.size) for name in self.removed)
        except InputError as error:
            raise InputError(str(error), subject=self._line(found)) from error
        self.moves.append(MoveText(Move(start, target, state.size), captures))
        self.positions.append(state.position(OTHER_SIDE[side]))
        self.pending = None


# -- the server's other log, ``…_systemLog.txt``: the moves as received, without states --------


_RECEIVED = re.compile(
    r"(?P<player>White|Black) player name:\s{1,9}(?P<name>[^\n]{0,300})"
    r"|Move received\.\s{1,9}Turn: \S{1,40} Pawn from (?P<start>\S{0,40}) to (?P<target>\S{0,40})"
)
_SERVER = re.compile(r"\.server\.Server \w")


def looks_like_system_log(text: str) -> bool:
    """Return whether a text is a system log from the server rather than another kind of record."""
    return _SERVER.search(text) is not None


def read_system_logs(text: str, variant: Variant | None = None) -> Iterator[GameRecord | InputError]:
    """Yield each game in a system log, or the error that makes the game unreadable.

    The log does not contain the first position of a game.
    """
    log, servers = _Log(text), shipped_variant("bologna")
    rules = variant or servers
    games: list[tuple[dict[str, str], list[MoveText | InputError]]] = [({}, [])]
    for found in _RECEIVED.finditer(text):
        if found["player"] is not None:
            if found["player"] == "White" and games[-1][1]:
                games.append(({}, []))
            games[-1][0][found["player"]] = found["name"].strip()
            continue
        try:
            squares = [parse_square(found[name], rules.size) for name in ("start", "target")]
            games[-1][1].append(MoveText(Move(squares[0], squares[1], rules.size), None))
        except InputError as error:
            line = log.number(found.start()) + 1
            games[-1][1].append(InputError(str(error), subject=f"system log line {line}"))
    games = [game for game in games if game[1]]
    if not games:
        raise InputError(
            "contains no move; expected a line such as Move received. Turn: W Pawn from c5 to c4", subject="system log"
        )
    warnings = overruled(servers, variant)
    for tags, moves in games:
        fault = next((move for move in moves if isinstance(move, InputError)), None)
        played = tuple(move for move in moves if isinstance(move, MoveText))
        yield fault or GameRecord(tags, variant or servers.name, None, played, None, warnings=warnings)


class LogWriter:
    r"""Writer that produces a game log in the server's format, message by message. `read_logs` can read such logs."""

    def __init__(self, game: str = "AshtonTablut", clock: Callable[[], datetime] = datetime.now) -> None:
        self._source = _PACKAGE + game
        self._clock = clock
        self._lines: list[str] = []

    def text(self) -> str:
        """Return the log so far."""
        return "".join(line + "\n" for line in self._lines)

    def begin(self, white: str, black: str, start: Position, repeats: int) -> None:
        """Write the beginning of a game: the players, the repetition rule and the first state."""
        self.say("<init>", f"Players:\tWhite:\t{white}\tvs\t{black}")
        self.say("<init>", f"Repeated moves allowed:\t{repeats}\tCache:\t-1")
        self.say("<init>", "Inizio partita")
        self.state(start, "WHITE" if start.side == "w" else "BLACK", "<init>")

    def played(self, side: Side, move: Move, captured: Iterable[int], after: Position, turn: Turn) -> None:
        """Write a move that was made, its captures, and the state after it."""
        self._request(side, square_name(move.start, move.size), square_name(move.target, move.size))
        self.say("movePawn", "Movimento pedina")
        for square in captured:
            self.say(
                "checkCapture", f"Pedina {_COLOURS[OTHER_SIDE[side]]} rimossa in: {square_name(square, move.size)}"
            )
        self.state(after, turn, "checkMove")

    def refused(self, side: Side, start: str, target: str, reason: str) -> None:
        """Write a rejected move with the reason."""
        self._request(side, start, target)
        self.say("checkMove", f"Mossa che non vale: {reason}", "WARNING")

    def state(self, position: Position, turn: Turn, method: str = "endGame") -> None:
        """Write a state: the board, as letters, and the side to move."""
        size = position.size
        letters = position.cells.translate(str.maketrans(".wbK", "OWBK"))
        middle = len(letters) // 2
        if letters[middle] == "O":
            letters = f"{letters[:middle]}T{letters[middle + 1 :]}"
        rows = [letters[start : start + size] for start in range(0, len(letters), size)]
        self.say(method, "\n".join(["Stato:", *rows, "-", _LETTER_OF_TURN[turn]]))

    def say(self, method: str, message: str, level: str = "FINE") -> None:
        """Write a message with its date, source and level."""
        now = self._clock()
        hour = (now.hour + 11) % 12 + 1
        half = "AM" if now.hour < 12 else "PM"
        stamp = f"{_MONTHS[now.month - 1]} {now.day}, {now.year} {hour}:{now:%M:%S} {half}"
        self._lines += [f"{stamp} {self._source} {method}", f"{level}: {message}"]

    def _request(self, side: Side, start: str, target: str) -> None:
        self.say("checkMove", f"Turn: {side.upper()} Pawn from {start} to {target}")
