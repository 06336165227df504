"""Rows of soldiers on the edge: rule sets whose shieldwalls capture them, and placements that contain them."""

import re
from dataclasses import replace
from random import Random
from typing import Literal

from counting.reachable.certificate_checker import PlainReach
from tablut.rules import NaivePosition
from tablut.variants import Variant
from tablut.variants.model import Shieldwall
from tests.support.strategies import placement


def walls(
    variant: Variant, attackers: int, defenders: int, random: Random, mover: Literal["bracket", "any"] | None = None
) -> Variant:
    """Return a variant with shieldwalls and so many soldiers at the start that whole rows may have been captured."""
    start = [list(row) for row in variant.start]
    for letter, count in (("b", attackers), ("w", defenders)):
        free = [
            (row, file)
            for row, cells in enumerate(variant.terrain)
            for file, ground in enumerate(cells)
            if ground in ".*+" and start[row][file] == "."
        ]
        for row, file in random.sample(free, min(count, len(free))):
            start[row][file] = letter
    shieldwall = Shieldwall(corner=random.random() < 0.7, mover=mover or random.choice(["bracket", "any"]))
    rules, terrain = variant.rules.model_copy(update={"shieldwall": shieldwall}), variant.terrain
    if random.random() < 0.8:
        rules = rules.model_copy(update={"camps": rules.camps.model_copy(update={"inert": ()})})
        terrain = tuple(re.sub("[A-D]", ".", row) for row in terrain)
    return replace(variant, terrain=terrain, start=tuple(map("".join, start)), rules=rules)


def walled(variant: Variant, random: Random, *, complete: bool = False) -> NaivePosition:
    """Return a placement with a row of soldiers on an edge, perhaps with the king among them, and enemies facing it.

    One of the pieces around the row is still to arrive, unless ``complete`` is true.
    """
    size = variant.size
    position = placement(variant, random, soldiers=random.randrange(size - 3))
    pieces = {cell: piece for cell, piece in position.pieces.items() if piece != "K"}
    victim, turn = random.choice("bw"), random.choice([lambda x, y: (x, y), lambda x, y: (y, size - 1 - x)])
    mover = "bw"[victim == "b"]
    first = random.randrange(size - 3)
    end = random.randrange(first + 3, size)
    for x in range(first, end + 1):
        pieces[turn(x, 0)] = victim if first < x < end else mover
        pieces[turn(x, 1)] = mover if first < x < end else random.choice("bw.")
    if not complete:
        x, y = random.choice([(first, 0), (end, 0), (random.randrange(first + 1, end), 1)])
        away = random.randrange(y + 1, size)
        for place in range(y, away):
            pieces.pop(turn(x, place), None)
        pieces[turn(x, away)] = mover
    kings = (
        [turn(x, 0) for x in range(size)] if random.random() < 0.5 else [(x, y) for x in range(size) for y in (2, 3)]
    )
    pieces[random.choice(kings)] = "K"
    allowed = PlainReach(variant).cells
    kept = {cell: piece for cell, piece in pieces.items() if piece in "bwK" and cell in allowed[piece]}
    return NaivePosition(kept, random.choice("bw") if complete else mover)
