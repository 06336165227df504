"""The proved lower bound: its steps, its counts against plain ones, and games to what it counts."""

import random
from collections import Counter, deque
from collections.abc import Container
from itertools import combinations, product
from math import comb
from pathlib import Path

import numpy as np
import pytest

from counting.reachable.certificate_checker import Checker, PlainReach
from counting.reachable.lemmas import lemmas_for
from counting.spaces import spaces
from reports.studies.lower_bound import plies, summing
from reports.studies.lower_bound.bound import ProvedBound, closures_within
from reports.studies.lower_bound.building import build_game
from reports.studies.lower_bound.closures import closure_of, placement_number
from reports.studies.lower_bound.conditions import Closures, exclusion, goes_up, parts_of, token_camp
from reports.studies.lower_bound.layout import (
    CAMPS,
    CASTLE,
    DOORS,
    LANE_PAIRS,
    MIDDLE,
    PLACES,
    SIZE,
    UPPER,
    cells_of,
    region_tables,
)
from reports.studies.lower_bound.middle import HISTOGRAM, comes_apart, middle_histogram, middle_tables
from reports.studies.lower_bound.plies import Region, find_path, is_mobile, is_quiet, parked
from reports.studies.lower_bound.steps import OPENINGS, check_openings, check_steps
from reports.studies.lower_bound.summing import RegionMaterial, constructed_by_material
from tablut.engine import engine_for
from tablut.provenance import Provenance
from tablut.rules import NaiveGame, NaivePosition
from tablut.variants import load_variant

pytestmark = pytest.mark.study
ASHTON = load_variant("ashton")
GAME = NaiveGame(ASHTON)
CAMP_CELLS = [cell for camp in CAMPS for cell in camp]
FREE = [cell for cell in range(SIZE * SIZE) if cell not in CAMP_CELLS and cell != CASTLE]
KINGS = [CASTLE, *(cell for cell in FREE if 0 < cell % SIZE < SIZE - 1 and 0 < cell // SIZE < SIZE - 1)]
SMALL = 60_000


def on_board(pieces: dict[int, str]) -> dict[tuple[int, int], str]:
    return {(cell % SIZE, cell // SIZE): piece for cell, piece in pieces.items()}


def drawn(rng: random.Random, attackers: int, defenders: int) -> dict[int, str]:
    """Draw a placement of some material, not uniformly between kings on and off the castle."""
    king = rng.choice(KINGS)
    pieces = {king: "K"}
    pieces |= dict.fromkeys(rng.sample([c for c in FREE if c not in pieces], defenders), "w")
    pieces |= dict.fromkeys(rng.sample([c for c in FREE + CAMP_CELLS if c not in pieces], attackers), "b")
    return pieces


def admitted(material: RegionMaterial) -> bool:
    king, room = material.king, PLACES - material.king
    size = (13 if king else 1) * comb(room, material.attackers) * comb(room - material.attackers, material.defenders)
    return size <= SMALL and material.defenders + king <= 7 and material.attackers <= 8


def test_every_step_holds() -> None:
    checked = check_steps()
    assert checked.failures == ()
    assert checked.checked > 7000


def test_a_park_that_does_not_work_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a defender on d8 an attacker that passes d7 would capture it against the camp."""
    monkeypatch.setattr(plies, "WHITE_SLOTS", (cells_of("a9 b9 a8 b8 c9 c8 d8"), cells_of("a9 b9 a8 b8 c9 d8")))
    failures = check_steps().failures
    assert any("defenders=7" in failure and "b on 3" in failure for failure in failures)


def test_every_opening_is_a_game() -> None:
    assert check_openings() == (len(OPENINGS), ())
    assert len({(opening.camp, opening.held) for opening in OPENINGS}) == 4 * 8


# -- quiet plies -----------------------------------------------------------------------


def environments(seed: int) -> tuple[random.Random, dict[int, str], Region]:
    """Draw a placement under whose conditions quiet plies of the upper region are to be quiet on the board."""
    rng = random.Random(seed)
    while True:
        pieces = drawn(rng, rng.randrange(4, 16), rng.randrange(1, 9))
        colours = {cell: "b" if piece == "b" else "w" for cell, piece in pieces.items()}
        pairs = [*LANE_PAIRS, *((door, door - SIZE) for door in DOORS)]
        if not any({colours.get(one), colours.get(other)} == {"b", "w"} for one, other in pairs):
            return rng, pieces, parts_of(on_board(pieces)).regions[0]


@pytest.mark.parametrize("seed", range(150))
def test_a_quiet_ply_is_a_legal_one_that_captures_nothing(seed: int) -> None:
    """As is the ply to the tip of a camp where it is said to be safe."""
    _, pieces, region = environments(seed)
    doors = region_tables().doors
    if plies.is_safe(region):
        centre, tip = CAMPS[0][0], CAMPS[0][-1]
        position = NaivePosition({**on_board({k: v for k, v in pieces.items() if k != tip}), at(centre): "b"}, "b")
        result = GAME.apply(position, (at(centre), at(tip)))
        assert (result.captured, result.outcome) == (frozenset(), None)
    for start in range(PLACES):
        if not (region.black | region.white) >> start & 1 or doors >> start & 1:
            continue
        for target in plies._slides(region, start):
            if is_quiet(region.moved(start, target), target):
                side = "b" if region.black >> start & 1 else "w"
                position = NaivePosition(on_board(pieces), side)
                first, last = UPPER[start], UPPER[target]
                move = (first % SIZE, first // SIZE), (last % SIZE, last // SIZE)
                assert move in GAME.legal_moves(position)
                result = GAME.apply(position, move)
                assert (result.captured, result.outcome) == (frozenset(), None)


def at(cell: int) -> tuple[int, int]:
    return cell % SIZE, cell // SIZE


# -- closures --------------------------------------------------------------------------


def plain_closure(root: Region, *, own_tempo: bool) -> set[Region]:
    """Return what quiet plies lead to, by the plain statement of them."""
    known, front = {root}, deque([root])
    while front:
        region = front.popleft()
        for start in range(PLACES):
            if not (region.black | region.white) >> start & 1 or region_tables().doors >> start & 1:
                continue
            # Doors may be entered, so the slides are listed here anew.
            for ray in plies.rays_of(start):
                for target in ray:
                    if target < 0 or (region.black | region.white) >> target & 1:
                        break
                    if start == region.king and region_tables().king_places[target] < 0:
                        continue
                    moved = region.moved(start, target)
                    black = region.black >> start & 1
                    if not is_quiet(moved, target) or not plies.is_safe(moved):
                        continue
                    if black and own_tempo and not is_mobile(moved):
                        continue
                    if moved not in known:
                        known.add(moved)
                        front.append(moved)
    return known


@pytest.mark.parametrize(
    ("material", "own_tempo"),
    [((1, 1, 0), True), ((2, 1, 0), True), ((2, 1, 0), False), ((1, 0, 1), True), ((0, 2, 0), False)],
)
def test_closures_are_those_of_the_plain_search(material: tuple[int, int, int], own_tempo: bool) -> None:
    root = parked(RegionMaterial(*material))
    expected = plain_closure(root, own_tempo=own_tempo)
    found = closure_of(*root, own_tempo=own_tempo)
    assert found.placements == int(found.seen.sum()) == len(expected) <= len(found.seen)
    numbers = {placement_number(*region) for region in expected}
    assert len(numbers) == len(expected)
    assert set(np.nonzero(found.seen)[0].tolist()) == numbers
    doors = Counter()
    for region in expected:
        digits = [(region.black >> p & 1) + 2 * (region.white >> p & 1) for p in (1, 4, 7)]
        doors[9 * digits[0] + 3 * digits[1] + digits[2]] += 1
    assert dict(doors) == {code: n for code, n in enumerate(found.by_doors.tolist()) if n}


def test_paths_lead_to_what_closures_hold() -> None:
    rng = random.Random(5)
    material = RegionMaterial(3, 1, 1)
    root = parked(material)
    closure = closure_of(*root, own_tempo=True)
    seen = 0
    for _ in range(60):
        places = rng.sample(range(PLACES), 4)
        king = int(rng.choice([k for k in region_tables().kings.tolist() if k not in places]))
        goal = Region(sum(1 << p for p in places[:3]), 1 << places[3], king)
        path = find_path(goal, root, own_tempo=True)
        assert (path is not None) == bool(closure.seen[placement_number(*goal)])
        if path is not None:
            seen += 1
            region = root
            for start, target in path:
                region = region.moved(start, target)
            assert region == goal
    assert 20 < seen < 60


# -- the middle ------------------------------------------------------------------------


def plainly_apart(contents: dict[int, str]) -> bool:
    """Return whether pieces of the middle leave it one by one, by the plain rules."""
    left = {**contents}
    while left:
        for cell, piece in left.items():
            way = cell + SIZE if goes_up(cell) else cell - SIZE
            if way in left:
                continue
            others = {other: found for other, found in left.items() if other != cell}
            pieces = {**on_board(others), at(way): piece, (4, 0): "b"}
            result = GAME.apply(NaivePosition(pieces, "b" if piece == "b" else "w"), (at(way), at(cell)))
            if not result.captured and result.outcome is None:
                del left[cell]
                break
        else:
            return False
    return True


@pytest.mark.parametrize("seed", range(200))
def test_the_middle_comes_apart_as_the_plain_rules_say(seed: int) -> None:
    rng = random.Random(seed)
    contents = {cell: rng.choice("bw") for cell in rng.sample(MIDDLE, rng.randrange(2, 14))}
    masks = [sum(1 << p for p, cell in enumerate(MIDDLE) if contents.get(cell) == side) for side in "bw"]
    t = middle_tables()
    assert comes_apart(*masks, t.victims, t.anvils, t.ways) == plainly_apart(contents)


def test_the_histogram_of_the_middle_counts_what_comes_apart() -> None:
    """All placements of at most two pieces beside those before the doors."""
    t = middle_tables()
    fixed = cells_of("b6 e6 h6 b4 e4 h4")
    pairs = [*LANE_PAIRS, cells_of("c5 d5"), cells_of("f5 g5")]
    others = [cell for cell in MIDDLE if cell not in fixed]
    for doors in ((0,) * 6, (0, 1, 0, 2, 0, 0), (1, 2, 1, 1, 1, 2)):
        counts, besieged = middle_histogram(doors)
        expected, expected_besieged = np.zeros(HISTOGRAM, np.int32), np.zeros(HISTOGRAM, np.int32)
        for number in range(3):
            for cells in combinations(others, number):
                for colours in product((1, 2), repeat=number):
                    contents = {**dict(zip(fixed, doors, strict=True)), **dict(zip(cells, colours, strict=True))}
                    if any({contents.get(one), contents.get(other)} == {1, 2} for one, other in pairs):
                        continue
                    black, white = (
                        sum(1 << p for p, cell in enumerate(MIDDLE) if contents.get(cell) == side) for side in (1, 2)
                    )
                    if not comes_apart(black, white, t.victims, t.anvils, t.ways):
                        continue
                    entry = tuple(
                        sum(1 for cell, found in contents.items() if goes_up(cell) == up and found == side)
                        for up in (True, False)
                        for side in (1, 2)
                    )
                    expected[entry] += 1
                    sides = [contents.get(cell) for cell in cells_of("e6 e4 d5 f5")]
                    expected_besieged[entry] += sides == [1, 1, 1, 1]
        few = expected > 0
        assert np.array_equal(counts[few], expected[few])
        assert np.array_equal(besieged[few], expected_besieged[few])
        attackers, white = sum(door == 1 for door in doors), sum(door == 2 for door in doors)
        sums = np.indices(HISTOGRAM)
        small = sums[::2].sum(axis=0) - attackers + sums[1::2].sum(axis=0) - white <= 2
        assert int(counts[small].sum()) == int(expected.sum())


# -- the sum ---------------------------------------------------------------------------


def plain_sum(
    regions: dict[RegionMaterial, np.ndarray], middles: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]
) -> dict[tuple[int, int], int]:
    """Multiply and add up, one combination at a time."""
    total: Counter[tuple[int, int]] = Counter()
    camps = list(product(range(16), repeat=4))
    kinds = Counter(
        (held[0].bit_count(), held[3].bit_count(), token_camp(held), sum(map(int.bit_count, held))) for held in camps
    )
    doors = list(product(range(3), repeat=3))
    outer = [(m, code, int(n)) for m, by_doors in regions.items() for code, n in zip(doors, by_doors, strict=True) if n]
    for inner, (counts, besieged) in middles.items():
        for entry in zip(*np.nonzero(counts), strict=True):
            up_b, up_w, low_b, low_w = map(int, entry)
            for (up, up_code, up_n), (low, low_code, low_n) in product(outer, repeat=2):
                codes = zip((*up_code, *low_code), inner, strict=True)
                if any({one, other} == {1, 2} for one, other in codes):
                    continue
                if up.defenders + up.king + low.defenders + low.king == 0:
                    continue
                white = up_w + low_w
                kings = up.king + low.king
                if kings == 2:
                    continue
                # The king in an outer region; or in the middle, or on a castle that is not besieged.
                cases = [(int(counts[entry]), white)]
                if not kings:
                    cases = [(int(counts[entry] - besieged[entry]), white)]
                    if white:
                        cases.append((int(counts[entry]) * white, white - 1))
                if up.defenders + up.king + up_w > 7 or low.defenders + low.king + low_w > 7:
                    continue
                for (above, below, camp, held), sets in kinds.items():
                    if camp is None:
                        continue
                    if up.attackers + up_b > 7 + (0 if camp == 0 else 4 - above):
                        continue
                    if low.attackers + low_b > 7 + (0 if camp == 3 else 4 - below):
                        continue
                    attackers = up.attackers + low.attackers + up_b + low_b + held
                    for middle, defenders in cases:
                        defenders += up.defenders + low.defenders
                        if attackers <= 16 and defenders <= 8:
                            total[attackers, defenders] += sets * up_n * low_n * middle
    return {material: n for material, n in total.items() if n}


def test_the_sum_is_that_of_single_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    regions = {}
    for material in [(0, 0, 0), (8, 0, 0), (5, 3, 0), (6, 1, 1), (0, 6, 0), (2, 4, 1)]:
        by_doors = np.zeros(27, np.int64)
        for _ in range(3):
            by_doors[rng.randrange(27)] = rng.randrange(1, 1 << 30)
        regions[RegionMaterial(*material)] = by_doors
    middles = {}
    for doors in ((0, 0, 0, 0, 0, 0), (1, 1, 0, 0, 1, 2), (2, 0, 0, 0, 2, 0)):
        counts, besieged = np.zeros(HISTOGRAM, np.int32), np.zeros(HISTOGRAM, np.int32)
        for entry in ((0, 0, 0, 0), (5, 2, 2, 1), (1, 3, 4, 0)):
            counts[entry] = rng.randrange(5, 90)
            besieged[entry] = rng.randrange(5)
        # As every histogram, it is that of the left-right image too.
        middles[doors] = middles[*doors[2::-1], *doors[:2:-1]] = counts, besieged
    nothing = np.zeros(HISTOGRAM, np.int32), np.zeros(HISTOGRAM, np.int32)
    monkeypatch.setattr(summing, "middle_histogram", lambda doors: middles.get(doors, nothing))
    found = constructed_by_material(regions)
    assert found == plain_sum(regions, middles)
    assert len(found) > 20


def counts_it(pieces: dict[int, str], closures: Container[Region]) -> bool:
    return exclusion(parts_of(on_board(pieces)), closures) is None


# -- games -----------------------------------------------------------------------------


def members(seed: int, number: int, closures: Closures, most: int) -> list[dict[int, str]]:
    """Draw placements of the theorem; few pieces, so that their closures are quick to list."""
    rng = random.Random(seed)
    found: list[dict[int, str]] = []
    while len(found) < number:
        pieces = drawn(rng, rng.randrange(1, most), rng.randrange(min(8, most // 2) + 1))
        if counts_it(pieces, closures):
            found.append(pieces)
    return found


def assert_reached(pieces: dict[int, str]) -> None:
    checker = Checker(ASHTON)
    for side in "wb":
        position = NaivePosition(on_board(pieces), side)
        assert checker.game(position, build_game(position)) is None


def test_games_reach_what_the_theorem_counts() -> None:
    for pieces in members(1, 4, Closures(admitted), 12):
        assert_reached(pieces)


def test_no_lemma_excludes_what_the_theorem_counts() -> None:
    engine, found = engine_for(ASHTON), members(2, 40, Closures(admitted), 12)
    texts = ["".join(pieces.get(cell, ".") for cell in range(SIZE * SIZE)) for pieces in found]
    boards = np.array([engine.board(text, side) for text in texts for side in "wb"])
    assert not lemmas_for(ASHTON).of_boards(boards).any()
    reach = PlainReach(ASHTON)
    assert all(set(on_board(pieces)) <= set().union(*reach.cells.values()) for pieces in found)


# -- the command -----------------------------------------------------------------------


class _Stored(ProvedBound):
    provenance: Provenance


STORED = _Stored.model_validate_json(
    (Path(__file__).parents[3] / "reports" / "studies" / "lower_bound" / "data" / "ashton.json").read_text(
        encoding="utf-8"
    )
)


def test_the_stored_bound_is_of_this_board_and_its_closures() -> None:
    assert STORED.failures == []
    assert STORED.positions == 2 * STORED.placements == 2 * sum(m.placements for m in STORED.materials)
    assert (STORED.counted, STORED.steps) == (2 * spaces(ASHTON)["no_end"].value(), check_steps().checked)
    assert [(r.attackers, r.defenders, r.king) for r in STORED.regions] == closures_within(STORED.budget)
    few = [region for region in STORED.regions if region.attackers + region.defenders + region.king <= 3]
    assert len(few) == 16
    for region in few:
        root = parked(RegionMaterial(region.attackers, region.defenders, region.king))
        assert closure_of(*root, own_tempo=bool(root.white)).by_doors.tolist() == region.by_doors


@pytest.mark.slow
def test_the_stored_bound_is_the_sum_of_its_closures() -> None:
    regions = {RegionMaterial(r.attackers, r.defenders, r.king): np.array(r.by_doors) for r in STORED.regions}
    assert constructed_by_material(regions) == {(m.attackers, m.defenders): m.placements for m in STORED.materials}
