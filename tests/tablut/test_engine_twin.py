"""The kernels against the naive twin: random play, random placements, random rules, random terrain."""

from dataclasses import replace
from itertools import combinations, product
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symmetry import dihedral
from tablut.engine import engine_for
from tablut.position import Move
from tablut.rules import OUTCOMES, NaiveGame, NaivePosition
from tablut.variants import load_variant
from tests.support.effort import MORE, examples, slow_but
from tests.support.games import OLDER, OLDER_NAMES
from tests.support.placements import letters
from tests.support.strategies import placement, random_play, random_terrains, random_variants

# The tables of a board of eleven take a second to make: there are fewer of these.
SIZES = (3, 5, 5, 5, 7, 7, 7, 9, 9, 11)
SEEDS = st.integers(0, 2**32)
relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def assert_twins_agree(variant, position):
    """Everything that the engine says of a position is what the naive rules say."""
    game, engine, size = NaiveGame(variant), engine_for(variant), variant.size
    text = game.write(position)
    board = engine.board(letters(variant.size, position), position.side)
    before = board.copy()
    words = engine.words(board)
    assert engine.cells(board) == (letters(variant.size, position), position.side), text
    np.testing.assert_array_equal(engine.boards(words)[0], board, err_msg=text)

    naive = {
        Move(start[1] * size + start[0], target[1] * size + target[0], size).code: (start, target)
        for start, target in game.legal_moves(position)
    }
    moves = engine.legal_moves(board).tolist()
    assert sorted(moves) == sorted(naive), text
    for side, letter in enumerate("wb"):
        assert engine.count_moves(board, side) == len(game.legal_moves(position, letter)), (text, letter)

    children = engine.expand(words)
    assert children.moves.tolist() == moves
    keys = sum(map(engine.key, engine.boards(children.words)))
    assert engine.perft_applied(board, 1).key_sum == keys % 2**64, text
    for move, child, code in zip(moves, engine.boards(children.words), children.outcomes, strict=True):
        result = game.apply(position, naive[move])
        what = f"{text} {game.move_name(naive[move])}"
        undo, outcome = engine.make(board, move)
        assert OUTCOMES[outcome] == result.outcome, what
        assert engine.captured(undo) == tuple(sorted(rank * size + file for file, rank in result.captured)), what
        assert engine.cells(board) == (letters(variant.size, result.position), result.position.side), what
        np.testing.assert_array_equal(child, board, err_msg=what)
        assert code == outcome, what
        engine.unmake(board, undo)
        np.testing.assert_array_equal(board, before, err_msg=what)


def naive_packing(letters, side):
    """The packed integer, written from its description."""
    cells = len(letters)
    value = sum(1 << cell for cell, letter in enumerate(letters) if letter == "b")
    value |= sum(1 << (cells + cell) for cell, letter in enumerate(letters) if letter == "w")
    width = len(bin(cells - 1)) - 2
    return value | letters.index("K") << (2 * cells) | (side == "b") << (2 * cells + width)


def as_integer(words):
    return sum(int(word) << (64 * number) for number, word in enumerate(words))


@pytest.mark.parametrize("variant", OLDER, ids=lambda variant: variant.name)
@given(seed=SEEDS)
@settings(relaxed, max_examples=examples(2, 2 * MORE))
def test_shipped_rules(variant, seed):
    random = Random(seed)
    for position in [*random_play(variant, random, 40)[::8], *(placement(variant, random) for _ in range(2))]:
        assert_twins_agree(variant, position)


@given(variant=random_variants(later=True), seed=SEEDS)
@settings(relaxed, max_examples=examples(8, 4 * MORE))
def test_random_rules(variant, seed):
    random = Random(seed)
    for _ in range(5):
        assert_twins_agree(variant, placement(variant, random))


@given(variant=random_terrains(sizes=SIZES, later=True), seed=SEEDS)
@settings(relaxed, max_examples=examples(8, 2 * MORE))
def test_random_terrain(variant, seed):
    # Making the tables of a terrain takes longer than asking them.
    random = Random(seed)
    for _ in range(6):
        assert_twins_agree(variant, placement(variant, random))


@pytest.mark.parametrize("size", slow_but([12, 19], range(12, 20)))
@given(data=st.data(), seed=SEEDS)
@settings(relaxed, max_examples=examples(2))
def test_wide_boards(size, data, seed):
    # Few pieces move over the whole board, many meet.
    variant, random = data.draw(random_terrains(sizes=(size,), later=True)), Random(seed)
    for soldiers in (None, 12, 2 * size):
        assert_twins_agree(variant, placement(variant, random, soldiers=soldiers))


@given(variant=random_terrains(sizes=(3, 5), later=True), seed=SEEDS)
@settings(relaxed, max_examples=examples(25, 2 * MORE))
def test_crowded_small_boards(variant, seed):
    # Where sides are left without a move, castles are besieged and kings are surrounded.
    random = Random(seed)
    for _ in range(5):
        assert_twins_agree(variant, placement(variant, random, soldiers=random.randrange(variant.size**2)))


@pytest.mark.parametrize("white", ["never", "empty", "empty_or_besieged", "always"])
@pytest.mark.parametrize("black", ["never", "empty", "always"])
def test_soldiers_beside_a_castle_that_is_empty_held_or_besieged(white, black):
    base = load_variant("brandubh")
    castle = base.rules.castle.model_copy(update={"hostile_to_white": white, "hostile_to_black": black})
    variant = replace(base, rules=base.rules.model_copy(update={"castle": castle}))
    for victim, king in product("wb", ((3, 3), (5, 1))):
        for beside in (cells for number in range(4) for cells in combinations(((2, 3), (4, 3), (3, 2)), number)):
            mover = "b" if victim == "w" else "w"
            pieces = {king: "K", (3, 4): victim, (0, 5): mover, **dict.fromkeys(beside, "b")}
            assert_twins_agree(variant, NaivePosition(pieces, mover))


@pytest.mark.parametrize("size", slow_but([3, 11, 12, 19], [5, 7, 9, 16]))
@given(data=st.data(), seed=SEEDS)
@settings(relaxed, max_examples=examples(2))
def test_packing_is_the_documented_integer(size, data, seed):
    # Of a variant, only the size and the cells that pieces may stand on matter: few tables, many placements.
    variant, random = data.draw(random_terrains(sizes=(size,))), Random(seed)
    engine = engine_for(variant)
    for _ in range(20):
        position = placement(variant, random)
        cells = letters(variant.size, position)
        words = engine.words(engine.board(cells, position.side))
        assert as_integer(words[0]) == naive_packing(cells, position.side)


@pytest.mark.parametrize("name", [None, *OLDER_NAMES])
@given(data=st.data(), seed=SEEDS)
@settings(relaxed, max_examples=examples(4))
def test_canonical_is_the_least_of_all_images(name, data, seed):
    # Shipped games have groups of their own; random terrain has hardly any, and sizes that no game has.
    variant = data.draw(random_terrains(sizes=(3, 3, 3, 11, 13, 19))) if name is None else load_variant(name)
    random, engine = Random(seed), engine_for(variant)
    position = placement(variant, random)
    cells = letters(variant.size, position)
    words = engine.words(engine.board(cells, position.side))
    for group in (dihedral(variant.size), engine.group, dihedral(variant.size)[::4]):
        images = []
        for element in group:
            image = [""] * len(cells)
            for cell, letter in enumerate(cells):
                image[element.table[cell]] = letter
            images.append(naive_packing("".join(image), position.side))
        canonical, number = engine.canonical(words, group)
        assert as_integer(canonical[0]) == min(images)
        assert number[0] == images.index(min(images))


@given(variant=random_variants(later=True) | random_terrains(sizes=(3, 5, 7), later=True), seed=SEEDS)
@settings(relaxed, max_examples=examples(6, 2 * MORE))
def test_applied_perft_is_the_naive_walk(variant, seed):
    """Nodes, captures, outcomes and the sum of keys, two plies deep."""
    game, engine = NaiveGame(variant), engine_for(variant)
    position = placement(variant, Random(seed), soldiers=8)
    nodes = captured = key_sum = 0
    outcomes = {}
    for move in game.legal_moves(position):
        result = game.apply(position, move)
        if result.outcome is not None:
            continue
        for reply in game.legal_moves(result.position):
            leaf = game.apply(result.position, reply)
            nodes += 1
            captured += len(leaf.captured)
            key_sum += engine.key(engine.board(letters(variant.size, leaf.position), leaf.position.side))
            outcomes[leaf.outcome] = outcomes.get(leaf.outcome, 0) + 1
    board = engine.board(letters(variant.size, position), position.side)
    for threads in (1, 2):
        found = engine.perft_applied(board, 2, threads=threads)
        assert found == (nodes, captured, key_sum % 2**64, outcomes), game.write(position)
        assert engine.perft(board, 2, threads=threads) == nodes
