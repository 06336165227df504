"""Exact exclusions: the transfer, the search for locked sets and the counts, each against code that shares nothing."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations, product
from math import comb
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import bounds
from counting.exclusions import counts
from counting.exclusions.counts import (
    KingTerm,
    Transfer,
    Variable,
    count_exclusions,
    counted_spaces,
    published_exclusions,
    surviving,
)
from counting.exclusions.sets import (
    WALL_PIECES,
    Arrivals,
    locked_sets,
    orbits_of_sets,
    parse_set,
    symmetries_of,
    without_king,
)
from counting.reachable.certificate_checker import PlainReach
from counting.spaces import FINAL, classes, soldiers, spaces
from tablut import variants
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.rules import NaiveGame, NaivePosition
from tablut.variants import Variant, load_variant, variant_names
from tablut.variants.schema import parse_variant
from tests.support.effort import ALL_CASES, MORE, OLDER_CASES, examples, slow_but
from tests.support.strategies import small_variants
from tests.twins.brute import BruteForce

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counting.exclusions.sets import LockedSet

FULL = ("ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh")
SMALL = ("ashton-5-4v0", "brandubh-5-4v0")

Pieces = dict[tuple[int, int], str]


# -- the transfer ----------------------------------------------------------------------------


def test_the_transfer_counts_hundreds_of_soldiers() -> None:
    both = frozenset({(1, "b"), (2, "b")})
    counted = Transfer([Variable("free")] * 200, [KingTerm(frozenset({(0, "K")}))], [both], 150, 1).count()
    all_fillings, with_both = (soldiers((), ((1, cells),), 150, 1) for cells in (199, 197))
    assert counted == all_fillings - with_both.shifted(2, 0)


# -- the sets --------------------------------------------------------------------------------


def pieces_of(variant: Variant, found: LockedSet) -> Pieces:
    return {(cell % variant.size, cell // variant.size): piece for cell, piece in found}


def is_locked(reach: Arrivals, pieces: Pieces) -> bool:
    """None of the pieces could have arrived last, and they are not part of the starting position."""
    return any(reach.start.pieces.get(cell) != piece for cell, piece in pieces.items()) and not any(
        reach.could_arrive(pieces, cell) for cell in pieces
    )


@pytest.mark.parametrize("name", OLDER_CASES)
@pytest.mark.parametrize("pieces", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_every_set_is_locked_and_no_part_of_it_is(name: str, pieces: int) -> None:
    variant = load_variant(name)
    reach = PlainReach(variant)
    family = locked_sets(variant, pieces)
    for found, _ in orbits_of_sets(family, variant.symmetries):
        pieces = pieces_of(variant, found)
        assert is_locked(reach, pieces)
        assert not any(is_locked(reach, {cell: pieces[cell] for cell in part}) for part in parts(pieces))
    for symmetry in variant.symmetries:
        images = {frozenset((symmetry.table[cell], piece) for cell, piece in found) for found in family}
        assert images == set(family)


def parts(pieces: Pieces) -> Iterator[tuple[tuple[int, int], ...]]:
    for size in range(1, len(pieces)):
        yield from combinations(pieces, size)


def all_locked(variant: Variant, pieces: int) -> set[LockedSet]:
    """Every set of at most so many pieces that is locked and no part of which is, one by one."""
    reach = Arrivals(variant)
    cells = [(cell, piece) for piece in "bwK" for cell in reach.cells[piece]]
    found: set[LockedSet] = set()
    for size in range(1, pieces + 1):
        for chosen in combinations(cells, size):
            held = dict(chosen)
            if len(held) < size or [*held.values()].count("K") > 1:
                continue
            if is_locked(reach, held):
                locked = frozenset((y * variant.size + x, piece) for (x, y), piece in chosen)
                if not any(part < locked for part in found):
                    found.add(locked)
    return found


@settings(max_examples=examples(5, 2 * MORE), deadline=None)
@given(small_variants(size=3, most_attackers=4, most_defenders=3, later=True))
def test_the_search_misses_no_set_on_the_smallest_boards(variant: Variant) -> None:
    assert set(locked_sets(variant, 3)) == all_locked(variant, 3)


ONE_SIDED = """
format = 1
first = "white"
no_moves = "side_to_move_loses"
repetition = "draw"
terrain = "A.A\\nT.A\\nA.A"
start = "...\\n.K.\\n.b."
castle = {pass = "nobody", stop = "nobody", hostile_to_white = "never", hostile_to_black = "never"}
camps = {hostile = false, shelter = false, inert = []}
king = {armed = false, on_castle = "four", beside_castle = "as_on_castle", elsewhere = "two"}
"""


def test_a_start_of_fewer_symmetries_than_its_terrain_has_sets_of_its_own() -> None:
    """The king between two attackers has nowhere to come from, and only one of them may have begun there."""
    variant = parse_variant(ONE_SIDED, name="one-sided", origin="test")
    assert (len(variant.symmetries), len(variant.start_symmetries)) == (2, 1)
    assert frozenset({(1, "b"), (4, "K"), (7, "b")}) in locked_sets(variant, 3)
    assert set(locked_sets(variant, 3)) == all_locked(variant, 3)


BESIEGED = """
format = 1
first = "white"
no_moves = "side_to_move_loses"
repetition = "draw"
terrain = ".....\\nDD.DD\\nDATBD\\nDDCDD\\nDDDDD"
start = ".....\\n.....\\n.bKb.\\n..b..\\n....."
castle = {pass = "nobody", stop = "nobody", hostile_to_white = "empty_or_besieged", hostile_to_black = "never"}
camps = {hostile = false, shelter = false, inert = []}
king = {armed = false, on_castle = "four", beside_castle = "as_on_castle", elsewhere = "two"}
"""


def test_three_attackers_around_the_castle_make_an_arrival_capture_with_and_without_the_king_there() -> None:
    """The defender on c4 came from c5, where an attacker now stands that would have captured it on arrival.

    It would not have without one of the three: the king on the castle is not besieged then.
    """
    variant = parse_variant(BESIEGED, name="besieged", origin="test")
    family = locked_sets(variant, 5)
    assert parse_set("bc2 bb3 bd3 wc4 bc5", variant.size) in family
    assert set(family) == all_locked(variant, 5)


@pytest.mark.parametrize(("name", "count"), slow_but([("brandubh-5-4v0", 500)], [(name, 1500) for name in SMALL]))
def test_with_all_sizes_the_sets_are_the_lemma(name: str, count: int) -> None:
    """Five pieces are all that these boards have: then a placement is locked exactly if it contains a set."""
    variant = load_variant(name)
    reach, family = PlainReach(variant), locked_sets(variant, 5)
    brute = BruteForce(variant)
    placements = [placement for placement in brute.placements() if placement[0] in brute.king_cells and placement[1]]
    random = Random(3)
    for king, black, white in random.sample(placements, count):
        pieces = {**dict.fromkeys(black, "b"), **dict.fromkeys(white, "w"), king: "K"}
        held = frozenset((y * variant.size + x, piece) for (x, y), piece in pieces.items())
        assert any(found <= held for found in family) == bool(reach.locked(NaivePosition(pieces, "w")))


@pytest.mark.parametrize("name", slow_but(["brandubh"], FULL))
def test_no_position_of_a_game_contains_a_set(name: str) -> None:
    """Undecided positions contain none, and final ones none of soldiers alone."""
    variant = load_variant(name)
    game, random = NaiveGame(variant), Random(11)
    family = locked_sets(variant, 4)
    soldiers = without_king(family)
    for _ in range(8):
        position, outcome = game.start(), None
        for _ in range(60):
            moves = list(game.legal_moves(position))
            if outcome is not None or not moves:
                break
            result = game.apply(position, random.choice(moves))
            position, outcome = result.position, result.outcome
            held = {(y * variant.size + x, piece) for (x, y), piece in position.pieces.items()}
            assert not any(found <= held for found in (family if outcome is None else soldiers))


# -- the counts ------------------------------------------------------------------------------


def brute_survivors(variant: Variant, pieces: int) -> dict[str, Counter[tuple[int, int]]]:
    """Placement by placement: those of each counted space without a set."""
    brute = BruteForce(variant)
    family = [dict(pieces_of(variant, found)) for found in locked_sets(variant, pieces)]
    left: dict[str, Counter[tuple[int, int]]] = {
        id_: Counter() for id_ in ("no_end", "king_captured", "king_captured_undecided", "escaped")
    }
    for placement in brute.placements():
        labels = set(brute.labels(placement))
        if not labels:
            continue
        king, black, white = placement
        held = {**dict.fromkeys(black, "b"), **dict.fromkeys(white, "w"), king: "K"}
        some = any(all(held.get(cell) == piece for cell, piece in found.items()) for found in family)
        soldiers = some and any(
            all(piece != "K" and held.get(cell) == piece for cell, piece in found.items()) for found in family
        )
        where = {
            "no_end": "no_end" in labels and "excluded_no_end" not in labels and not some,
            "king_captured": "king_captured" in labels and not soldiers,
            "king_captured_undecided": "king_captured" in labels and "excluded_no_end" not in labels and not some,
            "escaped": "escaped" in labels and "excluded_escaped" not in labels and not soldiers,
        }
        for id_, belongs in where.items():
            left[id_][len(black), len(white)] += belongs
    return left


def assert_equals_brute_force(variant: Variant, pieces: int) -> None:
    expected = brute_survivors(variant, pieces)
    family = locked_sets(variant, pieces)
    for id_, (signed, with_king) in counted_spaces(spaces(variant)).items():
        material = surviving(signed, variant.symmetries[0], family if with_king else without_king(family))
        for attackers, defenders, count in material.pairs():
            assert count == expected[id_][attackers, defenders], (id_, attackers, defenders)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("pieces", [pytest.param(pieces, marks=pytest.mark.slow) for pieces in (3, 5)])
def test_small_boards_placement_by_placement(name: str, pieces: int) -> None:
    assert_equals_brute_force(load_variant(name), pieces)


@settings(max_examples=examples(2, 2 * MORE), deadline=None)
@given(small_variants(size=5, most_attackers=2, most_defenders=1, later=True), st.integers(2, 4))
def test_any_rules_on_any_terrain(variant: Variant, pieces: int) -> None:
    assert_equals_brute_force(variant, pieces)


@settings(max_examples=examples(8, 2 * MORE), deadline=None)
@given(small_variants(size=3, most_attackers=4, most_defenders=3, later=True), st.integers(2, WALL_PIECES))
def test_any_rules_on_the_smallest_board(variant: Variant, pieces: int) -> None:
    assert_equals_brute_force(variant, pieces)


def brute_classes(variant: Variant, pieces: int) -> int:
    """The undecided placements without a set that are the least of their images."""
    brute, size = BruteForce(variant), variant.size
    family = locked_sets(variant, pieces)
    group = symmetries_of(variant, family)
    found = 0
    for placement in brute.placements():
        labels = set(brute.labels(placement))
        if "no_end" not in labels or "excluded_no_end" in labels:
            continue
        king, black, white = placement
        held = [(king, "K"), *((cell, "b") for cell in black), *((cell, "w") for cell in white)]
        cells = sorted((y * size + x, piece) for (x, y), piece in held)
        if any(found <= set(cells) for found in family):
            continue
        found += all(cells <= sorted((g.table[cell], piece) for cell, piece in cells) for g in group)
    return found


@settings(max_examples=examples(6), deadline=None)
@given(small_variants(size=3, most_attackers=4, most_defenders=3, later=True), st.integers(2, 4))
def test_classes_are_the_orbits(variant: Variant, pieces: int) -> None:
    assert count_exclusions(variant, pieces).of("no_end").classes == brute_classes(variant, pieces)


# -- the full board in a second way ----------------------------------------------------------


def without_soldier_sets(variant: Variant, pieces: int) -> int:
    """Undecided placements with the king on the castle and no set of soldiers, part by part.

    Cells that share a set are enumerated together, as polynomials in both materials; the parts are multiplied.
    It takes another way than the transfer: no signs, no states.
    """
    regions = variant.regions
    sets = without_king(locked_sets(variant, pieces))
    assert all(cell in regions.free_cells for found in sets for cell, _ in found)
    group = {cell: {cell} for cell in regions.free_cells}
    for found in sets:
        joined = set().union(*(group[cell] for cell, _ in found))
        for cell in joined:
            group[cell] = joined
    total: Counter[tuple[int, int]] = Counter({(a, 0): comb(len(regions.camp_cells), a) for a in range(17)})
    for part in {frozenset(cells) for cells in group.values()}:
        cells = sorted(part)
        inside = [found for found in sets if {cell for cell, _ in found} <= part]
        ways: Counter[tuple[int, int]] = Counter()
        for contents in product(".bw", repeat=len(cells)):
            held = set(zip(cells, contents, strict=True))
            if not any(found <= held for found in inside):
                ways[contents.count("b"), contents.count("w")] += 1
        product_: Counter[tuple[int, int]] = Counter()
        for (a, d), count in total.items():
            for (more_a, more_d), more in ways.items():
                if a + more_a <= variant.attackers and d + more_d <= variant.defenders:
                    product_[a + more_a, d + more_d] += count * more
        total = product_
    return sum(count for (a, _), count in total.items() if a)


@pytest.mark.parametrize("pieces", [2, 3])
def test_ashton_part_by_part(pieces: int) -> None:
    variant = load_variant("ashton")
    undecided = spaces(variant)["no_end"]
    castle = tuple(placement for placement in undecided.kings if placement.king == variant.regions.castle)
    at_home = type(undecided)(
        undecided.id, undecided.description, variant, castle, undecided.attackers, undecided.defenders
    )
    counted = surviving([(at_home, 1)], variant.symmetries[0], without_king(locked_sets(variant, pieces)))
    assert counted.total() == without_soldier_sets(variant, pieces)


# -- what the package ships ------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_CASES)
def test_shipped_counts_fit_their_game(name: str) -> None:
    variant = load_variant(name)
    shipped = published_exclusions(variant.digest)
    assert shipped is not None
    assert shipped.variant == name
    found = spaces(variant)
    for id_, (signed, _) in counted_spaces(found).items():
        left = shipped.of(id_)
        assert 0 <= left.placements <= sum(count * space.value() for space, count in signed)
        assert 0 <= left.classes <= sum(count * classes(space) for space, count in signed)
        assert sum(left.fixed.values()) == left.classes * len(variant.symmetries)
        assert left.fixed["identity"] == left.placements == sum(map(sum, left.material))
        whole = [(space.material(), factor) for space, factor in signed]
        for attackers, row in enumerate(left.material):
            for defenders, count in enumerate(row):
                assert 0 <= count <= sum(factor * material.rows[attackers][defenders] for material, factor in whole)
    report = bounds(variant)
    assert report.locked is not None
    assert report.locked.sets == sum(size.sets for size in shipped.sets)
    for name_ in ("no_end", *FINAL):
        gone = [part for part in report.excluded if part.id in (f"excluded_{name_}", f"excluded_{name_}_locked")]
        excluded = sum(part.exact for part in gone)
        assert getattr(report.corrected, name_) - excluded == getattr(report.tightened, name_)
        excluded = sum(part.classes for part in gone)
        assert getattr(report.classes, name_) - excluded == getattr(report.classes_tightened, name_)


@pytest.mark.parametrize("name", slow_but(SMALL, variant_names()))
def test_shipped_counts_are_counted_again(name: str) -> None:
    variant = load_variant(name)
    shipped = published_exclusions(variant.digest)
    assert shipped is not None
    assert count_exclusions(variant, shipped.pieces) == shipped


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_distinct_placements_are_a_union(name: str) -> None:
    """Undecided and final ones, each placement once."""
    variant = load_variant(name)
    shipped = published_exclusions(variant.digest)
    assert shipped is not None
    brute = BruteForce(variant)
    family = [pieces_of(variant, found) for found in locked_sets(variant, shipped.pieces)]
    union = 0
    for placement in brute.placements():
        labels = set(brute.labels(placement))
        king, black, white = placement
        held = {**dict.fromkeys(black, "b"), **dict.fromkeys(white, "w"), king: "K"}
        inside = [found for found in family if all(held.get(cell) == piece for cell, piece in found.items())]
        undecided = "no_end" in labels and "excluded_no_end" not in labels and not inside
        no_soldiers = all("K" in found.values() for found in inside)
        final = any(name_ in labels and f"excluded_{name_}" not in labels and no_soldiers for name_ in FINAL)
        union += undecided or final
    assert bounds(variant).tightened.distinct == union


def test_bounds_of_own_rules_leave_out_locked_sets_or_say_that_they_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(variants.__file__).parent / "data" / "brandubh-5-4v0.toml").read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(text.replace('repetition = "draw"', 'repetition = "mover_loses"'), encoding="utf-8")
    assert published_exclusions(load_variant(own).digest) is None
    assert run(["bounds", "-v", str(own), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    counted = count_exclusions(own, 3)
    assert int(answer["tightened"]["no_end"]) == counted.of("no_end").placements
    assert answer["locked"]["sets"] == sum(size.sets for size in counted.sets) > 0
    monkeypatch.setattr(counts, "AFFORDABLE_STATES", 1)
    assert run(["bounds", "-v", str(own), "--json"]) == 0
    without = json.loads(capsys.readouterr().out)
    assert without["locked"] is None
    assert int(without["tightened"]["no_end"]) > counted.of("no_end").placements
    assert run(["bounds", "-v", str(own)]) == 0
    assert "tablut exclusions" in capsys.readouterr().out
    with pytest.raises(InputError, match="own"):
        bounds("ashton", counted)


# -- the command -----------------------------------------------------------------------------
