"""New puzzles from self-play and from random placements, each proved; those of tablebases: `retrograde.puzzles.mining`.

A puzzle is a position that the side to move wins, by one first move only, that no symmetry
maps to itself and that `tablut.status` has nothing against. Everything random comes
from one seed, and limits count nodes, so the same call makes the same puzzles.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.solver import Solver
from retrograde.proofs.win_search import Budget, WinSearch
from retrograde.puzzles.backwards import lengthen
from retrograde.puzzles.features import grade, is_symmetrical, tempting_moves
from retrograde.puzzles.puzzle_file import Puzzle, Stipulation
from retrograde.puzzles.selfplay import self_play
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.variants import as_variant, shipped_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from retrograde.proofs.solution import Solution
    from tablut.engine import Engine
    from tablut.indexing import PlacementTier
    from tablut.position import Position, Side
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


class Made(NamedTuple):
    """New puzzles."""

    puzzles: list[Puzzle]
    examined: int


def from_self_play(
    variant: VariantLike,
    wanted: Wanted,
    *,
    games: int,
    deepen: int = 0,
    tell: Callable[[Made], None] = lambda _: None,
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
            source = f"self-play, seed {wanted.seed}, game {number}"
            for added in range(1, deepen + 1):
                longer = lengthen(solver, best, wanted.limits, rng, partial(fit, variant))
                if longer is None or (longer.dtm or 0) > wanted.plies[1]:
                    break
                best, source = longer, f"self-play, seed {wanted.seed}, game {number}, {2 * added} plies put in front"
            canonical = Board(variant, best.position).canonical()
            if canonical not in known:
                known.add(canonical)
                puzzles.append(puzzle_of(variant, best, f"{stem(variant)}-{wanted.seed}-{number}", source))
        tell(Made(puzzles.copy(), examined))
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
        if is_puzzle(solution, wanted.plies) and (best is None or (best.dtm or 0) < (solution.dtm or 0)):
            best = solution
    return best, examined


def from_placements(
    variant: VariantLike,
    wanted: Wanted,
    *,
    samples: int,
    men: int,
    tell: Callable[[Made], None] = lambda _: None,
) -> Made:
    """Return puzzles among random placements of few men, in the order in which they are found."""
    variant = as_variant(variant)
    engine = engine_for(variant)
    solver = Solver(variant, wanted.limits)
    tiers = [
        tier
        for tier in PlacementIndex(variant).tiers.values()
        if men - 2 <= tier.attackers + tier.defenders + 1 <= men and tier.defenders < tier.attackers
    ]
    if not tiers:
        raise InputError(f"--men {men}: {variant.name} has no such material")
    known: set[Board] = set()
    puzzles: list[Puzzle] = []
    examined = 0
    for batch in _samples(variant, tiers, np.random.default_rng(wanted.seed), samples, wanted.winner, size=64):
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
            if is_puzzle(solution, wanted.plies) and canonical not in known:
                known.add(canonical)
                name = f"{stem(variant)}-{wanted.seed}-p{len(puzzles)}"
                source = f"placements of {men} men, seed {wanted.seed}"
                puzzles.append(puzzle_of(variant, solution, name, source))
        tell(Made(puzzles.copy(), examined))
    return Made(puzzles, examined)


def _endless(engine: Engine, side: str, wanted: Wanted) -> WinSearch:
    """Return a search of a side's wins, without a limit of its own."""
    budget = Budget(ProofLimits(nodes=sys.maxsize))
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


def stem(variant: Variant) -> str:
    """Return what ids of a variant's puzzles begin with: its name, if that fits into a line of tags."""
    return variant.name if re.fullmatch(r"[A-Za-z0-9._-]{1,40}", variant.name) else "own"


def puzzle_of(variant: Variant, solution: Solution, name: str, source: str) -> Puzzle:
    """Return the puzzle of a solved position, graded."""
    assert solution.dtm is not None
    temptations = len(tempting_moves(variant, solution.position, solution.winning_moves))
    shipped = shipped_name(variant)
    return Puzzle(
        position=solution.position,
        variant=shipped or variant.name,
        stipulation=Stipulation(solution.winner, solution.dtm),
        id=name,
        first=solution.winning_moves,
        tags={"grade": str(grade(solution.dtm, temptations)), "tempting": str(temptations), "source": source},
        game="" if shipped else variant.digest,
    )
