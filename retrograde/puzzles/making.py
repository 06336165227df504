"""New puzzles from self-play and from random placements, each proved; those of tablebases: `retrograde.puzzles.mining`.

A puzzle is a position that the side to move wins, by one first move only, that no symmetry
maps to itself and that `tablut.status` has nothing against. Everything random comes
from one seed, and limits count nodes, so the same call makes the same puzzles.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.solver import Solver
from retrograde.proofs.win_search import ProofBudget, WinSearch
from retrograde.puzzles.puzzle_file import Puzzle, Stipulation
from retrograde.puzzles.shapes import from_shapes, theme_of
from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.layout import ATTACKERS_AT, DEFENDERS_AT, KING_AT, SIDE_AT, head
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.position import Move, Position
from tablut.rules.outcome import OUTCOMES
from tablut.variants import as_variant, shipped_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from retrograde.proofs.solution import Solution
    from retrograde.puzzles.shapes import Theme
    from tablut.engine import Engine
    from tablut.indexing import PlacementTier
    from tablut.position import Side
    from tablut.variants import Variant, VariantLike

_OPENING = 8
"""Plies of a game of which no puzzle is made."""
_GAME = 80
_BATCH = 4096
_SIDES = "wb"


class Wanted(NamedTuple):
    """What puzzles are to be made."""

    number: int
    seed: int
    plies: tuple[int, int]
    limits: ProofLimits
    winner: str | None = None
    theme: Theme | None = None


class Made(NamedTuple):
    """New puzzles."""

    puzzles: list[Puzzle]
    examined: int


def from_self_play(
    variant: VariantLike,
    wanted: Wanted,
    *,
    games: int,
    advanced: Callable[[Made], None] = lambda _: None,
) -> Made:
    """Return puzzles from self-play, at most one a game: the one that takes longest."""
    variant = as_variant(variant)
    solver = Solver(variant, wanted.limits)
    known: set[Board] = set()
    puzzles: list[Puzzle] = []
    examined = 0
    for number in range(games):
        rng = np.random.default_rng([wanted.seed, number])
        best, looked_at = _best_of_game(solver, wanted, rng)
        examined += looked_at
        if best is not None:
            canonical = Board(variant, best.position).canonical()
            if canonical not in known:
                known.add(canonical)
                source = f"self-play, seed {wanted.seed}, game {number}"
                puzzles.append(puzzle_of(variant, best, f"{stem(variant)}-{wanted.seed}-{number}", source))
        advanced(Made(puzzles.copy(), examined))
        if len(puzzles) == wanted.number:
            break
    return Made(puzzles, examined)


def _best_of_game(solver: Solver, wanted: Wanted, rng: np.random.Generator) -> tuple[Solution | None, int]:
    """Return the puzzle of a game that takes longest, if there is one, and how many positions were looked at."""
    variant, engine = solver.variant, engine_for(solver.variant)
    searches = {letter: _endless(engine, letter, wanted) for letter in _SIDES}
    best: Solution | None = None
    examined = 0
    for position in list(self_play(variant, rng, _GAME))[_OPENING:]:
        if (wanted.winner is not None and wanted.winner[0] != position.side) or not fit(variant, position):
            continue
        examined += 1
        # Most positions are not won, or too easily; that is cheaper to see than to solve them.
        if not _promising(searches[position.side], engine.board(position.cells, position.side), wanted):
            continue
        solution = solver.solve(position)
        longer = best is None or (best.dtm or 0) < (solution.dtm or 0)
        if longer and is_puzzle(solution, wanted.plies) and _has_theme(variant, solution, wanted.theme):
            best = solution
    return best, examined


def from_placements(
    variant: VariantLike,
    wanted: Wanted,
    *,
    samples: int,
    men: int,
    advanced: Callable[[Made], None] = lambda _: None,
) -> Made:
    """Return puzzles among random placements of few men, in the order in which they are found."""
    variant = as_variant(variant)
    tiers = [
        tier
        for tier in PlacementIndex(variant).tiers.values()
        if men - 2 <= tier.attackers + tier.defenders + 1 <= men and tier.defenders < tier.attackers
    ]
    if not tiers:
        raise InputError(f"--men {men}: {variant.name} has no such material")
    batches = _samples(variant, tiers, np.random.default_rng(wanted.seed), samples, wanted.winner, size=64)
    return _from_batches(variant, wanted, batches, "p", f"placements of {men} men, seed {wanted.seed}", advanced)


def from_almost(
    variant: VariantLike, wanted: Wanted, *, samples: int, advanced: Callable[[Made], None] = lambda _: None
) -> Made:
    """Return puzzles among random positions in which a fort, a ring or a shieldwall is almost there."""
    variant = as_variant(variant)
    if wanted.theme is None:
        raise InputError("--from shapes: which is told by --theme")
    positions = from_shapes(variant, wanted.theme, np.random.default_rng(wanted.seed), samples)
    batches = ([position] for position in positions)
    return _from_batches(variant, wanted, batches, wanted.theme[0], f"almost a shape, seed {wanted.seed}", advanced)


def _from_batches(
    variant: Variant,
    wanted: Wanted,
    batches: Iterable[list[Position]],
    letter: str,
    source: str,
    advanced: Callable[[Made], None],
) -> Made:
    """Return puzzles among positions, in their order."""
    engine, solver = engine_for(variant), Solver(variant, wanted.limits)
    known: set[Board] = set()
    puzzles: list[Puzzle] = []
    examined = 0
    for batch in batches:
        for position in batch:
            examined += 1
            if len(puzzles) == wanted.number:
                return Made(puzzles, examined)
            search = _endless(engine, position.side, wanted)
            board = engine.board(position.cells, position.side)
            if not fit(variant, position) or not _promising(search, board, wanted):
                continue
            solution = solver.solve(position)
            canonical = Board(variant, position).canonical()
            themed = is_puzzle(solution, wanted.plies) and _has_theme(variant, solution, wanted.theme)
            if themed and canonical not in known:
                known.add(canonical)
                name = f"{stem(variant)}-{wanted.seed}-{letter}{len(puzzles)}"
                puzzles.append(puzzle_of(variant, solution, name, source))
        advanced(Made(puzzles.copy(), examined))
    return Made(puzzles, examined)


def _endless(engine: Engine, side: str, wanted: Wanted) -> WinSearch:
    """Return a search of a side's wins, without a limit of its own."""
    budget = ProofBudget(ProofLimits(nodes=sys.maxsize))
    return WinSearch(engine, _SIDES.index(side), wanted.limits.memory_bytes // 2, budget)


def _samples(
    variant: Variant,
    tiers: Sequence[PlacementTier],
    rng: np.random.Generator,
    samples: int,
    winner: str | None,
    size: int = _BATCH,
) -> Iterator[list[Position]]:
    """Yield random undecided placements in batches; each tier is as likely as any other."""
    index = PlacementIndex(variant)
    for start in range(0, samples, size):
        batch = []
        for _ in range(min(size, samples - start)):
            tier = tiers[int(rng.integers(len(tiers)))]
            # Uniform even where a tier has more than 2**63 placements.
            rank = int.from_bytes(rng.bytes(24), "little") % tier.size
            side: Side = ("w", "b")[rng.integers(2)] if winner is None else ("w" if winner == "white" else "b")
            batch.append(index.unrank_in_tier(tier.attackers, tier.defenders, rank, side))
        yield [position for position in batch if Board(variant, position).outcome() is None]


def _promising(search: WinSearch, board: NDArray[np.uint32], wanted: Wanted) -> bool:
    """Return whether the side to move is seen to win within the longest distance, but not before the shortest."""
    spent = search.budget.nodes
    for bound in range(1, wanted.plies[1] + 1, 2):
        answer = search.within(board, bound, wanted.limits.nodes - (search.budget.nodes - spent))
        if answer is not False:
            return answer is True and bound >= wanted.plies[0]
    return False


def fit(variant: Variant, position: Position) -> bool:
    """Return whether a position may become a puzzle, whatever its value."""
    return not Board(variant, position).status() and not is_symmetrical(variant, position)


def is_puzzle(solution: Solution, plies: tuple[int, int]) -> bool:
    """Return whether a win is proved, its distance as wanted, and attained by one first move only."""
    return (
        solution.status == "proved"
        and solution.wdl == "win"
        and solution.dtm is not None
        and plies[0] <= solution.dtm <= plies[1]
        and len(solution.winning_moves) == 1
    )


def _has_theme(variant: Variant, solution: Solution, theme: Theme | None) -> bool:
    return theme is None or theme in theme_of(variant, solution.position, solution.line)


def stem(variant: Variant) -> str:
    """Return what ids of a variant's puzzles begin with: its name, if that fits into a line of tags."""
    return variant.name if re.fullmatch(r"[A-Za-z0-9._-]{1,40}", variant.name) else "own"


def puzzle_of(variant: Variant, solution: Solution, name: str, source: str) -> Puzzle:
    """Return the puzzle of a solved position, graded."""
    assert solution.dtm is not None
    temptations = len(tempting_moves(variant, solution.position, solution.winning_moves))
    shipped, theme = shipped_name(variant), theme_of(variant, solution.position, solution.line)
    return Puzzle(
        position=solution.position,
        variant=shipped or variant.name,
        stipulation=Stipulation(solution.winner, solution.dtm),
        id=name,
        first=solution.winning_moves,
        tags={"grade": str(grade(solution.dtm, temptations)), "tempting": str(temptations), "source": source}
        | ({"theme": theme} if theme else {}),
        game="" if shipped else variant.digest,
    )


# -- what a first move looks like to a human solver --------------------------------------
# A move tempts if it captures, threatens to win with the next ply, or brings the king
# nearer to an escape or an attacker beside the king. Tempting moves that do not
# attain the distance are what a solver has to see through.


def grade(plies: int, temptations: int) -> int:
    """Return how hard a puzzle is, 1 to 5.

    A point for every two plies, or for every eight tempting wrong moves, beyond the easiest.
    """
    return min(5, max(1, 1 + (plies - 3 + 1) // 2 + temptations // 8))


def threatens(variant: Variant, position: Position) -> bool:
    """Return whether the side that is *not* to move would win with its next ply, were it its turn."""
    engine = engine_for(variant)
    board = engine.board(position.cells, "w" if position.side == "b" else "b")
    children = engine.expand(engine.words(board))
    wins = "white" if position.side == "b" else "black"
    return any(
        outcome is not None and outcome.winner == wins for outcome in map(OUTCOMES.__getitem__, children.outcomes)
    )


def tempting_moves(variant: Variant, position: Position, winning: Collection[Move]) -> list[Move]:
    """Return the tempting moves that are not among the winning ones."""
    found = []
    for move in Board(variant, position).legal_moves:
        if move in winning:
            continue
        board = Board(variant, position)
        board.push(move)
        outcome = board.outcome()
        if (
            board.captured()
            or (outcome is None and threatens(variant, board.position))
            or _approach(variant, position, move)
        ):
            found.append(move)
    return found


def _approach(variant: Variant, position: Position, move: Move) -> bool:
    """Return whether a move brings the king nearer to an escape, or an attacker beside the king."""
    king = position.cells.index("K")
    if move.start == king:
        return _to_escape(variant, move.target) < _to_escape(variant, king)
    return position.side == "b" and _steps(move.target, king, variant.size) == 1


def _steps(first: int, second: int, size: int) -> int:
    return abs(first // size - second // size) + abs(first % size - second % size)


def _to_escape(variant: Variant, cell: int) -> int:
    """Return the steps from a cell to the nearest escape, pieces ignored."""
    return min(_steps(cell, escape, variant.size) for escape in variant.regions.escapes)


def is_symmetrical(variant: Variant, position: Position) -> bool:
    """Return whether a symmetry of the rules maps a position to itself."""
    images = [position.transformed(element).cells for element in variant.symmetries]
    return images.count(position.cells) > 1


# -- positions from self-play ------------------------------------------------------------
# The players know little, and differ. All take a win of the moment. A greedy one
# captures where it can; a careful one rejects moves after which the other side wins within
# three plies, as long as it finds another. Random play falls apart in a few plies;
# careful play stays in tension, and that is where long wins are.


_TABLE_BYTES = 1 << 20
_LOOK = 3


class Style(NamedTuple):
    """How a player chooses."""

    greed: float
    care: int
    roam: float


STYLES = (Style(0.0, 0, 0.0), Style(0.6, 0, 0.5), Style(0.5, 6, 0.4), Style(0.9, 12, 0.1))


def self_play(
    variant: Variant, rng: np.random.Generator, plies: int, styles: tuple[Style, Style] | None = None
) -> Iterator[Position]:
    """Yield the undecided positions of a game, the start first."""
    engine = engine_for(variant)
    if styles is None:
        first, second = rng.integers(len(STYLES), size=2)
        styles = STYLES[first], STYLES[second]
    budget = ProofBudget(ProofLimits())
    searches = [WinSearch(engine, side, _TABLE_BYTES, budget) for side in (0, 1)]
    board = engine.start()
    for ply in range(plies + 1):
        cells, side = engine.cells(board)
        yield Position(cells, side)  # type: ignore[arg-type]
        if ply == plies:
            return
        chosen = _choose(engine, board, styles[side == "b"], searches, rng)
        if chosen is None:
            return
        board = chosen


def _choose(
    engine: Engine,
    board: NDArray[np.uint32],
    style: Style,
    searches: list[WinSearch],
    rng: np.random.Generator,
) -> NDArray[np.uint32] | None:
    """Return the position after a player's move; None if the game ends."""
    mover = int(head(board)[SIDE_AT])
    children = engine.expand(engine.words(board))
    if not len(children.words) or any(
        outcome is not None and outcome.winner == ("white", "black")[mover]
        for outcome in map(OUTCOMES.__getitem__, children.outcomes)
    ):
        return None
    boards = engine.boards(children.words[children.outcomes == 0])
    if not len(boards):
        return None
    soldiers = [ATTACKERS_AT, DEFENDERS_AT]
    captures = head(boards)[:, soldiers].sum(axis=1) < head(board)[soldiers].sum()
    order = rng.permutation(len(boards))
    if mover == 0 and rng.random() < style.roam:
        king = head(boards)[:, KING_AT] != head(board)[KING_AT]
        order = np.concatenate([order[king[order]], order[~king[order]]])
    if rng.random() < style.greed:
        order = np.concatenate([order[captures[order]], order[~captures[order]]])
    enemy = searches[mover ^ 1]
    for place in order[: style.care]:
        child = boards[place]
        if engine.count_moves(child, mover ^ 1) and not enemy.within(child, _LOOK, 20_000):
            return np.array(child)
    chosen = np.array(boards[order[0]])
    return chosen if engine.count_moves(chosen, mover ^ 1) else None
