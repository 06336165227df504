"""New puzzles: reproducible, what they claim, and one first move only."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.solver import solve
from retrograde.puzzles.making import (
    Wanted,
    from_almost,
    from_placements,
    from_self_play,
    grade,
    is_symmetrical,
    self_play,
    tempting_moves,
)
from retrograde.puzzles.puzzle_file import judge
from retrograde.puzzles.shapes import from_shapes
from tablut.board import Board
from tablut.errors import InputError
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.variants import load_variant

FEW = ProofLimits(nodes=100_000, memory_bytes=1 << 22, positions=0)


def assert_sound(made, variant, plies) -> None:
    assert made.puzzles
    boards = [Board(variant, puzzle.position).canonical() for puzzle in made.puzzles]
    assert len(set(boards)) == len(boards)
    for puzzle in made.puzzles:
        assert not Board(variant, puzzle.position).status()
        assert not is_symmetrical(variant, puzzle.position)
        solution = solve(
            variant, puzzle.position, limits=ProofLimits(nodes=2_000_000, memory_bytes=1 << 22, positions=0)
        )
        assert judge(puzzle, solution) == "holds"
        assert solution.dtm is not None
        assert plies[0] <= solution.dtm <= plies[1]
        assert len(solution.winning_moves) == 1
        assert puzzle.first == solution.winning_moves
        assert 1 <= int(puzzle.tags["grade"]) <= 5


def test_self_play_is_legal_and_the_same_for_a_seed() -> None:
    variant = load_variant("mcgill")
    first, second = ([*self_play(variant, np.random.default_rng(seed), 30)] for seed in (1, 1))
    assert first == second
    assert first != [*self_play(variant, np.random.default_rng(2), 30)]
    for before, after in pairwise(first):
        board = Board(variant, before)
        replies = []
        for move in board.legal_moves:
            board.push(move)
            replies.append(board.position)
            board.pop()
        assert after in replies


def test_puzzles_from_self_play() -> None:
    variant = load_variant("brandubh")
    made, again = (
        from_self_play(variant, Wanted(number=3, seed=5, plies=(3, 5), limits=FEW), games=12) for _ in range(2)
    )
    assert made == again
    assert_sound(made, variant, (3, 5))


def test_what_tempts() -> None:
    variant = load_variant("mcgill")
    # The king may go to the open edge (threat and approach), capture on d4, or do neither.
    position = Position.parse("9/9/9/9/9/2wbK4/9/9/7b1 w", 9)
    tempting = {str(move) for move in tempting_moves(variant, position, [])}
    assert "e4-e1" in tempting  # threatens a1
    assert "e4-e3" in tempting  # nearer to a corner
    assert "c4-c5" not in tempting
    winning = [move for move in Board(variant, position).legal_moves if str(move) == "e4-e1"]
    assert "e4-e1" not in {str(move) for move in tempting_moves(variant, position, winning)}


@pytest.mark.parametrize(("plies", "tempting", "expected"), [(1, 0, 1), (3, 7, 1), (3, 8, 2), (7, 0, 3), (21, 40, 5)])
def test_grades(plies: int, tempting: int, expected: int) -> None:
    assert grade(plies, tempting) == expected


def test_puzzles_from_placements() -> None:
    variant = load_variant("brandubh")
    made, again = (
        from_placements(variant, Wanted(number=2, seed=1, plies=(5, 9), limits=FEW, winner="white"), samples=300, men=7)
        for _ in range(2)
    )
    assert made == again
    assert_sound(made, variant, (5, 9))
    for puzzle in made.puzzles:
        attackers, defenders = puzzle.position.material
        assert 5 <= attackers + defenders + 1 <= 7
        assert puzzle.position.side == "w"
    with pytest.raises(InputError, match="--men 99"):
        from_placements(variant, Wanted(number=1, seed=1, plies=(1, 9), limits=FEW), samples=10, men=99)


@pytest.mark.parametrize("theme", ["shieldwall", "exit fort", "encirclement"])
def test_puzzles_of_a_theme_have_it_in_their_solution(theme) -> None:
    variant = load_variant("copenhagen")
    wanted = Wanted(number=1, seed=1, plies=(3, 3), limits=FEW, theme=theme)
    made = from_almost(variant, wanted, samples=400)
    assert_sound(made, variant, (3, 3))
    (puzzle,) = made.puzzles
    assert puzzle.tags["theme"] == theme
    game, taken = NaiveGame(variant), 0
    position = game.read(str(puzzle.position))
    for move in solve(variant, puzzle.position, limits=FEW).line:
        result = game.apply(position, game.parse_move(str(move)))
        position, taken = result.position, max(taken, len(result.captured))
    if theme == "shieldwall":
        assert taken >= 2
    else:
        assert result.outcome.how == theme
    if theme != "encirclement":
        with pytest.raises(InputError, match="no such rule"):
            from_almost("fetlar", wanted, samples=1)


@pytest.mark.parametrize("theme", ["shieldwall", "exit fort", "encirclement"])
def test_shapes_fit_small_boards_or_are_refused(theme) -> None:
    small, smaller = (
        replace(load_variant(name), rules=load_variant("copenhagen").rules) for name in ("brandubh", "ashton-5-4v0")
    )
    rng = np.random.default_rng(1)
    assert all(position.size == 7 for position in from_shapes(small, theme, rng, 100))
    if theme != "exit fort":
        with pytest.raises(InputError, match="side 7"):
            next(from_shapes(smaller, theme, rng, 1))
