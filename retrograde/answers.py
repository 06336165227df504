"""What commands, pages and the explorer answer about tablebases, solved positions and puzzles, as results.

Each result is made by a function beside it. A `retrograde.puzzles.game.PuzzleTree` is one as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict

from retrograde.tablebase.store import tier_name
from tablut.board import Board
from tablut.errors import InputError
from tablut.indexing.values import unforced
from tablut.notation import square_name
from tablut.position import SIDES, Position, SideName
from tablut.results import Result, SparseResult

if TYPE_CHECKING:
    from retrograde.tablebase.probing import Tablebase
    from retrograde.tablebase.querying import Listed
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


def summarise(tablebase: Tablebase, most: int = 100_000) -> TablebaseSummary:
    """Return what a complete tablebase holds, its longest wins, and its mutual zugzwangs, ``most`` of them listed."""
    from retrograde.tablebase.probing import best_line

    files = tablebase.store
    files.check_complete()
    longest = [
        LongestResult(
            attackers=material[0],
            defenders=material[1],
            winner=winner,
            position=str(found.position),
            dtm=found.dtm or 0,
            line=[str(move) for move in best_line(Board(tablebase.variant, found.position), tablebase.value)],
        )
        for material in files.tiers()
        for winner in SIDES
        if (found := _longest(tablebase, material, winner)) is not None
    ]
    return TablebaseSummary(
        **dict(info_of(tablebase)),
        digests={tier_name(material): files.tier(*material).record.digest for material in files.tiers()},
        longest=longest,
        zugzwangs=_zugzwangs(tablebase, most),
    )


def _longest(tablebase: Tablebase, material: tuple[int, int], winner: SideName) -> Listed | None:
    """Return a position of a material in which a side takes longest to win."""
    from retrograde.tablebase.querying import TableQuery, list_positions

    found: list[Listed] = []
    for side in SIDES:
        query = TableQuery("win" if side == winner else "loss", side, materials=(material,), order="longest")
        found += list_positions(tablebase.store, query, 1).positions
    return max(found, key=lambda one: one.dtm or 0, default=None)


def _zugzwangs(tablebase: Tablebase, most: int) -> ZugzwangsResult:
    from retrograde.tablebase.querying import TableQuery, list_positions

    full = half = 0
    listed: list[ZugzwangResult] = []
    # One material after the other: the index of all at once can take gigabytes.
    for material in tablebase.store.tiers():
        query = TableQuery(side="white", materials=(material,), zugzwang="any", order="longest")
        found = list_positions(tablebase.store, query, most)
        some = [_both_sides(tablebase, one) for one in found.positions]
        if len(some) == found.found:
            lost = sum(one.white.wdl == one.black.wdl == "loss" for one in some)
        else:
            lost = list_positions(tablebase.store, query._replace(zugzwang="full"), 0).found
        full, half = full + lost, half + found.found - lost
        listed = sorted([*listed, *some], key=lambda one: -1 if one.white.dtm is None else one.white.dtm, reverse=True)
        listed = listed[:most]
    return ZugzwangsResult(full=full, half=half, listed=listed)


def _both_sides(tablebase: Tablebase, white: Listed) -> ZugzwangResult:
    black = tablebase.probe(Position(white.position.cells, "b"))
    return ZugzwangResult(
        position=str(white.position),
        white=VerdictResult(wdl=white.wdl, dtm=white.dtm),
        black=VerdictResult(wdl=black.wdl, dtm=black.dtm),
    )


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


def walk(tablebase: Tablebase, position: Position, plies: int, most: int = 20_000) -> TableWalk:
    """Return a part of a tablebase as a graph: all positions within some plies of one, and best play from each.

    A program that has it shows an ending or a solved board without the tables and without the rules. Moves that lead
    out of it have their values and no number to go to.
    """
    if Board(tablebase.variant, position).outcome() is not None:
        raise InputError(f"position '{position}': the game is over, there is nothing to walk to")
    numbers: dict[Position, int] = {position: 0}
    waiting: list[tuple[Position, int]] = [(position, plies)]
    nodes: list[WalkNode] = []
    while len(nodes) < len(waiting):
        at, left = waiting[len(nodes)]
        nodes.append(_node(tablebase, at, left, numbers, waiting))
        if len(waiting) > most:
            raise InputError(f"position '{position}': more than {most:,} positions; ask for fewer plies")
    store = tablebase.store.root.name
    return TableWalk(variant=tablebase.variant.name, store=store, plies=plies, nodes=nodes)


def _node(
    tablebase: Tablebase,
    position: Position,
    left: int,
    numbers: dict[Position, int],
    waiting: list[tuple[Position, int]],
) -> WalkNode:
    """Return the node of a position; what it leads to is put in the queue if it belongs to the walk."""
    board = Board(tablebase.variant, position)
    verdict = tablebase.probe(board)
    moves = []
    for place, rated in enumerate(tablebase.best_moves(board)):
        board.push(rated.move)
        takes = tuple(square_name(square, board.size) for square in board.captured())
        to = None
        if board.outcome() is None:
            # Best play is followed to its end, and where nothing is forced no further.
            wanted = left > 0 or (place == 0 and verdict.dtm is not None)
            to = numbers.get(board.position)
            if to is None and wanted:
                to = numbers[board.position] = len(numbers)
                waiting.append((board.position, max(0, left - 1)))
        board.pop()
        moves.append(WalkMove(move=str(rated.move), takes=takes, wdl=rated.wdl, dtm=rated.dtm, to=to))
    return WalkNode(position=str(position), wdl=verdict.wdl, dtm=verdict.dtm, moves=moves)


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
