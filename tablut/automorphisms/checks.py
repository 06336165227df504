"""Tests, on samples of positions, that the symmetries of a rule set act as automorphisms of the game.

A symmetry g should map every position p to a position g·p whose moves, captures and outcomes are the images of those of
p. `verify` tests this on all positions near the start, on positions from random play and on random placements. It
accepts any group, so it can also detect a wrong one. For a symmetry of the square that does not preserve the rules,
`breaks` searches for a counterexample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from symmetry import Symmetry, permutation_group, stabiliser
from tablut.engine import Engine, engine_for
from tablut.engine.layout import images_of_moves
from tablut.errors import numbers, whole_number
from tablut.indexing import PlacementIndex
from tablut.position import Position, diagram_cells
from tablut.variants import Variant

Words = NDArray[np.uint64]

_PART = 20_000
"""Number of positions whose plies are kept in memory at the same time."""


@dataclass(frozen=True, slots=True)
class SymmetryCheck:
    """The result of testing one claim (``name``) on a number of ``cases``.

    ``failures`` is the number of cases that failed, and ``example`` one of them, or an empty string.
    """

    name: str
    cases: int
    failures: int
    example: str = ""


def images(engine: Engine, words: Words, symmetry: Symmetry) -> Words:
    """Return the images of positions under one symmetry."""
    # If the group consists of a single element, the canonical form is simply the image under that element.
    return engine.canonical(words, (symmetry,))[0]


def random_placements(variant: Variant, count: int, rng: np.random.Generator) -> Words:
    """Return random undecided placements with a random side to move.

    All possible pairs of numbers of attackers and defenders are equally likely.
    """
    engine, index = engine_for(variant), PlacementIndex(variant)
    random = Random(int(rng.integers(1 << 62)))
    tiers = [tier for tier in index.tiers.values() if tier.size]
    drawn = []
    for _ in range(count if tiers else 0):
        tier = random.choice(tiers)
        rank = random.randrange(tier.size)
        drawn.append(index.unrank_in_tier(tier.attackers, tier.defenders, rank, random.choice(("w", "b"))))
    return engine.words(drawn)


def random_positions(variant: Variant, count: int, rng: np.random.Generator, plies: int = 40) -> Words:
    """Return distinct undecided positions from random games. The positions are taken from all plies of the games."""
    engine = engine_for(variant)
    each = max(1, count // plies)
    words = np.repeat(engine.words(engine.start()), each, axis=0)
    found = [words[:1]]
    for _ in range(plies):
        children = engine.expand(words)
        undecided = np.flatnonzero(children.outcomes == 0)
        if not len(undecided):
            break
        words = children.words[rng.choice(undecided, each)]
        found.append(words)
    return _distinct(np.concatenate(found))[:count]


def near_start(variant: Variant, most: int) -> tuple[Words, int, bool]:
    """Return all undecided positions within a certain number of plies of the start.

    The second result is this number of plies: the largest number with at most ``most`` such positions. The third result
    is true if no other undecided position can be reached from the start.
    """
    engine = engine_for(variant)
    known = engine.words(engine.start())
    frontier, plies = known, 0
    while True:
        children = engine.expand(frontier)
        frontier = _difference(_distinct(children.words[children.outcomes == 0]), known)
        if not len(frontier):
            return known, plies, True
        if len(known) + len(frontier) > most:
            return known, plies, False
        known, plies = _distinct(np.concatenate([known, frontier])), plies + 1


def _sorted(words: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the permutation that sorts the rows, and whether each sorted row differs from the row before it.

    `numpy.unique` would hold the interpreter lock, and delay an interrupt by up to a minute.
    """
    order = np.lexsort(words.T[::-1])
    ranked = words[order]
    new = np.ones(len(words), dtype=np.bool_)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    return order, new


def _distinct(words: Words) -> Words:
    """Return the distinct rows in sorted order."""
    order, new = _sorted(words)
    return words[order[new]]


def _difference(words: Words, known: Words) -> Words:
    """Return the rows of ``words`` that are not in ``known``, in sorted order. Each array's rows must be distinct."""
    order, new = _sorted(np.concatenate([known, words]))
    single = new & np.append(new[1:], True)
    rest: Words = words[order[single & (order >= len(known))] - len(known)]
    return rest


def _rows(children_of: Words, engine: Engine, symmetry: Symmetry | None) -> NDArray[np.uint64]:
    """Return all plies from positions, or their images, as sorted rows (parent, move, outcome, child)."""
    children = engine.expand(children_of)
    words, moves = children.words, children.moves
    if symmetry is not None and len(words):
        table = np.array(symmetry.table, dtype=np.int32)
        words, moves = images(engine, words, symmetry), images_of_moves(moves, table)
    columns = [children.parents, moves, children.outcomes, *words.T]
    rows = np.stack([column.astype(np.uint64) for column in columns], axis=1)
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]


def _wrong_parents(engine: Engine, words: Words, symmetry: Symmetry) -> NDArray[np.int64]:
    """Return the indices of the positions whose plies are not mapped to the plies of their images."""
    ours, theirs = _rows(words, engine, symmetry), _rows(images(engine, words, symmetry), engine, None)
    counts = [np.bincount(rows[:, 0].astype(np.int64), minlength=len(words)) for rows in (ours, theirs)]
    wrong = counts[0] != counts[1]
    # If a parent has as many plies as its image, the sorted rows of the two must agree one by one.
    same = ~wrong
    ours, theirs = (rows[same[rows[:, 0].astype(np.int64)]] for rows in (ours, theirs))
    wrong[ours[(ours != theirs).any(axis=1), 0].astype(np.int64)] = True
    return np.flatnonzero(wrong)


def breaks(variant: Variant, symmetry: Symmetry, words: Words) -> Position | None:
    """Return a position whose plies a symmetry does not map to the plies of its image, or None if none is found."""
    engine = engine_for(variant)
    wrong = _wrong_parents(engine, words, symmetry)
    return _position(engine, words[wrong[0]]) if len(wrong) else None


def _position(engine: Engine, words: Words) -> Position:
    cells, side = engine.cells(engine.boards(words[None])[0])
    return Position(cells, "w" if side == "w" else "b")


@numbers(samples=whole_number, seed=whole_number, most=whole_number)
def verify(
    variant: Variant,
    *,
    samples: int = 2000,
    seed: int = 1,
    most: int | None = None,
    group: Sequence[Symmetry] | None = None,
) -> list[SymmetryCheck]:
    """Test on samples whether a group acts by automorphisms. Return one result for each claim.

    Parameters
    ----------
    variant : Variant
        The rule set.
    samples : int
        Number of random placements, and also of positions from random play.
    seed : int
        Seed of the random positions.
    most : int, optional
        Maximum number of positions near the start. The test uses all positions up to the last ply where their number
        does not exceed this maximum. The default is 250 000 on boards of up to 25 cells and 10 000 on larger boards.
    group : sequence of Symmetry, optional
        The claimed symmetries, by default the variant's symmetries.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> checks = verify(load_variant("brandubh-5-4v0"), samples=50, most=1000)
    >>> sum(check.failures for check in checks)
    0
    """
    return list(checks(variant, samples=samples, seed=seed, most=most, group=group))


def checks(
    variant: Variant,
    *,
    samples: int = 2000,
    seed: int = 1,
    most: int | None = None,
    group: Sequence[Symmetry] | None = None,
) -> Iterator[SymmetryCheck]:
    """Yield the results of `verify`, each as soon as its claim has been tested."""
    elements = tuple(variant.symmetries if group is None else group)
    yield _is_group(elements, variant.size)
    yield _keeps_cells(variant, elements)
    engine, rng = engine_for(variant), np.random.default_rng(seed)
    if most is None:
        most = 250_000 if variant.size <= 5 else 10_000
    played, placed = random_positions(variant, samples, rng), random_placements(variant, samples, rng)
    yield _moves_check(engine, elements, played, "positions from random play")
    yield _moves_check(engine, elements, placed, "random placements")
    yield from _canonical_checks(engine, elements, np.concatenate([played, placed]))
    reached, plies, complete = near_start(variant, most)
    where = "every position that the start can reach" if complete else f"every position within {plies} plies"
    sample = np.concatenate([words[: max(1, samples // 10)] for words in (reached, played, placed)])
    yield _perft_check(engine, elements, sample)
    yield _counts_check(engine, elements, reached, where)
    yield _moves_check(engine, elements, reached, where)


def _is_group(elements: Sequence[Symmetry], size: int) -> SymmetryCheck:
    """Test whether all products of elements are elements, and whether they generate a subgroup of D4.

    sympy computes the group that they generate, and its order must equal the number of elements.
    """
    from sympy.combinatorics import Permutation, PermutationGroup

    tables = {element.table for element in elements}
    failures = sum(
        tuple(second.table[cell] for cell in first.table) not in tables for first in elements for second in elements
    )
    generated = PermutationGroup(*(Permutation(list(element.table)) for element in elements))
    whole = permutation_group(size)
    failures += generated.order() != len(elements) or not generated.is_subgroup(whole)
    return SymmetryCheck("the symmetries form a subgroup of D4", len(elements) ** 2 + 1, int(failures))


def _keeps_cells(variant: Variant, elements: Sequence[Symmetry]) -> SymmetryCheck:
    """Test whether each symmetry maps each region, and the set of camps, to itself."""
    regions = variant.regions
    camps = {camp.cells for camp in regions.camps}
    sets = (regions.king_cells, regions.free_cells, regions.camp_cells, regions.escapes, regions.castles)
    failures, example = 0, ""
    for element in elements:
        kept = all({element.table[cell] for cell in cells} == cells for cells in sets)
        if not kept or {frozenset(element.table[cell] for cell in camp) for camp in camps} != camps:
            failures, example = failures + 1, element.name
    return SymmetryCheck(
        "they keep castle, camps, escapes and the cells where each piece may stand", len(elements), failures, example
    )


def _moves_check(engine: Engine, elements: Sequence[Symmetry], words: Words, name: str) -> SymmetryCheck:
    failures, example = 0, ""
    for element in elements:
        for start in range(0, len(words), _PART):
            part = words[start : start + _PART]
            wrong = _wrong_parents(engine, part, element)
            failures += len(wrong)
            if len(wrong) and not example:
                example = f"{element.name}: {_position(engine, part[wrong[0]])}"
    claim = f"moves, captures and outcomes of g·p are the images of those of p: {name}"
    return SymmetryCheck(claim, len(words) * len(elements), failures, example)


def _perft_check(engine: Engine, elements: Sequence[Symmetry], words: Words) -> SymmetryCheck:
    boards = engine.boards(words)
    numbers = [engine.perft(board, 2) for board in boards]
    failures, example = 0, ""
    for element in elements:
        for number, board, own in zip(numbers, engine.boards(images(engine, words, element)), boards, strict=True):
            if engine.perft(board, 2) != number:
                failures += 1
                example = example or f"{element.name}: {Position(*engine.cells(own))}"  # type: ignore[arg-type]
    return SymmetryCheck("perft(g·p, 2) = perft(p, 2)", len(words) * len(elements), failures, example)


def _canonical_checks(engine: Engine, elements: Sequence[Symmetry], words: Words) -> Iterator[SymmetryCheck]:
    """Test the canonical form, and whether orbit size times stabiliser order equals the group order."""
    canonical, _ = engine.canonical(words, elements)
    moved = [images(engine, words, element) for element in elements]
    least = moved[0]
    for other in moved[1:]:
        least = np.where(_less(other, least)[:, None], other, least)
    yield SymmetryCheck(
        "the canonical form is the least of all images", len(words), int((least != canonical).any(axis=1).sum())
    )
    again = sum(int((engine.canonical(image, elements)[0] != canonical).any(axis=1).sum()) for image in moved)
    yield SymmetryCheck("it is the same for all positions of an orbit", len(words) * len(elements), again)
    fixing = sum((image == words).all(axis=1).astype(np.int64) for image in moved)
    size = np.array([len({row.tobytes() for row in rows}) for rows in np.stack(moved, axis=1)])
    yield SymmetryCheck(
        "orbit size times stabiliser order is the group's order",
        len(words),
        int((size * fixing != len(elements)).sum()),
    )


def _less(first: Words, second: Words) -> NDArray[np.bool_]:
    """Return whether each row of ``first`` is less than the row of ``second`` with the same index.

    Rows are compared as big integers whose last word is the most significant.
    """
    result = np.zeros(len(first), dtype=np.bool_)
    for column in range(first.shape[1]):
        a, b = first[:, column], second[:, column]
        result = (a < b) | ((a == b) & result)
    return result


def _counts_check(engine: Engine, elements: Sequence[Symmetry], words: Words, name: str) -> SymmetryCheck:
    """Test whether the orbit sizes of all classes add up to the number of positions."""
    group = stabiliser(elements, diagram_cells(engine.variant.start))
    classes = _distinct(engine.canonical(words, group)[0])
    fixing = sum((images(engine, classes, element) == classes).all(axis=1).astype(np.int64) for element in group)
    total = int((len(group) // fixing).sum())
    claim = f"orbit sizes add up ({len(classes)} classes under the stabiliser of the start): {name}"
    return SymmetryCheck(claim, len(words), abs(total - len(words)))
