"""Final placements: their ranks against enumeration, their last plies and their reach against every ply forward."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from counting.reachable.certificate_checker import PlainReach
from counting.reachable.drawing import drawer_for
from counting.reachable.estimation import estimate
from counting.reachable.proof_games import OUTCOME_OF, ending_index, last_plies
from counting.spaces import FINAL, spaces
from tablut.engine import engine_for
from tablut.engine.layout import SIDE_AT, head
from tablut.errors import InputError
from tablut.indexing import ENDINGS, EndingIndex, FinalPlacement
from tablut.rules import OUTCOMES, NaivePosition
from tablut.variants import Variant, load_variant
from tests.support.effort import examples
from tests.support.strategies import small_variants, variants

relaxed = settings(deadline=None, max_examples=examples(10), suppress_health_check=list(HealthCheck))


def belongs(variant: Variant, cells: str, ending: str) -> bool:
    """The definition, cell by cell: who stands where, how the king came or is held."""
    regions, king = variant.regions, cells.index("K")
    attackers, defenders = cells.count("b"), cells.count("w")
    everywhere = regions.free_cells | regions.camp_cells
    if any(
        (piece == "b" and cell not in everywhere) or (piece == "w" and cell not in regions.free_cells)
        for cell, piece in enumerate(cells)
    ):
        return False
    if attackers > variant.attackers or defenders > variant.defenders:
        return False
    if (ending in ("all_captured", "escaped_last")) != (attackers == 0):
        return False
    if ending == "all_captured":
        return king in regions.king_cells
    if ending == "king_captured":
        return king in regions.king_cells and any(
            all(cells[cell] == "b" for cell in pattern.attackers) for pattern in regions.king_patterns[king]
        )
    ways = regions.approaches.get(king, ())
    able = ending == "escaped" or variant.rules.king.armed
    return able and any(all(cells[cell] == "." for cell in way) for way in ways)


CROWDED = replace(
    load_variant("brandubh"),
    terrain=("X.+", "...", "*.T"),
    start=(".Kw", "wwb", "ww."),
    name="more men than cells are left",
)


@settings(deadline=None, max_examples=2, suppress_health_check=list(HealthCheck))
@example(CROWDED)
@given(small_variants(3, 2, 1))
def test_ranks_are_those_of_an_enumeration(variant: Variant) -> None:
    """Every content of a board of nine cells: it has a rank exactly if it belongs, and each rank is one of them."""
    index = EndingIndex(variant)
    contents = ["".join(cells) for cells in product(".bwK", repeat=9) if cells.count("K") == 1]
    expected = {(cells, ending) for cells in contents for ending in ENDINGS if belongs(variant, cells, ending)}
    finals = [index.unrank(rank) for rank in range(index.size)]
    assert {(final.position.cells, final.ending) for final in finals} == expected
    assert len(finals) == len(expected)


@relaxed
@given(st.data())
def test_sizes_are_those_of_the_bound_and_no_two_ranks_are_of_one_placement(data: st.DataObject) -> None:
    variant = data.draw(st.one_of(variants(), small_variants(5, 4, 3), small_variants(7, 6, 4)))
    index = EndingIndex(variant)
    assert index.sizes == {name: spaces(variant)[name].value() for name in FINAL}
    if index.size:
        place = st.one_of(st.integers(0, index.size - 1), st.sampled_from([0, index.size - 1]))
        ranks = data.draw(st.sets(place, min_size=1, max_size=5))
        finals = {index.unrank(near % index.size) for rank in ranks for near in (rank, rank + 1)}
        assert len(finals) == len({near % index.size for rank in ranks for near in (rank, rank + 1)})
        assert all(belongs(variant, final.position.cells, final.ending) for final in finals)
    for rank in (-1, index.size):
        with pytest.raises(InputError, match="final rank"):
            index.unrank(rank)


def boards_of(variant: Variant, finals: list[FinalPlacement]) -> np.ndarray:
    engine = engine_for(variant)
    return np.array([engine.board(final.position.cells, final.position.side) for final in finals])


@relaxed
@given(st.one_of(variants(), small_variants(5, 4, 3), small_variants(5, 6, 4, later=True)), st.integers(0, 2**32))
def test_last_plies_are_those_of_the_twin(variant: Variant, seed: int) -> None:
    index, reach, engine = ending_index(variant), PlainReach(variant), engine_for(variant)
    if not index.size:
        return
    finals = [index.unrank(int(seed * 7919 + number * 104729) ** 5 % index.size) for number in range(3)]
    outcomes = np.array([OUTCOME_OF[final.ending] for final in finals])
    found = last_plies(variant, boards_of(variant, finals), outcomes)
    size = variant.size
    for place, final in enumerate(finals):
        pieces = {(c % size, c // size): piece for c, piece in enumerate(final.position.cells) if piece != "."}
        twin = {
            (tuple(sorted(before.pieces.items())), move)
            for before, move in reach.predecessors(
                NaivePosition(pieces, final.position.side), OUTCOMES[OUTCOME_OF[final.ending]]
            )
        }
        ours = set()
        for row in np.flatnonzero(found.sources == place):
            cells, _ = engine.cells(found.boards[row])
            start, target = int(found.moves[row]) & 127, int(found.moves[row]) >> 7
            held = {(c % size, c // size): piece for c, piece in enumerate(cells) if piece != "."}
            move = ((start % size, start // size), (target % size, target // size))
            ours.add((tuple(sorted(held.items())), move))
        assert ours == twin, (variant.name, final)


def forward(variant: Variant) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Every undecided position that play reaches from the start, and the final ones by outcome, packed."""
    engine = engine_for(variant)
    # A word holds a position of these boards.
    known = front = engine.words(engine.start())[:, 0]
    ends: dict[int, list[np.ndarray]] = {1: [], 2: [], 3: []}
    while len(front):
        children = engine.expand(front[:, None])
        for outcome, found in ends.items():
            found.append(children.words[children.outcomes == outcome, 0])
        front = np.setdiff1d(children.words[children.outcomes == 0, 0], known)
        known = np.union1d(known, front)
    return known[:, None], {outcome: np.unique(np.concatenate(found))[:, None] for outcome, found in ends.items()}


COPENHAGEN = replace(
    load_variant("copenhagen"),
    name="copenhagen-5-3v2",
    terrain=("X...X", ".....", "..T..", ".....", "X...X"),
    start=("..b..", "..w..", "b.K..", "..w..", "..b.."),
)


@pytest.mark.slow
def test_final_placements_of_a_wide_board() -> None:
    found = estimate("alea-evangelii", 6, 1, space="decided", checks=6)
    assert (found.n, found.unknown, found.checked) == (6, 0, 6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant",
    [load_variant("ashton-5-4v0"), load_variant("brandubh-5-4v0"), COPENHAGEN],
    ids=lambda variant: variant.name,
)
def test_the_exact_numbers_lie_within(variant: Variant) -> None:
    """Of positions, placements, classes and final placements: all that play reaches, counted."""
    engine, index = engine_for(variant), ending_index(variant)
    undecided, decided = forward(variant)
    boards = engine.boards(undecided)
    head(boards)[:, SIDE_AT] = 0
    placements = np.unique(engine.words(boards))
    classes = np.unique(engine.canonical(undecided)[0])
    finals = set()
    for outcome, words in decided.items():
        for cells, _ in map(engine.cells, engine.boards(words)):
            ending = {1: "king_captured", 2: "escaped", 3: "all_captured"}[outcome]
            if ending == "escaped" and "b" not in cells:
                ending = "escaped_last"
            assert belongs(variant, cells, ending)
            finals.add((cells, ending))

    # Whole backward trees are dear under ashton: fewer samples there.
    samples = 100 if variant.name.startswith("ashton") else 150
    found = estimate(variant, samples, 3, lemma_samples=5_000)
    assert found.unknown == 0
    assert found.positions.low <= len(undecided) <= found.positions.high
    assert found.placements is not None
    assert found.placements.counted == drawer_for(variant).size // 2
    assert found.placements.positions.low <= len(placements) <= found.placements.positions.high
    assert found.classes.positions.low <= len(classes) <= found.classes.positions.high
    ends = estimate(variant, samples, 3, space="decided")
    assert ends.unknown == 0
    assert ends.counted == index.size
    assert ends.positions.low <= len(finals) <= ends.positions.high
    assert ends.endings is not None
    assert sum(stage.n for stage in ends.endings.values()) == samples
