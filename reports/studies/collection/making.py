"""New puzzles from self-play and from random placements, all of them proved.

The module `mining` finds puzzles in tablebases instead. A puzzle is a position where the side to move can win and
exactly one first move leads to the shortest win. No symmetry maps the position to itself, and it is possible according
to `tablut.status`. All randomness comes from one seed, and limits count nodes rather than time, so the same call always
creates the same puzzles.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reports.studies.collection.shapes import Theme, from_shapes, theme_of
from retrograde.proofs.solver import Solver
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from retrograde.puzzles.puzzle_file import Puzzle, Stipulation
from tablut.board import Board
from tablut.engine import Engine, engine_for
from tablut.engine.layout import ATTACKERS_AT, DEFENDERS_AT, KING_AT, SIDE_AT, head
from tablut.errors import InputError
from tablut.indexing import PlacementIndex, PlacementTier
from tablut.position import Move, Position, Side
from tablut.prober import Prober, Solution
from tablut.rules.outcome import OUTCOMES
from tablut.variants import Variant, VariantLike, as_variant, shipped_name

_OPENING = 8
"""Number of positions at the start of each game that are not considered as puzzles."""
_GAME = 80
_BATCH = 4096
_SIDES = "wb"


class Wanted(NamedTuple):
    """Specification of the puzzles to find: their number, length, winner and theme, and the limits for the proofs."""

    number: int
    seed: int
    plies: tuple[int, int]
    limits: ProofLimits
    winner: str | None = None
    theme: Theme | None = None


class Made(NamedTuple):
    """New puzzles, and the number of positions examined to find them."""

    puzzles: list[Puzzle]
    examined: int


class Making:
    """Collector of new puzzles for a variant. No puzzle is a symmetric image of another."""

    def __init__(self, variant: Variant, wanted: Wanted, prober: Prober | None = None) -> None:
        self.variant, self.wanted, self.puzzles, self.examined = variant, wanted, list[Puzzle](), 0
        self._solver = Solver(variant, wanted.limits, prober)
        self._known: set[Board] = set()

    @property
    def made(self) -> Made:
        """The puzzles found so far."""
        return Made(self.puzzles.copy(), self.examined)

    @property
    def done(self) -> bool:
        """Whether enough puzzles have been found."""
        return len(self.puzzles) == self.wanted.number

    def solve(self, position: Position, search: WinSearch | None = None) -> Solution | None:
        """Return a position's solution if it is a puzzle of the requested kind.

        If a search is given, it serves as a quick filter: it must find the win first.
        """
        # Most positions are not won or are won too quickly. This filter detects them more cheaply than a full solution.
        if search is not None and not _promising(search, position, self.wanted):
            return None
        solution = self._solver.solve(position)
        wanted = is_puzzle(solution, self.wanted.plies) and _has_theme(self.variant, solution, self.wanted.theme)
        return solution if wanted else None

    def add(self, solution: Solution, name: str, source: str) -> None:
        """Add a puzzle, unless a symmetric image of it is already in the list."""
        canonical = Board(self.variant, solution.position).canonical()
        if canonical not in self._known:
            self._known.add(canonical)
            seed, shipped = self.wanted.seed, stem(self.variant)
            self.puzzles.append(puzzle_of(self.variant, solution, f"{shipped}-{seed}-{name}", source))


def from_self_play(
    variant: VariantLike, wanted: Wanted, *, games: int, advanced: Callable[[Made], None] = lambda _: None
) -> Made:
    """Return puzzles from self-play. Each game provides at most one puzzle, the one with the longest win."""
    making = Making(as_variant(variant), wanted)
    for number in range(games):
        best = _best_of_game(making, np.random.default_rng([wanted.seed, number]))
        if best is not None:
            making.add(best, f"{number}", f"self-play, seed {wanted.seed}, game {number}")
        advanced(making.made)
        if making.done:
            break
    return making.made


def _best_of_game(making: Making, rng: np.random.Generator) -> Solution | None:
    """Return the puzzle with the longest win in a game, or None if the game contains no puzzle."""
    variant, wanted = making.variant, making.wanted
    searches = {letter: endless(variant, letter, wanted) for letter in _SIDES}
    found = []
    for position in list(self_play(variant, rng, _GAME))[_OPENING:]:
        if (wanted.winner is None or wanted.winner[0] == position.side) and fit(variant, position):
            making.examined += 1
            found.append(making.solve(position, searches[position.side]))
    return max((solution for solution in found if solution is not None), key=lambda one: one.dtm or 0, default=None)


def from_placements(
    variant: VariantLike, wanted: Wanted, *, samples: int, men: int, advanced: Callable[[Made], None] = lambda _: None
) -> Made:
    """Return puzzles found among random placements with few men, in order of discovery."""
    variant = as_variant(variant)
    tiers = [
        tier
        for tier in PlacementIndex(variant).tiers.values()
        if men - 2 <= tier.attackers + tier.defenders + 1 <= men and tier.defenders < tier.attackers
    ]
    if not tiers:
        raise InputError(f"has no suitable tier in {variant.name}", parameter="men", value=men)
    batches = _samples(variant, tiers, np.random.default_rng(wanted.seed), samples, wanted.winner, size=64)
    return _from_batches(variant, wanted, batches, "p", f"placements of {men} men, seed {wanted.seed}", advanced)


def from_almost(
    variant: VariantLike, wanted: Wanted, *, samples: int, advanced: Callable[[Made], None] = lambda _: None
) -> Made:
    """Return puzzles found among random positions where a fort, a ring or a shieldwall is almost complete."""
    variant = as_variant(variant)
    if wanted.theme is None:
        raise InputError("is required for shapes", parameter="theme")
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
    """Return the puzzles among the given positions, in the same order."""
    making = Making(variant, wanted)
    for batch in batches:
        for position in batch:
            making.examined += 1
            if making.done:
                return making.made
            if fit(variant, position):
                solution = making.solve(position, endless(variant, position.side, wanted))
                if solution is not None:
                    making.add(solution, f"{letter}{len(making.puzzles)}", source)
        advanced(making.made)
    return making.made


def endless(variant: Variant, side: str, wanted: Wanted) -> WinSearch:
    """Return a search for a side's wins with an unlimited budget."""
    budget = ProofBudget(ProofLimits(nodes=sys.maxsize))
    return WinSearch(engine_for(variant), _SIDES.index(side), wanted.limits.memory_bytes // 2, budget)


def _samples(
    variant: Variant,
    tiers: Sequence[PlacementTier],
    rng: np.random.Generator,
    samples: int,
    winner: str | None,
    size: int = _BATCH,
) -> Iterator[list[Position]]:
    """Yield random undecided positions in batches. All tiers are equally likely."""
    index = PlacementIndex(variant)
    for start in range(0, samples, size):
        batch = []
        for _ in range(min(size, samples - start)):
            tier = tiers[int(rng.integers(len(tiers)))]
            # The distribution is practically uniform, even if a tier has more than 2**63 placements.
            rank = int.from_bytes(rng.bytes(24), "little") % tier.size
            side: Side = ("w", "b")[rng.integers(2)] if winner is None else ("w" if winner == "white" else "b")
            batch.append(index.unrank_in_tier(tier.attackers, tier.defenders, rank, side))
        yield [position for position in batch if Board(variant, position).outcome() is None]


def _promising(search: WinSearch, position: Position, wanted: Wanted) -> bool:
    """Return whether the side to move has a win whose length is within the requested limits."""
    spent, board = search.budget.nodes, search.engine.board(position.cells, position.side)
    for bound in range(1, wanted.plies[1] + 1, 2):
        answer = search.within(board, bound, wanted.limits.nodes - (search.budget.nodes - spent))
        if answer is not False:
            return answer is True and bound >= wanted.plies[0]
    return False


def fit(variant: Variant, position: Position) -> bool:
    """Return whether a position is suitable for a puzzle, apart from its value."""
    return not Board(variant, position).status() and not is_symmetrical(variant, position)


def is_puzzle(solution: Solution, plies: tuple[int, int]) -> bool:
    """Return whether a solution is a proved win of the requested length that exactly one first move attains."""
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
    """Return the prefix for a variant's puzzle ids: its name if that is a valid tag, otherwise ``own``."""
    return variant.name if re.fullmatch(r"[A-Za-z0-9._-]{1,40}", variant.name) else "own"


def format_puzzles(puzzles: Sequence[Puzzle], header: str = "") -> str:
    """Return a puzzle file's content. This is the inverse of `retrograde.puzzles.puzzle_file.parse_puzzles`."""
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    return "".join(f"{line}\n" for line in [*lines, *map(str, puzzles)])


def puzzle_of(variant: Variant, solution: Solution, name: str, source: str) -> Puzzle:
    """Return a solved position's puzzle with its grade."""
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


# -- a puzzle's difficulty for a human solver --------------------------------------------
# A move is tempting if it captures, threatens to win with the next ply, brings the king closer to an escape, or places
# an attacker next to the king. The more tempting wrong moves a puzzle has, the harder it is.


def grade(plies: int, temptations: int) -> int:
    """Return a puzzle's difficulty, from 1 to 5.

    The easiest puzzles have grade 1. Every two additional plies and every eight tempting wrong moves add 1.
    """
    return min(5, max(1, 1 + (plies - 3 + 1) // 2 + temptations // 8))


def threatens(variant: Variant, position: Position) -> bool:
    """Return whether the side that is *not* to move could win immediately if it were that side's turn."""
    engine = engine_for(variant)
    board = engine.board(position.cells, "w" if position.side == "b" else "b")
    children = engine.expand(engine.words(board))
    wins = "white" if position.side == "b" else "black"
    return any(
        outcome is not None and outcome.winner == wins for outcome in map(OUTCOMES.__getitem__, children.outcomes)
    )


def tempting_moves(variant: Variant, position: Position, winning: Collection[Move]) -> list[Move]:
    """Return the tempting moves that are not among the winning moves."""
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
    """Return whether a move brings the king closer to an escape, or places an attacker next to the king."""
    king = position.cells.index("K")
    if move.start == king:
        return _to_escape(variant, move.target) < _to_escape(variant, king)
    return position.side == "b" and _steps(move.target, king, variant.size) == 1


def _steps(first: int, second: int, size: int) -> int:
    return abs(first // size - second // size) + abs(first % size - second % size)


def _to_escape(variant: Variant, cell: int) -> int:
    """Return the number of steps from a cell to the nearest escape, ignoring pieces."""
    return min(_steps(cell, escape, variant.size) for escape in variant.regions.escapes)


def is_symmetrical(variant: Variant, position: Position) -> bool:
    """Return whether some symmetry of the rules other than the identity maps a position to itself."""
    images = [position.transformed(element).cells for element in variant.symmetries]
    return images.count(position.cells) > 1


# -- positions from self-play ------------------------------------------------------------
# The players are simple and differ in style. All of them play an immediate win if there is one. A greedy player
# captures if it can. A careful player avoids moves after which the other side wins within three plies, unless it finds
# no other move. Random play soon ends in a loss, whereas careful play leads to positions with long wins.


_TABLE_BYTES = 1 << 20
_LOOK = 3


class Style(NamedTuple):
    """A way to choose moves: how often captures and king moves are preferred, and how many moves are checked."""

    greed: float
    care: int
    roam: float


STYLES = (Style(0.0, 0, 0.0), Style(0.6, 0, 0.5), Style(0.5, 6, 0.4), Style(0.9, 12, 0.1))


def self_play(
    variant: Variant, rng: np.random.Generator, plies: int, styles: tuple[Style, Style] | None = None
) -> Iterator[Position]:
    """Play a game, and yield its undecided positions, including the start position."""
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
    engine: Engine, board: NDArray[np.uint32], style: Style, searches: list[WinSearch], rng: np.random.Generator
) -> NDArray[np.uint32] | None:
    """Return the board after a player's move, or None if the game is over."""
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
