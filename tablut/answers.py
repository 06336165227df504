"""Results about the game itself that the commands, the explorer and the site share: moves, rule sets, perft."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tablut.notation import square_name
from tablut.position import Move
from tablut.results import Result
from tablut.rules.claims import claims
from tablut.variants import Variant, rule_fields

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.engine import LeafStatistics
    from tablut.records.game import GameRecord
    from tablut.replay import Replay, ReplayedGame
    from tablut.rules import Outcome


class OutcomeResult(Result):
    """How a game ended."""

    termination: str
    winner: str | None


class MoveResult(Result):
    """A move with its captures and, if it ends the game, the outcome."""

    move: str
    captures: list[str]
    outcome: OutcomeResult | None


class MovesResult(Result):
    """The legal moves of a position."""

    variant: str
    position: str
    turn: str
    moves: list[MoveResult]
    outcome: OutcomeResult | None


def outcome_result(outcome: Outcome | None) -> OutcomeResult | None:
    """Return an outcome as a result, or None while the game goes on."""
    return None if outcome is None else OutcomeResult(termination=outcome.termination, winner=outcome.winner)


def push_result(board: Board, text: str) -> MoveResult:
    """Make a move given as text, and return the move with its captures and the outcome."""
    move = board.push_text(text)
    captures = [square_name(square, board.size) for square in board.captured()]
    return MoveResult(move=str(move), captures=captures, outcome=outcome_result(board.outcome()))


def moves_result(board: Board) -> MovesResult:
    """Return the legal moves of a board, each with its captures and outcome; the board is left unchanged."""
    told = []
    for move in list(board.legal_moves):
        told.append(push_result(board, str(move)))
        board.pop()
    return MovesResult(
        variant=board.variant.name,
        position=str(board.position),
        turn=board.turn,
        moves=told,
        outcome=outcome_result(board.outcome()),
    )


def ending(outcome: OutcomeResult | None) -> str:
    """Return a description of how a game ended, or an empty string while it goes on."""
    if outcome is None:
        return ""
    how = outcome.termination.replace("_", " ")
    return f"{how}: {outcome.winner} has won" if outcome.winner else f"{how}: a draw"


class ReplayResult(Result):
    """A game record compared with the rules: its moves, and the claims that are wrong."""

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


def replay_result(record: GameRecord, replayed: Replay) -> ReplayResult:
    """Return the result of replaying a record."""
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
    """The first move of a game that the rules do not allow."""

    ply: int
    move: str
    why: str


class ArchivedGameResult(Result):
    """A game of an archive, compared with its line; see `tablut.replay.ReplayedGame`."""

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
    """Numbers of games of an archive that have a property, and of all their plies."""

    games: int
    plies: int
    legal: int
    captures_agree: int
    ended: int
    contradicted: int
    repeated: int


class UnreadLine(Result):
    """A line of an archive that cannot be read."""

    line: int
    why: str


class ArchiveResult(Result):
    """All games of an archive, compared with the rules."""

    variant: str
    ranks: Literal["bottom", "top", "either"]
    games: list[ArchivedGameResult]
    unread: list[UnreadLine]
    summary: ArchiveSummary

    @property
    def holds(self) -> bool:
        """Whether every line can be read, and everything in it is right."""
        found = self.summary
        return not self.unread and found.legal == found.captures_agree == found.games and not found.contradicted


def archive_result(
    variant: Variant, ranks: Literal["bottom", "top", "either"], games: list[ReplayedGame], unread: dict[int, str]
) -> ArchiveResult:
    """Return the result of replaying an archive."""
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


class ListedVariant(Result):
    """Entry of a shipped rule set in the list of rule sets."""

    name: str
    title: str
    size: int
    attackers: int
    defenders: int
    source: str


class DescribedVariant(Result):
    """A rule set with all its fields."""

    variant: str
    digest: str
    title: str
    source: str
    size: int
    attackers: int
    defenders: int
    start: str
    start_rows: list[str]
    terrain: list[str]
    fields: dict[str, Any]
    meanings: dict[str, str]
    claims: list[dict[str, Any]]
    regions: dict[str, list[str]]
    symmetries: list[str]


def listed_variant(variant: Variant) -> ListedVariant:
    """Return the list entry of a rule set."""
    return ListedVariant.model_validate(variant, from_attributes=True)


def described_variant(variant: Variant) -> DescribedVariant:
    """Return the full description of a rule set."""
    fields = rule_fields(variant.rules)
    return DescribedVariant(
        variant=variant.name,
        digest=variant.digest,
        start=variant.start_position,
        start_rows=list(variant.start),
        terrain=list(variant.terrain),
        fields={field.name: field.value for field in fields},
        meanings={field.name: field.meaning for field in fields},
        claims=[claim._asdict() for claim in claims(variant)],
        regions=variant.regions.named(),
        symmetries=[symmetry.name for symmetry in variant.symmetries],
        **listed_variant(variant).model_dump(exclude={"name"}),
    )


class PerftResult(Result):
    """Numbers of move sequences of 1, 2, … plies."""

    variant: str
    position: str
    perft: list[int]
    seconds: float
    nodes_per_second: float
    threads: int
    applied: dict[str, Any] | None = None
    divide: dict[str, int] | None = None


@dataclass
class PerftCount:
    """A running perft: the counts so far, from which a result can be created at any time."""

    variant: Variant
    position: str
    threads: int
    counts: list[int] = field(default_factory=list)
    seconds: float = 0.0
    statistics: LeafStatistics | None = None
    divided: dict[int, int] | None = None

    def result(self) -> PerftResult:
        """Return the counts so far as a result."""
        return PerftResult(
            variant=self.variant.name,
            position=self.position,
            perft=self.counts,
            seconds=round(self.seconds, 6),
            nodes_per_second=round(self.counts[-1] / self.seconds, 1) if self.seconds and self.counts else 0.0,
            threads=self.threads,
            applied=None if self.statistics is None else _applied(self.statistics),
            divide=None if self.divided is None else named_moves(self.divided, self.variant.size),
        )


def _applied(statistics: LeafStatistics) -> dict[str, Any]:
    return {
        "captured": statistics.captured,
        "key_sum": str(statistics.key_sum),
        "outcomes": {
            "undecided" if outcome is None else f"{outcome.termination}, {outcome.winner} wins": count
            for outcome, count in statistics.outcomes.items()
        },
    }


def named_moves(divided: dict[int, int], size: int) -> dict[str, int]:
    """Return the number of sequences that begin with each first move, keyed by the text of the move."""
    return {str(Move.from_code(code, size)): nodes for code, nodes in divided.items()}
