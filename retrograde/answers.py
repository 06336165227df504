"""Result classes for tablebases, solved positions and puzzles, used by the commands, the result pages and the explorer.

Results that appear only on result pages are created in `reports/studies/sources.py`. The result classes `PuzzleTree`
and `PuzzleTrees` are defined in `retrograde.puzzles.puzzle_game`.
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
    from retrograde.tablebase.store import Store, TierRecord
    from tablut.variants import Variant

# -- tablebases ----------------------------------------------------------------------------


class TierResult(Result):
    """Counts, longest win and size of one tier in a tablebase.

    ``positions`` counts every placement once for each side to move. The numbers of wins, draws, unresolved positions
    and losses are numbers of symmetry classes, and their sum is ``classes``.
    """

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
    """Contents of a tablebase."""

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
    """Return the counts for one of a variant's tiers. Each position is valued as if a game began with this position."""
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


def info_of(store: Store) -> TablebaseInfo:
    """Return a tablebase's contents as a result."""
    tiers = [tier_result(store.tier(*material).record, store.variant) for material in store.tiers()]
    classes, size = sum(tier.classes for tier in tiers), sum(tier.bytes for tier in tiers)
    return TablebaseInfo(
        variant=store.variant.name,
        format_version=store.record.VERSION,
        max_men=store.max_men,
        tiers=tiers,
        missing=store.missing(),
        positions=sum(tier.positions for tier in tiers),
        classes=classes,
        bytes=size,
        bytes_per_class=round(size / classes, 5) if classes else 0.0,
    )


class RatedMoveResult(Result):
    """A move and its value for the side that makes it."""

    move: str
    wdl: str
    dtm: int | None


class ProbeResult(Result):
    """A position with its value, and its moves with their values, ordered from the best to the worst."""

    variant: str
    position: str
    store: str
    wdl: str
    dtm: int | None
    moves: list[RatedMoveResult]


def probe_result(tablebase: Tablebase, board: Board, store: str) -> ProbeResult:
    """Look up a board in a tablebase, and return its value and the value of each move."""
    outcome = board.outcome()
    if outcome is not None and not (outcome.termination == "no_moves" and outcome.winner != board.turn):
        by = f"{outcome.winner} has won" if outcome.winner else "a draw"
        raise InputError(
            f"is decided ({outcome.how}: {by})", subject=f"position '{board.position}'", remedy="choose another one"
        )
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
    """One side's longest win with given material, and best play from there to the end of the game."""

    attackers: int
    defenders: int
    winner: str
    position: str
    dtm: int
    line: list[str]


class VerdictResult(Result):
    """Value of a position for the side to move."""

    wdl: str
    dtm: int | None


class ZugzwangResult(Result):
    """A mutual zugzwang and its values with either side to move. In ``position``, white is to move."""

    position: str
    white: VerdictResult
    black: VerdictResult


class ZugzwangsResult(Result):
    """Numbers of mutual zugzwangs up to symmetry, and a list of the first few."""

    full: int
    half: int
    listed: list[ZugzwangResult]


class TablebaseSummary(TablebaseInfo):
    """Contents of a tablebase, including its longest wins, its mutual zugzwangs, and digests of its tiers' values."""

    digests: dict[str, str]
    longest: list[LongestResult]
    zugzwangs: ZugzwangsResult


class WalkMove(SparseResult):
    """A move and its value for the side that makes it. ``to`` is the number of the node after the move."""

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
    """All positions within a certain number of plies of a root position, and the values of all their moves.

    The nodes are numbered, and the root is node 0.
    """

    variant: str
    store: str
    plies: int
    nodes: list[WalkNode]


# -- solved positions and puzzles ---------------------------------------------------------


_Text = Annotated[str, BeforeValidator(str)]


class BoundsResult(Result):
    """Proved bounds on the number of plies that a side needs to win."""

    model_config = ConfigDict(from_attributes=True)

    win_within: int | None
    no_win_within: int
    never: bool


class SolutionResult(Result):
    """A solved position: the fields of a `tablut.prober.Solution`."""

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
    """A puzzle, its solution, and a verdict on whether its claim is true."""

    id: str
    claim: str
    verdict: str
    solution: SolutionResult


class PuzzleFile(Result):
    """Results for the puzzles in a file, and the number of claims that are true."""

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
    """A solved position, and the names of the proof file and diagram file that were written for it."""

    plies_left: int | None
    interrupted: bool = False
    proof: str | None = None
    proof_positions: int | None = None
    svg: str | None = None
    png: str | None = None
    gif: str | None = None
