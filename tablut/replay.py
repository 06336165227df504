"""The replay of game records, which checks every claim of a record against the rules.

`replay` makes the moves one by one and lists the claims that are false. It stops at the first illegal move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final, Literal, NamedTuple

from tablut.board import Board
from tablut.errors import IllegalMoveError, InputError
from tablut.formats.game_text import GameRecord, NoRulesError
from tablut.formats.native import parsed_move
from tablut.position import MoveText, Position, square_name
from tablut.records import (
    ARCHIVE,
    KINDS_OF_RECORDS,
    NATIVE,
    ArchivedGame,
    RecordKind,
    kind_of,
    name_source,
    plain_text,
    read_archive,
    read_archive_games,
    read_record,
    turned,
)
from tablut.results import MoveResult, OutcomeResult, Result, outcome_result
from tablut.rules import Outcome
from tablut.variants import Variant, shipped_variant, shipped_variants
from tablut.work.files import brief
from tablut.work.progress import Observer

MOST_PLIES: Final = 20_000
"""Maximum number of moves in a record that can be replayed. Replaying this many moves takes a few seconds."""


@dataclass(frozen=True, slots=True)
class ReplayedPly:
    """One move of a record, its actual captures, and the resulting position and outcome."""

    move: MoveText
    position: Position
    outcome: Outcome | None


@brief
@dataclass(frozen=True, slots=True)
class ReplayedRecord:
    """The result of replaying a record."""

    board: Board
    start: Position
    plies: tuple[ReplayedPly, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def replay(record: GameRecord) -> ReplayedRecord:
    """Make a record's moves, and check its claims against the rules."""
    if record.variant is None:
        raise InputError("has no rule set", subject="record", remedy="set one before replaying it")
    if len(record.moves) > MOST_PLIES:
        raise InputError(f"has {len(record.moves):,} moves, but at most {MOST_PLIES:,} are replayed", subject="record")
    board = Board(record.variant, record.start)
    start, plies, problems = board.position, [], [*record.problems]
    notes = [*record.warnings, *record.notes]
    over = None
    for number, claim in enumerate(record.moves, 1):
        if over is None and (over := board.outcome()) is not None:
            problems.append(f"ply {number}: {claim} follows the end of the game ({_ending(over)})")
        try:
            board.push(claim.move)
        except IllegalMoveError as error:
            problems.append(f"ply {number}: {error}")
            break
        truth = MoveText(claim.move, frozenset(board.captured()) or None)
        if claim.captures is not None and claim.captures - {board.captured_king()} != frozenset(board.captured()):
            problems.append(f"ply {number}: recorded as {claim}, but the move is {truth}")
        taken = len(board.captured())
        if claim.count is not None and not taken <= claim.count <= taken + (board.captured_king() is not None):
            problems.append(f"ply {number}: recorded as {claim}x{claim.count}, but the move is {truth}")
        if record.positions is not None:
            problems += _differences(number, board, record.positions[number - 1])
        plies.append(ReplayedPly(truth, board.position, board.outcome()))
    outcome = board.outcome()
    if record.result is not None:
        if outcome is None:
            notes.append(f"result {record.result}: not reached on the board; perhaps by resignation, time or agreement")
        elif record.result != (outcome.winner or "draw"):
            problems.append(
                f"result: is {record.result}, but should be {outcome.winner or 'draw'} ({_ending(outcome)})"
            )
    return ReplayedRecord(board, start, tuple(plies), tuple(problems), tuple(notes))


def _differences(ply: int, board: Board, recorded: Position) -> list[str]:
    differing = [
        square_name(square, board.size)
        for square, (ours, theirs) in enumerate(zip(board.position.cells, recorded.cells, strict=True))
        if ours != theirs
    ]
    return [f"ply {ply}: the recorded board differs on {', '.join(differing)}"] if differing else []


def _ending(outcome: Outcome) -> str:
    return outcome.how + (f", {outcome.winner} wins" if outcome.winner else ", a draw")


# -- rules of records that name none: those under which the moves are legal ------------------

_PLAYED_AT: Final = {"hnefatafl.org": "copenhagen"}
"""Rule sets of sites whose records do not name them."""
_TRIED: Final = 20
"""Number of games of a file from which its rules are determined."""


def fitting_rules(text: str) -> Variant:
    """Return the built-in rule set under which the most games of a text have no faults.

    Only the first 20 games are tried. If several rule sets fit equally well, the one that is played at the site of the
    games is returned.

    Raises
    ------
    NoRulesError
        If no rule set fits, or several do.

    Examples
    --------
    >>> fitting_rules("1. d11-d9 f8-d8 2. k7-i7 f7-d7").name
    'sea-battle-11'
    >>> fitting_rules("1. d2-e2 c4-c5")
    Traceback (most recent call last):
        ...
    tablut.formats.game_text.NoRulesError: record: names no rule set, and its moves fit brandubh, brandubh-federation
    """
    kind, fits, sites = kind_of(text) or NATIVE, dict[str, int](), set[str]()
    unruled = {number for number, game in _games(kind, text, None, _TRIED) if isinstance(game, NoRulesError)}
    for variant in shipped_variants():
        for number, record in _games(kind, text, variant, _TRIED):
            if (not unruled or number in unruled) and isinstance(record, GameRecord) and _is_faultless(record):
                fits[variant.name] = fits.get(variant.name, 0) + 1
                sites.add(record.tags.get("Site", ""))
    best = [name for name, games in fits.items() if games == max(fits.values())]
    if len(best) != 1:
        best = [_PLAYED_AT[site] for site in sites if _PLAYED_AT.get(site) in best]
    if len(best) == 1:
        return shipped_variant(best[0])
    fitting = f"its moves fit {', '.join(fits)}" if fits else "no built-in one allows its moves"
    raise NoRulesError(f"names no rule set, and {fitting}", subject="record", example=next(iter(fits), "ashton"))


def _is_faultless(record: GameRecord) -> bool:
    try:
        return bool(record.moves) and replay(record).problems == record.problems
    except InputError:  # the game cannot begin in its start position, or is too long
        return False


def read_games(
    text: str, variant: Variant | None = None, *, origin: str = ""
) -> Iterator[tuple[int, GameRecord | InputError]]:
    """Yield each game of a file of any kind, or the error that makes it unreadable, with its number in the file.

    The number of a game in an archive is that of its line. Its ranks are counted from the edge that makes more games
    legal. Games that name no rule set are read under the rules that fit them. ``origin`` names the text in errors.
    """
    try:
        kind = kind_of(text, ruled=variant is not None)
        if kind is None or not text.strip():
            raise InputError(f"expected {KINDS_OF_RECORDS}" if text.strip() else "is empty", subject="record")
        games = _games(kind, text, variant)
        if variant is not None or not any(
            isinstance(game, NoRulesError) for _, game in _games(kind, text, None, _TRIED)
        ):
            yield from games
            return
        try:
            fitted = _games(kind, text, fitting_rules(text))
        except NoRulesError:
            if not any(isinstance(game, GameRecord) for _, game in _games(kind, text, None)):
                raise
            fitted = _games(kind, text, None)
        for (number, game), (_, other) in zip(games, fitted, strict=True):
            yield number, other if isinstance(game, NoRulesError) else game
    except InputError as error:
        if origin:
            name_source(error, "record", origin)
        raise


def _games(
    kind: RecordKind, text: str, variant: Variant | None, most: int | None = None
) -> Iterator[tuple[int, GameRecord | InputError]]:
    """Yield the first games of a text, or all of them. Count an archive's ranks from the edge that fits its games."""
    if kind is ARCHIVE and variant is not None and not same_upside_down(variant):
        ranks = replay_archive(variant, read_archive(text)[0][:most], Observer())[1]
        yield from islice(read_archive_games(text, variant, from_top=ranks == "top"), most)
        return
    for number, game in islice(kind.games(text, variant), most):
        unruled = isinstance(game, GameRecord) and game.variant is None
        yield number, NoRulesError("names no rule set", subject="record") if unruled else game


def read_fitting_record(text: str, variant: Variant | None, origin: str) -> GameRecord:
    """Read a record as `tablut.records.read_record` does. If it names no rule set, use the rules that fit its moves."""
    text = plain_text(text)
    try:
        record = read_record(text, variant, origin=origin)
        if record.variant is not None:
            return record
    except NoRulesError:
        pass
    try:
        rules = fitting_rules(text)
    except NoRulesError as error:
        if origin:
            name_source(error, "record", origin)
        raise
    record = read_record(text, rules, origin=origin)
    return replace(record, notes=(*record.notes, f"the record names no rule set; {rules.name} fits its moves"))


# -- archives: many games, one on each line ------------------------------------------------

Ranks = Literal["bottom", "top", "either"]


class IllegalPly(NamedTuple):
    """The first illegal move of a game."""

    ply: int
    move: str
    why: str


@brief
@dataclass(frozen=True, slots=True)
class ReplayedGame:
    """A game from an archive, replayed under a rule set.

    - ``game``: The game as recorded on its line. Ranks are counted from the bottom.
    - ``plies``: Number of legal moves up to the first illegal one.
    - ``illegal``: The first illegal move. A move after the game has ended counts as illegal.
    - ``differing``: The plies whose captures differ from those recorded on the line.
    - ``captures``: Numbers of soldiers captured by the attackers and by the defenders.
    - ``repeated``: The first ply after which a position has occurred as often as the repetition rule requires.
    - ``outcome``: The outcome on the board; None if the moves do not end the game.
    """

    game: ArchivedGame
    plies: int
    illegal: IllegalPly | None
    differing: tuple[int, ...]
    captures: tuple[int, int]
    repeated: int | None
    outcome: Outcome | None

    @property
    def captures_agree(self) -> bool:
        """Whether the captures and their numbers agree with the line. The line may also count a captured king."""
        king = self.outcome is not None and self.outcome.termination == "king_captured"
        ours, theirs = self.captures, self.game.captures
        return not self.differing and ours[1] == theirs[1] and theirs[0] - ours[0] in (0, int(king))

    @property
    def contradicted(self) -> bool:
        """Whether the outcome on the board differs from the recorded result."""
        claimed = self.game.winner
        return self.outcome is not None and claimed is not None and claimed != (self.outcome.winner or "draw")


def replay_archive(
    variant: Variant, games: Sequence[ArchivedGame], observer: Observer, *, ignore_repetition: bool = False
) -> tuple[list[ReplayedGame], Ranks]:
    """Replay all games in an archive under a rule set.

    Some archives count ranks from the bottom, others from the top. The direction that makes more games legal is used
    and returned.
    """
    rules = variant.rules
    counted = rules.repetition.times
    read = partial(parsed_move, size=variant.size)
    if ignore_repetition:
        endless = rules.repetition.model_copy(update={"result": "none"})
        variant = replace(variant, rules=rules.model_copy(update={"repetition": endless}))

    def replayed(games: Sequence[ArchivedGame]) -> list[ReplayedGame]:
        found = []
        observer.begin("games", len(games))
        for game in games:
            found.append(_replayed(variant, game, counted, read))
            observer.advance()
        return found

    bottom = replayed(games)
    if same_upside_down(variant):
        return bottom, "either"
    top = replayed([turned(game, variant.size) for game in games])
    fits = [sum(game.illegal is None for game in found) for found in (bottom, top)]
    return (bottom, "either") if fits[0] == fits[1] else (top, "top") if fits[1] > fits[0] else (bottom, "bottom")


def same_upside_down(variant: Variant) -> bool:
    """Return whether the rules stay the same upside down, so that rank direction does not matter."""
    return any(symmetry.name == "mirror_ranks" for symmetry in variant.start_symmetries)


def _replayed(variant: Variant, game: ArchivedGame, counted: int, read: Callable[[str], MoveText]) -> ReplayedGame:
    board, illegal, repeated = Board(variant), None, None
    differing: list[int] = []
    taken = [0, 0]
    for ply, word in enumerate(game.moves, 1):
        try:
            if (over := board.outcome()) is not None:
                raise IllegalMoveError(f"follows the end of the game ({_ending(over)})")
            claim = read(word)
            mover = board.turn
            board.push(claim.move)
        except InputError as error:
            illegal = IllegalPly(ply, word, getattr(error, "why", "") or str(error))
            break
        captured = frozenset(board.captured())
        taken[mover == "white"] += len(captured)
        if (claim.captures or frozenset()) - {board.captured_king()} != captured:
            differing.append(ply)
        if repeated is None and board.occurrence() >= counted:
            repeated = ply
    outcome = board.outcome()
    return ReplayedGame(game, board.ply, illegal, tuple(differing), (taken[0], taken[1]), repeated, outcome)


# -- results ------------------------------------------------------------------------------


class ReplayResult(Result):
    """The result of checking a game record against the rules: its moves, and the claims that are wrong."""

    variant: str
    tags: dict[str, str]
    start: str
    position: str
    moves: list[MoveResult]
    positions: list[str]
    outcome: OutcomeResult | None
    result: str | None
    notes: list[str]
    comments: dict[int, str]
    marks: dict[int, str]
    problems: list[str]


def replay_result(record: GameRecord, replayed: ReplayedRecord) -> ReplayResult:
    """Return the replay of a record as a command result."""
    board = replayed.board
    return ReplayResult(
        variant=board.variant.name,
        tags=dict(record.tags),
        start=str(replayed.start),
        position=str(board.position),
        moves=[
            MoveResult(
                move=str(step.move.move),
                captures=[square_name(square, board.size) for square in sorted(step.move.captures or ())],
                outcome=outcome_result(step.outcome),
            )
            for step in replayed.plies
        ],
        positions=[str(step.position) for step in replayed.plies],
        outcome=outcome_result(board.outcome()),
        result=record.result,
        notes=list(replayed.notes),
        comments=dict(record.comments),
        marks=dict(record.marks),
        problems=list(replayed.problems),
    )


class IllegalPlyResult(Result):
    """The first illegal move of a game."""

    ply: int
    move: str
    why: str


class ArchivedGameResult(Result):
    """A replayed game from an archive as part of a result; see `ReplayedGame`."""

    number: int
    plies: int
    illegal: IllegalPlyResult | None
    captures_agree: bool
    captures_differ: list[int]
    termination: str | None
    winner: str | None
    recorded: str
    contradicted: bool
    repeated: int | None


class ArchiveSummary(Result):
    """Totals of an archive: the numbers of games and plies, and the number of games with each property."""

    games: int
    plies: int
    legal: int
    captures_agree: int
    ended: int
    contradicted: int
    repeated: int


class UnreadLine(Result):
    """An archive line that cannot be read."""

    line: int
    why: str


class ArchiveResult(Result):
    """The result of checking all games in an archive against the rules."""

    variant: str
    ranks: Ranks
    games: list[ArchivedGameResult]
    unread: list[UnreadLine]
    summary: ArchiveSummary

    @property
    def holds(self) -> bool:
        """Whether every line can be read and every claim on it is correct."""
        found = self.summary
        return not self.unread and found.legal == found.captures_agree == found.games and not found.contradicted


def archive_result(variant: Variant, ranks: Ranks, games: list[ReplayedGame], unread: dict[int, str]) -> ArchiveResult:
    """Return the replay of an archive as a command result."""
    rows = [
        ArchivedGameResult(
            number=one.game.number,
            plies=one.plies,
            illegal=None if one.illegal is None else IllegalPlyResult(**one.illegal._asdict()),
            captures_agree=one.captures_agree,
            captures_differ=list(one.differing),
            termination=one.outcome and one.outcome.termination,
            winner=one.outcome and one.outcome.winner,
            recorded=one.game.result,
            contradicted=one.contradicted,
            repeated=one.repeated,
        )
        for one in games
    ]
    summary = ArchiveSummary(
        games=len(rows),
        plies=sum(row.plies for row in rows),
        legal=sum(row.illegal is None for row in rows),
        captures_agree=sum(row.captures_agree for row in rows),
        ended=sum(row.termination is not None for row in rows),
        contradicted=sum(row.contradicted for row in rows),
        repeated=sum(row.repeated is not None for row in rows),
    )
    lines = [UnreadLine(line=line, why=why) for line, why in unread.items()]
    return ArchiveResult(variant=variant.name, ranks=ranks, games=rows, unread=lines, summary=summary)
