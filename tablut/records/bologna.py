"""Reader and writer for the game logs of the Bologna server, ``…gameLog.txt``.

The server writes them with Java's logger: a line with date and source, then a line with level
and message, both in the language of the machine. The messages themselves are always Italian
and have hardly changed over the years, so only they are read:

- ``Players:`` with the names, preceded by ``White:`` in some years;
- ``Stato:`` with the board in letters (rank 1 first), on the same line or the next;
- ``Turn: W Pawn from e4 to f4``, a move; some clients write capitals, or no turn (``null``);
- ``Pedina bianca rimossa in: d5``, a capture, repeated in some years;
- ``Mossa …``, ``Giocatore …`` and similar: the move before it was rejected.

A move counts only if the state after it follows. Boards of 7×7 are written without line breaks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import get_args

from tablut.errors import InputError
from tablut.formats.bologna import BolognaState, Turn
from tablut.notation import parse_square, square_name
from tablut.position import Move, MoveText, Position, Side
from tablut.records.game import GameRecord, further_games, overruled, start_under
from tablut.variants import Variant, shipped_variant

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
_TURNS: dict[str, Turn] = dict(zip(("W", "B", "WW", "BW", "D"), get_args(Turn), strict=True))
_OTHER: dict[Side, Side] = {"w": "b", "b": "w"}
_LETTER_OF_TURN = {turn: letters for letters, turn in _TURNS.items()}
_COLOURS = {"w": "bianca", "b": "nera"}
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_PACKAGE = "it.unibo.ai.didattica.competition.tablut.domain.Game"


def looks_like_log(text: str) -> bool:
    r"""Return whether a text is a game log rather than another kind of record."""
    return _EVENT.search(text) is not None and any(_source(line) for line in text.split("\n"))


def _source(line: str) -> tuple[str, str] | None:
    """Return the date and the game from a line that names the source of the next message, or None for other lines."""
    words = line.rsplit(None, 2)
    if len(words) != 3 or len(line) > 300 or _METHOD.fullmatch(words[2]) is None:
        return None
    found = _SOURCE.fullmatch(words[1])
    return None if found is None else (words[0].lstrip(), found["game"])


class _Log:
    """The text of a log, with access to its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._ends = [found.start() for found in re.finditer("\n", text)]
        sources = (number for number in range(len(self._ends), -1, -1) if _source(self.line(number)) is not None)
        self._last_source = next(sources, -1)

    def number(self, place: int) -> int:
        """Return the number of the line that contains a place in the text, counted from 0."""
        return bisect_left(self._ends, place)

    def line(self, number: int) -> str:
        """Return the line with a given number, or an empty string if there is no such line."""
        if not 0 <= number <= len(self._ends):
            return ""
        start = self._ends[number - 1] + 1 if number else 0
        return self.text[start : self._ends[number] if number < len(self._ends) else len(self.text)]

    def goes_on_after(self, place: int) -> bool:
        """Return whether another message follows a place in the text."""
        return self._last_source > self.number(place)


def read_log(text: str, variant: Variant | None = None) -> GameRecord:
    r"""Return the first game of a log. A note in the record says how many more games there are."""
    first, *others = read_logs(text, variant)
    if not others:
        return first
    return replace(first, notes=(*first.notes, further_games(len(others))))


def read_logs(text: str, variant: Variant | None = None) -> tuple[GameRecord, ...]:
    """Return all games of a log.

    There may be several, because a server that keeps running also writes later games into earlier logs.
    """
    log = _Log(text)
    games = [_Game(log)]
    for found in _EVENT.finditer(text):
        game = games[-1]
        opens = found["begin"] is not None or found["white"] is not None
        if opens and (game.begun or (found["white"] is not None and game.tags)):
            games.append(game := _Game(log))
        game.take(found)
    games = [game for game in games if game.begun or game.moves or game.start]
    if not games:
        raise InputError("contains no game; expected a line such as FINE: Inizio partita", subject="game log")
    return tuple(game.record(variant) for game in games)


@dataclass
class _Game:
    """A game of a log while it is being read."""

    log: _Log
    tags: dict[str, str] = field(default_factory=dict)
    begun: bool = False
    start: BolognaState | None = None
    last: BolognaState | None = None
    moves: list[MoveText] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # The last requested move that is not yet followed by a state: its match in the log, and the names of its squares.
    pending: tuple[re.Match[str], str, str] | None = None
    removed: set[str] = field(default_factory=set)
    game: str | None = None

    def take(self, found: re.Match[str]) -> None:
        """Process one message of the log."""
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
        """Return the record of the game, under the server's rules or the given rules."""
        self._leave_pending("no state follows it")
        servers = shipped_variant("bologna") if self.game == "AshtonTablut" else None
        rules = variant or servers
        if rules is not None and self.last is not None and self.last.size != rules.size:
            raise InputError(
                f"its board has side {self.last.size}, but that of {rules.name!r} has {rules.size}", subject="game log"
            )
        if rules is None:
            game = self.game or "(not named)"
            self.notes.append(f"the log is of the server's game {game}, which matches no shipped rule set")
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
        state = BolognaState(cells, _TURNS[board[2]])
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
        self.positions.append(state.position(_OTHER[side]))
        self.pending = None


# -- the server's other log, ``…_systemLog.txt``: the moves as received, without states --------


_RECEIVED = re.compile(
    r"(?P<player>White|Black) player name:\s{1,9}(?P<name>[^\n]{0,300})"
    r"|Move received\.\s{1,9}Turn: \S{1,40} Pawn from (?P<start>\S{0,40}) to (?P<target>\S{0,40})"
)
_SERVER = re.compile(r"\.server\.Server \w")


def looks_like_system_log(text: str) -> bool:
    """Return whether a text is a system log of the server rather than another kind of record."""
    return _SERVER.search(text) is not None


def read_system_log(text: str, variant: Variant | None = None) -> GameRecord:
    """Return the first game of a system log.

    The log contains neither the first position of a game nor which of the moves were rejected.
    """
    servers = shipped_variant("bologna")
    rules = variant or servers
    tags: dict[str, str] = {}
    moves: list[MoveText] = []
    more = 0
    for found in _RECEIVED.finditer(text):
        if found["player"] is not None:
            more += bool(moves) and found["player"] == "White"
            if not moves:
                tags[found["player"]] = found["name"].strip()
        elif not more:
            try:
                squares = [parse_square(found[name], rules.size) for name in ("start", "target")]
                moves.append(MoveText(Move(squares[0], squares[1], rules.size), None))
            except InputError as error:
                line = text.count("\n", 0, found.start()) + 1
                raise InputError(str(error), subject=f"system log line {line}") from error
    if not moves:
        raise InputError(
            "contains no move; expected a line such as Move received. Turn: W Pawn from c5 to c4", subject="system log"
        )
    notes = (further_games(more),) if more else ()
    return GameRecord(
        tags, variant or servers.name, None, tuple(moves), None, notes=notes, warnings=overruled(servers, variant)
    )


class LogWriter:
    r"""Writer of a game log in the server's format, message by message. `read_log` can read the log."""

    def __init__(self, game: str = "AshtonTablut", clock: Callable[[], datetime] = datetime.now) -> None:
        self._source = _PACKAGE + game
        self._clock = clock
        self._lines: list[str] = []

    def text(self) -> str:
        """Return the log so far."""
        return "".join(line + "\n" for line in self._lines)

    def begin(self, white: str, black: str, start: Position, repeats: int) -> None:
        """Write the beginning of a game: players, repetition rule, first state."""
        self.say("<init>", f"Players:\tWhite:\t{white}\tvs\t{black}")
        self.say("<init>", f"Repeated moves allowed:\t{repeats}\tCache:\t-1")
        self.say("<init>", "Inizio partita")
        self.state(start, "WHITE" if start.side == "w" else "BLACK", "<init>")

    def played(self, side: Side, move: Move, captured: Iterable[int], after: Position, turn: Turn) -> None:
        """Write a move that was made, with its captures and the state after it."""
        self._asked(side, square_name(move.start, move.size), square_name(move.target, move.size))
        self.say("movePawn", "Movimento pedina")
        for square in captured:
            self.say("checkCapture", f"Pedina {_COLOURS[_OTHER[side]]} rimossa in: {square_name(square, move.size)}")
        self.state(after, turn, "checkMove")

    def refused(self, side: Side, start: str, target: str, reason: str) -> None:
        """Write a rejected move with the reason."""
        self._asked(side, start, target)
        self.say("checkMove", f"Mossa che non vale: {reason}", "WARNING")

    def state(self, position: Position, turn: Turn, method: str = "endGame") -> None:
        """Write a state: the board in letters, and the turn."""
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

    def _asked(self, side: Side, start: str, target: str) -> None:
        self.say("checkMove", f"Turn: {side.upper()} Pawn from {start} to {target}")
