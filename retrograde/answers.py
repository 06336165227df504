"""What commands, pages and the explorer answer about tablebases, solved positions and puzzles, as results.

Those that only pages show are made by `reports/studies/sources.py`. A `PuzzleTree` of `retrograde.puzzles.game` is
a result as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict

from tablut.board import Board
from tablut.errors import InputError
from tablut.indexing.values import unforced
from tablut.results import Result, SparseResult

if TYPE_CHECKING:
    from retrograde.tablebase.probing import Tablebase
    from retrograde.tablebase.records import TierRecord
    from tablut.variants import Variant

# -- tablebases ----------------------------------------------------------------------------


class TierResult(Result):
    """A tier: positions count placements with a side to move; everything after them counts classes."""

    attackers: int
    defenders: int
    positions: int
    classes: int
    win: int
    draw: int
    unresolved: int
    loss: int
    max_dtm: int
    bytes: int


class TablebaseInfo(Result):
    """What a tablebase holds."""

    variant: str
    format_version: int
    max_men: int
    tiers: list[TierResult]
    missing: list[str]
    positions: int
    classes: int
    bytes: int
    bytes_per_class: float


def tier_result(record: TierRecord, variant: Variant) -> TierResult:
    """Return a tier of a variant as commands answer it: each position the first of its game."""
    rules = variant.rules
    return TierResult(
        attackers=record.attackers,
        defenders=record.defenders,
        positions=2 * record.placements,
        classes=2 * record.classes,
        **record.tally(unforced(variant), rules.move_limit),
        max_dtm=record.longest(rules.move_limit),
        bytes=record.bytes,
    )


def info_of(tablebase: Tablebase) -> TablebaseInfo:
    """Return what a tablebase holds."""
    files = tablebase.store
    tiers = [tier_result(files.tier(*material).record, tablebase.variant) for material in files.tiers()]
    classes, size = sum(tier.classes for tier in tiers), sum(tier.bytes for tier in tiers)
    return TablebaseInfo(
        variant=tablebase.variant.name,
        format_version=files.record.VERSION,
        max_men=tablebase.max_men,
        tiers=tiers,
        missing=files.missing(),
        positions=sum(tier.positions for tier in tiers),
        classes=classes,
        bytes=size,
        bytes_per_class=round(size / classes, 5) if classes else 0.0,
    )


class RatedMoveResult(Result):
    """A move with what it is worth to the side that makes it."""

    move: str
    wdl: str
    dtm: int | None


class ProbeResult(Result):
    """A position with its value, and all moves from it, the best first."""

    variant: str
    position: str
    store: str
    wdl: str
    dtm: int | None
    moves: list[RatedMoveResult]


def probe_result(tablebase: Tablebase, board: Board, store: str) -> ProbeResult:
    """Return what a tablebase says of a board, as a command answers it."""
    outcome = board.outcome()
    if outcome is not None and not (outcome.termination == "no_moves" and outcome.winner != board.turn):
        by = f"{outcome.winner} has won" if outcome.winner else "a draw"
        raise InputError(f"position '{board.position}': is decided ({outcome.how}: {by}); nothing to probe")
    verdict = tablebase.probe(board)
    moves = tablebase.best_moves(board)
    return ProbeResult(
        variant=tablebase.variant.name,
        position=str(board.position),
        store=store,
        wdl=verdict.wdl,
        dtm=verdict.dtm,
        moves=[RatedMoveResult(move=str(rated.move), wdl=rated.wdl, dtm=rated.dtm) for rated in moves],
    )


class LongestResult(Result):
    """The longest win of a side with a material, and best play to its end."""

    attackers: int
    defenders: int
    winner: str
    position: str
    dtm: int
    line: list[str]


class VerdictResult(Result):
    """What a side gets that has to move."""

    wdl: str
    dtm: int | None


class ZugzwangResult(Result):
    """A mutual zugzwang; the position has white to move."""

    position: str
    white: VerdictResult
    black: VerdictResult


class ZugzwangsResult(Result):
    """How many mutual zugzwangs there are up to symmetry, and the first of them."""

    full: int
    half: int
    listed: list[ZugzwangResult]


class TablebaseSummary(TablebaseInfo):
    """What a tablebase holds and shows; the digests are those of each tier's values."""

    digests: dict[str, str]
    longest: list[LongestResult]
    zugzwangs: ZugzwangsResult


class WalkMove(SparseResult):
    """A move with its value for the side that makes it."""

    move: str
    takes: tuple[str, ...] = ()
    wdl: str
    dtm: int | None = None
    to: int | None = None


class WalkNode(Result):
    """An undecided position with all its moves."""

    position: str
    wdl: str
    dtm: int | None = None
    moves: list[WalkMove]


class TableWalk(Result):
    """Positions near one, with the values of all their moves: by number, the first one being 0."""

    variant: str
    store: str
    plies: int
    nodes: list[WalkNode]


# -- solved positions and puzzles ---------------------------------------------------------


_Text = Annotated[str, BeforeValidator(str)]


class BoundsResult(Result):
    """What is proved about a side's chances, in plies."""

    model_config = ConfigDict(from_attributes=True)

    win_within: int | None
    no_win_within: int
    never: bool


class SolutionResult(Result):
    """A solved position, as a `retrograde.proofs.solution.Solution` says it."""

    model_config = ConfigDict(from_attributes=True)

    variant: Annotated[str, BeforeValidator(lambda variant: getattr(variant, "name", variant))]
    position: _Text
    status: str
    wdl: str | None
    dtm: int | None
    winner: str | None
    line: list[_Text]
    winning_moves: list[_Text]
    other_winning_moves: list[_Text] | None = None
    open_moves: list[_Text]
    bounds: dict[str, BoundsResult]
    nodes: int
    seconds: Annotated[float, AfterValidator(lambda seconds: round(seconds, 3))]
    source: str
    reason: str


class PuzzleResult(Result):
    """A puzzle with what became of its claims."""

    id: str
    claim: str
    verdict: str
    solution: SolutionResult


class PuzzleFile(Result):
    """The puzzles of a file with what became of their claims."""

    file: str
    checked: int
    holds: int
    refuted: int
    unknown: int
    without_claim: int
    nodes: int
    interrupted: bool = False
    puzzles: list[PuzzleResult]


class SolvedResult(SolutionResult):
    """A solved position, and what was made of its solution."""

    plies_left: int | None
    interrupted: bool = False
    proof: str | None = None
    proof_positions: int | None = None
    svg: str | None = None
