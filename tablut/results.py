"""The results of commands: base classes, number formats, and the results about the game itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from tablut.errors import InputError
from tablut.position import Move, square_name
from tablut.variants import Variant, rule_fields
from tablut.work.files import brief, excerpt

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.engine import LeafStatistics
    from tablut.rules import Outcome

ExactInt = Annotated[
    int,
    BeforeValidator(lambda value: int(value) if isinstance(value, str) else value),
    PlainSerializer(str, return_type=str, when_used="json"),
]
"""An integer that may exceed 2^53: an int in Python, a decimal string in JSON."""


_ROWS_SHOWN = 20
"""Maximum number of table rows that a notebook shows."""


@brief
class Result(BaseModel):
    """Base class of all results. They are immutable, reject unknown fields, and appear in notebooks as tables."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def _tables(self) -> dict[str, Sequence[Result]]:
        """Return the fields that are lists of results, keyed by name."""
        found: dict[str, Sequence[Result]] = {}
        for name, info in type(self).model_fields.items():
            item = get_args(info.annotation)[0] if get_origin(info.annotation) in (list, tuple) else None
            if isinstance(item, type) and issubclass(item, Result):
                found[name] = getattr(self, name)
        return found

    def to_rows(self, table: str | None = None) -> list[dict[str, Any]]:
        """Return one of the result's tables as a list of dictionaries, for example to create a data frame.

        ``table`` is the field that contains the table, by default the first such field. A result without tables becomes
        a single row.

        Raises
        ------
        InputError
            If there is no such table.

        Examples
        --------
        >>> class Ply(Result):
        ...     ply: int
        ...     new: int
        >>> class Count(Result):
        ...     plies: list[Ply]
        >>> Count(plies=[Ply(ply=0, new=1), Ply(ply=1, new=4)]).to_rows()
        [{'ply': 0, 'new': 1}, {'ply': 1, 'new': 4}]
        """
        tables = self._tables()
        if table is not None and table not in tables:
            held = ", ".join(tables) or "none"
            problem = f"does not exist; a {type(self).__name__} has {held}"
            raise InputError(problem, subject=f"table {excerpt(table)}")
        return [row.model_dump() for row in (tables[table or next(iter(tables))] if tables else [self])]

    def _repr_html_(self) -> str:
        tables = self._tables()
        parts = [_html(type(self).__name__, [(name, value) for name, value in self if name not in tables])]
        for name, rows in tables.items():
            shown = rows[:_ROWS_SHOWN]
            more = "" if shown == rows else f", {len(shown)} of {len(rows):,} rows; to_rows({name!r}) returns all"
            cells = [[value for _, value in row] for row in shown]
            parts.append(_html(name + more, cells, *(type(row).model_fields for row in shown[:1])))
        return "".join(parts)


def _html(caption: str, rows: Iterable[Iterable[Any]], head: Iterable[str] = ("field", "value")) -> str:
    """Return a table of values as HTML. Long texts are truncated."""
    lines = []
    for tag, row in [("th", head), *(("td", row) for row in rows)]:
        texts = [value if isinstance(value, str) else repr(value) for value in row]
        cells = [escape(text if len(text) <= 120 else text[:120] + "...") for text in texts]
        lines.append("".join(f"<{tag}>{cell}</{tag}>" for cell in cells))
    return f"<table><caption>{escape(caption)}</caption><tr>{'</tr><tr>'.join(lines)}</tr></table>"


class SparseResult(Result):
    """A result whose empty fields are omitted from the JSON, which may contain thousands of such results."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, whole: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {name: value for name, value in whole(self).items() if value not in (None, (), [])}


def grouped(value: int) -> str:
    """Return an integer in groups of three digits that are separated by no-break spaces."""
    return f"{value:,}".replace(",", "\N{NO-BREAK SPACE}")


def scientific(value: int, digits: int = 4) -> str:
    """Return an integer rounded to the given number of significant digits, for example ``1.235e9``."""
    if abs(value) < 10**digits:
        return str(value)
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
    return f"{rounded:.{digits - 1}e}".replace("e+", "e")


def bfile(values: Iterable[int], start: int, comments: Sequence[str]) -> str:
    r"""Return a sequence as a b-file of the OEIS: comments after ``#``, then lines with an index and a value."""
    from tablut import __version__

    lines = [f"# {comment}" for comment in (*comments, f"Tablut state-space toolkit {__version__}.")]
    lines += [f"{number} {value}" for number, value in enumerate(values, start)]
    return "".join(f"{line}\n" for line in lines)


# -- results about the game itself, shared by the commands, the explorer and the site ------


class OutcomeResult(Result):
    """The outcome of a game."""

    termination: str
    winner: str | None


class MoveResult(Result):
    """A move with its captures, and the outcome if the move ends the game."""

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
    moves = []
    for move in list(board.legal_moves):
        moves.append(push_result(board, str(move)))
        board.pop()
    return MovesResult(
        variant=board.variant.name,
        position=str(board.position),
        turn=board.turn,
        moves=moves,
        outcome=outcome_result(board.outcome()),
    )


def ending(outcome: OutcomeResult | None) -> str:
    """Return a description of how a game ended, or an empty string while it goes on."""
    if outcome is None:
        return ""
    how = outcome.termination.replace("_", " ")
    return f"{how}: {outcome.winner} has won" if outcome.winner else f"{how}: a draw"


class ListedVariant(Result):
    """A built-in rule set as an entry in the list of rule sets."""

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
    fields: dict[str, object]
    meanings: dict[str, str]
    claims: list[dict[str, Any]]
    regions: dict[str, list[str]]
    symmetries: list[str]


def listed_variant(variant: Variant) -> ListedVariant:
    """Return the list entry for a rule set."""
    return ListedVariant.model_validate(variant, from_attributes=True)


def described_variant(variant: Variant) -> DescribedVariant:
    """Return the full description of a rule set."""
    from tablut.rules.claims import claims

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
    """The counts of a running perft so far, which can be turned into a result at any time."""

    variant: Variant
    position: str
    threads: int
    counts: list[int] = field(default_factory=list)
    seconds: float = 0.0
    statistics: LeafStatistics | None = None
    divided: dict[int, int] | None = None

    def result(self) -> PerftResult:
        """Return a result with the counts so far."""
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
    """Return the number of sequences that begin with each first move, keyed by the move's text."""
    return {str(Move.from_code(code, size)): nodes for code, nodes in divided.items()}
