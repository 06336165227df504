"""The key of an orbit: the same for all images, kept up by moves, rarely shared."""

import random

import numpy as np
import pytest

from tablut.automorphisms.checks import images, random_placements
from tablut.engine import engine_for
from tablut.engine.symmetric_keys import SymmetricKeys
from tablut.variants import load_variant, variant_names


@pytest.mark.parametrize("name", variant_names())
def test_equal_on_an_orbit_and_kept_up_by_moves(name: str) -> None:
    engine = engine_for(load_variant(name))
    keys, chance = SymmetricKeys(engine), random.Random(name)
    board = engine.start()
    now = keys.of(board)
    for _ in range(30):
        assert keys.key(now) == min(engine.key(b) for b in all_images(engine, board))
        for image in all_images(engine, board):
            assert keys.key(keys.of(image)) == keys.key(now)
        moves = engine.legal_moves(board).tolist()
        if not moves:
            break
        undo, outcome = engine.make(board, chance.choice(moves))
        now ^= keys.change(board, undo)
        assert (now == keys.of(board)).all()
        if outcome:
            break


def all_images(engine, board):  # type: ignore[no-untyped-def]
    words = engine.words(board)
    return [engine.boards(images(engine, words, element))[0] for element in engine.variant.symmetries]


def test_orbits_are_told_apart() -> None:
    engine = engine_for(load_variant("ashton"))
    words = np.unique(engine.canonical(random_placements(engine.variant, 500, np.random.default_rng(1)))[0], axis=0)
    keys = SymmetricKeys(engine)
    assert len({keys.key(keys.of(board)) for board in engine.boards(words)}) == len(words)
