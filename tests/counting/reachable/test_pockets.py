"""Pockets and rooms: four samples that resisted every search, and no position that play reaches."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting.reachable.certificate_checker import Checker, PlainReach
from counting.reachable.certificates import PositionCertificate
from counting.reachable.drawing import draw_number, drawer_for
from counting.reachable.lemmas import lemmas_for
from counting.reachable.proof_games import pocket
from tablut.engine import engine_for
from tablut.position import square_name
from tablut.variants import Variant, load_variant
from tests.support.effort import examples, slow_but
from tests.support.strategies import placement, random_play, small_variants

# Samples of seed 1, by index.
POCKETS = {
    482_136: "f7 g7 h7 i7 f8 h8 i8 h9 i9",
    552_975: "f2 g2 g3 e4 f4 g4 f5 g5",
}


@pytest.mark.parametrize("index", slow_but([552_975], POCKETS))
def test_the_samples_that_resisted(index: int) -> None:
    variant = load_variant("ashton")
    drawer, engine = drawer_for(variant), engine_for(variant)
    number = draw_number(drawer.size, 1, index)
    board = engine.boards(drawer.positions([number]))[0]
    assert lemmas_for(variant).of_boards(board[None])[0] == 0
    squares = pocket(variant, board)
    assert " ".join(squares) == POCKETS[index]
    checker = Checker(variant)

    def problem(names: list[str]) -> str | None:
        return checker.certificate(PositionCertificate(i=index, n=str(number), pocket=" ".join(names)))

    assert problem(squares) is None
    less = [problem([name for name in squares if name != left_out]) for left_out in squares]
    # A defender on the edge may not be needed; nothing else can be spared.
    assert set(less) <= {None, "a piece of the lock could have arrived last"}
    assert less.count(None) <= 2
    assert problem([*squares, "e5"]) == "a cell of the lock is empty"
    # It is no locked set: one of its pieces can have arrived last, if not from anywhere that is possible.
    plain = PositionCertificate(i=index, n=str(number), locked=" ".join(squares))
    assert checker.certificate(plain) == "a piece of the lock could have arrived last"


def test_a_pocket_is_checked_by_other_means_than_it_is_found_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that finds pockets everywhere convinces nobody."""
    checker = Checker(load_variant("ashton"))
    (index, squares), *_ = POCKETS.items()
    number = draw_number(checker.size, 1, index)
    monkeypatch.setattr(PlainReach, "could_arrive", lambda *_: False)
    few = PositionCertificate(i=index, n=str(number), pocket=squares[:8])
    assert checker.certificate(few) == "a piece of the lock could have arrived last"
    assert checker.certificate(PositionCertificate(i=index, n=str(number), pocket=squares)) is None


@pytest.mark.parametrize("name", slow_but(["berkeley"], ["saami-tablut"]))
@pytest.mark.parametrize(
    ("index", "room"), [(49_839, "b5 c5 d5 e6 c7 e7 e8"), (82_119, "f5 g5 h5 e6 e7 h7 e8")], ids=["c7", "h7"]
)
def test_the_samples_whose_king_is_in_a_room(name: str, index: int, room: str) -> None:
    variant = load_variant(name)
    drawer, engine = drawer_for(variant), engine_for(variant)
    number = draw_number(drawer.size, 2, index)
    board = engine.boards(drawer.positions([number]))[0]
    assert lemmas_for(variant).of_boards(board[None])[0] == 0
    assert " ".join(pocket(variant, board)) == room
    checker = Checker(variant)

    def problem(names: list[str]) -> str | None:
        return checker.certificate(PositionCertificate(i=index, n=str(number), pocket=" ".join(names)))

    squares = room.split()
    assert problem(squares) is None
    assert all(problem([name for name in squares if name != left_out]) for left_out in squares)


@given(small_variants(), st.randoms(use_true_random=False))
@settings(max_examples=examples(30))
def test_rooms_are_accepted_by_the_check_and_never_reached_by_play(variant: Variant, random: Random) -> None:
    checker, reach = Checker(variant), PlainReach(variant)
    for _ in range(3):
        position = placement(variant, random, soldiers=random.randrange(3, 14))
        if cells := reach.room(position):
            names = " ".join(square_name(rank * variant.size + file, variant.size) for file, rank in cells)
            assert checker.pocket(position, names) is None
    for position in random_play(variant, random, 40)[::4]:
        assert not reach.room(position)


@given(small_variants(), st.randoms(use_true_random=False))
@settings(max_examples=examples(40))
def test_both_ways_find_the_same_pockets_under_any_rules(variant: Variant, random: Random) -> None:
    checker, reach = Checker(variant), PlainReach(variant)
    position = placement(variant, random, soldiers=random.randrange(1, 7))
    for depth in (1, 2):
        assert checker._out_of_reach(position.pieces, depth) == bool(reach.locked(position, depth))


@pytest.mark.parametrize("name", slow_but(["brandubh-5-4v0"], ["ashton-5-4v0", "brandubh-7-4v1", "leiden"]))
def test_no_pocket_holds_on_what_play_reaches(name: str) -> None:
    variant = load_variant(name)
    reach, random = PlainReach(variant), Random(3)
    positions = [position for seed in range(3) for position in random_play(variant, Random(seed), 40)]
    for position in random.sample(positions, 12):
        assert not reach.locked(position, depth=2)
        assert not reach.room(position)
