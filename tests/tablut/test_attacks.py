"""Each question of `tablut.engine.attacks` against the naive rules, asked of random placements under all rule sets."""

from random import Random

import numpy as np
import pytest

from tablut.engine import attacks, engine_for
from tablut.engine.jit import kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.position import Move
from tablut.rules import NaiveGame
from tablut.variants import load_variant
from tests.support.effort import slow_but
from tests.support.games import OLDER_NAMES
from tests.support.placements import letters
from tests.support.strategies import placement

QUESTIONS = 12


@kernel
def ask(tables, board_array, cell, answers_array):
    """Write the answers about one board and one cell; the cell is empty."""
    t, board, answers = flat(tables), pointer(board_array), pointer(answers_array)
    king = attacks.king_of(t, board)
    answers[2] = attacks.slides_onto(t, board, cell)
    answers[3] = attacks.king_capture(t, board)
    threatens, answers[4], answers[5] = attacks.blocking_places(t, board, king)
    answers[6] = threatens
    answers[7] = attacks.attackers_beside(t, board, cell)
    rank, file = attacks.coordinates(t, cell)
    answers[8] = (attacks.beside(t, board, rank, 1) >> file) & 1
    answers[9] = (attacks.beside(t, board, t.size + file, 0) >> rank) & 1
    answers[10] = attacks.may_capture(t, board, 1, cell, king)
    answers[11] = attacks.may_capture(t, board, 0, cell, king)


@kernel
def legal_among_all(tables, board_array, found):
    """Write for each of the 2^14 codes whether it is a legal move."""
    t, board = flat(tables), pointer(board_array)
    for move in range(len(found)):
        found[move] = attacks.is_legal(t, board, move)


def king_can_escape(game, position) -> bool:
    escapes = {(cell % game.size, cell // game.size) for cell in game.variant.regions.escapes}
    king = position.king()
    return any(start == king and target in escapes for start, target in game.legal_moves(position, "w"))


class Naive:
    """The same questions, by the naive rules."""

    def __init__(self, variant, position) -> None:
        self.variant, self.size = variant, variant.size
        self.game, self.position = NaiveGame(variant), position

    def code(self, cell) -> int:
        return cell[1] * self.size + cell[0]

    def moves(self, side: str) -> list[tuple[int, int]]:
        return [(self.code(start), self.code(target)) for start, target in self.game.legal_moves(self.position, side)]

    def captures_king(self) -> set[int]:
        """Codes of black's moves that capture the king."""
        black = self.position._replace(side="b")
        return {
            Move(self.code(start), self.code(target), self.size).code
            for start, target in self.game.legal_moves(black)
            if getattr(self.game.apply(black, (start, target)).outcome, "termination", "") == "king_captured"
        }

    def captures_at(self, side: str, cell: int) -> bool:
        """Whether any move of a side to a cell captures a soldier, or the king."""
        turned = self.position._replace(side=side)
        found = False
        for start, target in self.game.legal_moves(turned):
            if self.code(target) == cell:
                result = self.game.apply(turned, (start, target))
                found |= bool(result.captured) or getattr(result.outcome, "termination", "") == "king_captured"
        return found


@pytest.mark.parametrize("name", slow_but(OLDER_NAMES, ["alea-evangelii"]))
def test_answers_are_those_of_the_naive_rules(name: str) -> None:
    variant, random = load_variant(name), Random(name)
    engine, size = engine_for(variant), variant.size
    asked = 0
    for _ in range(20):
        position = placement(variant, random)
        text = letters(variant.size, position)
        board = engine.board(text, position.side)
        naive = Naive(variant, position)
        king = text.index("K")
        empty = [cell for cell, letter in enumerate(text) if letter == "."]
        cell = random.choice(empty)
        a = np.zeros(QUESTIONS, dtype=np.int64)
        ask(engine.tables, board, cell, a)
        what = f"{name} {naive.game.write(position)} cell {cell}"

        rank, file = divmod(king, size)
        onto = {start for start, target in naive.moves("b") if target == cell}
        assert (a[2] in onto) if onto else a[2] == attacks.NO_MOVE, what

        captures = naive.captures_king()
        assert (a[3] in captures) if captures else a[3] == attacks.NO_MOVE, what

        assert bool(a[6]) == king_can_escape(naive.game, position), what
        if a[6]:
            for block in empty:
                placed = text[:block] + "b" + text[block + 1 :]
                blocked = np.zeros(QUESTIONS, dtype=np.int64)
                ask(engine.tables, engine.board(placed, "w"), next(c for c in empty if c != block), blocked)
                in_the_way = (block // size == rank and a[4] >> (block % size) & 1) or (
                    block % size == file and a[5] >> (block // size) & 1
                )
                assert bool(in_the_way) == (not blocked[6]), (what, block)
                asked += 1

        sides = {1: cell % size > 0 and cell - 1, 2: cell >= size and cell - size}
        sides |= {4: cell % size < size - 1 and cell + 1, 8: cell < size * (size - 1) and cell + size}
        near = {way: text[beside] for way, beside in sides.items() if beside is not False}
        assert a[7] == sum(way for way, letter in near.items() if letter == "b"), what
        assert bool(a[8]) == any(letter == "b" for letter in near.values()), what
        assert bool(a[9]) == any(letter in "wK" for letter in near.values()), what
        # Whoever may capture, may; what cannot, never does.
        assert a[10] or not naive.captures_at("b", cell), what
        assert a[11] or not naive.captures_at("w", cell), what
    assert asked or not variant.regions.escapes


@pytest.mark.parametrize("name", ["ashton", "mcgill", "brandubh-5-4v4", "alea-evangelii"])
def test_every_code_is_legal_or_not_as_the_naive_rules_say(name: str) -> None:
    variant, random = load_variant(name), Random(7)
    engine = engine_for(variant)
    found = np.zeros(1 << 14, dtype=np.uint8)
    for _ in range(8):
        position = placement(variant, random)
        naive = Naive(variant, position)
        legal_among_all(engine.tables, engine.board(letters(variant.size, position), position.side), found)
        expected = {Move(*cells, variant.size).code for cells in naive.moves(position.side)}
        assert set(np.flatnonzero(found).tolist()) == expected
