"""The lemmas of unreachability: the kernels against their twin, and against everything that play reaches."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from counting.reachable.certificate_checker import LEMMAS, PlainReach
from counting.reachable.drawing import drawer_for
from counting.reachable.lemmas import LOCKED, LemmaTables, board_lemma, lemmas_for
from counting.reachable.tallies import count_lemmas, locked_family
from docs.building.pictures import EXCLUDED, Excluded
from tablut.engine import engine_for
from tablut.engine.jit import advance, keep, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.engine.layout import board_items
from tablut.position import parse_square
from tablut.rules import NaivePosition
from tablut.variants import Variant, load_variant
from tablut.variants.model import Rules, Shieldwall
from tests.support.effort import MORE, examples, slow_but
from tests.support.strategies import placement, random_play, random_variants, small_variants, variants
from tests.support.walls import walled, walls
from tests.tablut.test_family_rules import small
from tests.tablut.test_forts import FIVE, candidate

SEEDS = st.integers(0, 2**32)
relaxed = settings(deadline=None, max_examples=examples(6, 2 * MORE), suppress_health_check=list(HealthCheck))
FULL = ("ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh")
FAMILY = ("copenhagen", "fetlar", "brandubh-federation", "saami-tablut", "tawlbwrdd-throneless", "sea-battle-11")
SOLDIERS = {3: (2, 1), 5: (5, 3), 7: (9, 4), 9: (12, 8), 11: (12, 8), 13: (12, 8)}
"""The most attackers and defenders on a board of each size."""


def board_of(variant: Variant, position: NaivePosition) -> np.ndarray:
    size = variant.size
    cells = "".join(position.piece((cell % size, cell // size)) or "." for cell in range(size * size))
    return engine_for(variant).board(cells, position.side)


@kernel
def board_lemmas(tables: LemmaTables, boards: np.ndarray, codes: np.ndarray) -> None:
    """Write what `board_lemma`, which works in rounds, returns for each board."""
    lemmas = flat(tables)
    stride = board_items(lemmas.rules.size)
    scratch = np.empty(stride, boards.dtype)
    for index in range(len(boards)):
        codes[index] = np.uint8(board_lemma(lemmas, advance(pointer(boards), index * stride), pointer(scratch)))
    keep(scratch)


def compiled(variant: Variant, positions: list[NaivePosition]) -> list[str | None]:
    """Return the lemma of each position, on which peeling piece by piece and in rounds agree."""
    boards, lemmas = np.array([board_of(variant, position) for position in positions]), lemmas_for(variant)
    codes, in_rounds = lemmas.of_boards(boards), np.empty(len(boards), dtype=np.uint8)
    board_lemmas(lemmas.tables, boards, in_rounds)
    assert in_rounds.tolist() == codes.tolist(), [variant.name, *positions]
    return [LEMMAS[code - 1] if code else None for code in codes.tolist()]


def drawn(variant: Variant, seed: int, count: int) -> list[NaivePosition]:
    """Return uniform samples of the counted space, the last of them crowded with all the material."""
    game, engine = PlainReach(variant).game, engine_for(variant)
    words, _ = drawer_for(variant).draw(seed, 0, count)
    size = variant.size
    found = []
    for board in engine.boards(words):
        cells, side = engine.cells(board)
        found.append(
            NaivePosition({(c % size, c // size): piece for c, piece in enumerate(cells) if piece != "."}, side)
        )
    return [*found, game.start()]


def assert_twins_agree(variant: Variant, positions: list[NaivePosition]) -> None:
    reach = PlainReach(variant)
    for position, found in zip(positions, compiled(variant, positions), strict=True):
        assert found == reach.lemma(position), reach.game.write(position)


@relaxed
@given(st.one_of(variants(), random_variants(), random_variants(later=True)), SEEDS)
def test_twins_agree(variant: Variant, seed: int) -> None:
    assert_twins_agree(variant, drawn(variant, seed, 6))


@relaxed
@given(st.one_of(random_variants(), random_variants(later=True)), SEEDS)
def test_twins_agree_on_crowded_placements(variant: Variant, seed: int) -> None:
    reach, random = PlainReach(variant), Random(seed)
    positions = [placement(variant, random) for _ in range(6)]
    counted = [position for position in positions if reach.counted(position)]
    assume(counted)
    assert_twins_agree(variant, counted)


@relaxed
@given(st.data())
def test_twins_agree_on_rows_on_the_edge(data: st.DataObject) -> None:
    size, random = data.draw(st.sampled_from([4, 5, 7, 11])), Random(data.draw(SEEDS))
    variant = walls(data.draw(small_variants(size, later=True)), *((5, 4) if size < 7 else (9, 8)), random)
    reach, positions = PlainReach(variant), [walled(variant, random, complete=True) for _ in range(20)]
    counted = [position for position in positions if reach.counted(position)]
    assume(counted)
    assert_twins_agree(variant, counted)


@relaxed
@given(st.sampled_from(sorted(SOLDIERS)), st.data())
def test_twins_agree_on_random_terrain(size: int, data: st.DataObject) -> None:
    later, seed = data.draw(st.booleans()), data.draw(SEEDS)
    variant = data.draw(small_variants(size, *SOLDIERS[size], later=later))
    assert_twins_agree(variant, drawn(variant, seed, 4))
    assert_sets_agree(variant, seed, 200)


def assert_sets_agree(variant: Variant, seed: int, count: int) -> None:
    """Peeling by sets of cells says of every sample what peeling piece by piece says."""
    words, _ = drawer_for(variant).draw(seed, 7, count)
    codes = lemmas_for(variant).of_boards(engine_for(variant).boards(words))
    checksum = 0
    for index, code in enumerate(codes.tolist(), 7):
        mixed = (index * 8 + code) * 0x9E3779B97F4A7C15 % 2**64
        checksum += mixed ^ mixed >> 29
    found = count_lemmas(variant, seed, 7, count)
    assert found.lemmas == np.bincount(codes, minlength=len(LEMMAS) + 1).tolist()
    assert found.checksum == checksum % 2**64


@pytest.mark.parametrize("name", slow_but(["ashton", "alea-evangelii"], ["copenhagen"]))
def test_samples_that_contain_a_counted_set_are_counted(name: str) -> None:
    variant, count = load_variant(name), 1500
    engine, (words, _) = engine_for(variant), drawer_for(variant).draw(5, 30, count)
    boards = engine.boards(words)
    locked = boards[lemmas_for(variant).of_boards(boards) == LOCKED]
    placements = [cells for cells, _ in map(engine.cells, locked)]
    held = sum(
        any(all(cells[cell] == piece for cell, piece in pieces) for pieces in locked_family(variant))
        for cells in placements
    )
    assert count_lemmas(variant, 5, 30, count).outside == held
    assert 0 < held < len(placements)


@relaxed
@given(st.one_of(variants(), random_variants(), random_variants(later=True)), SEEDS)
def test_sets_and_pieces_agree(variant: Variant, seed: int) -> None:
    assert_sets_agree(variant, seed, 400)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copenhagen", "tawlbwrdd-throneless", "alea-evangelii"])
def test_sets_and_pieces_agree_on_large_boards(name: str) -> None:
    assert_sets_agree(load_variant(name), 3, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL + FAMILY)
def test_sets_and_pieces_agree_on_a_million_samples(name: str) -> None:
    assert_sets_agree(load_variant(name), 11, 1_000_000)


@relaxed
@given(st.one_of(variants(), random_variants(), random_variants(later=True)), SEEDS)
def test_no_lemma_holds_on_what_play_reaches(variant: Variant, seed: int) -> None:
    positions = random_play(variant, Random(seed), 60)
    # A position of a game in which either side is stuck would have ended it; only the start can be such a one.
    assert compiled(variant, positions) == [None] * len(positions)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FULL, *FAMILY, "alea-evangelii"])
def test_no_lemma_holds_on_a_hundred_thousand_positions_of_play(name: str) -> None:
    """Many games at once, compiled: 400 plies of random moves, captures preferred in half of the games."""
    variant = load_variant(name)
    engine, generator = engine_for(variant), np.random.default_rng(5)
    front = np.repeat(engine.words(engine.start()), 400, axis=0)
    checked = 0
    for _ in range(400):
        children = engine.expand(front)
        order = generator.permutation(len(children.words))
        order = order[children.outcomes[order] == 0]
        _, chosen = np.unique(children.parents[order], return_index=True)
        front = children.words[order[chosen]]
        if len(front) < 200:
            front = np.concatenate([front, np.repeat(engine.words(engine.start()), 200, axis=0)])
        assert not lemmas_for(variant).of_boards(engine.boards(front)).any()
        checked += len(front)
    assert checked > 100_000


@pytest.mark.parametrize(
    ("text", "lemma"),
    [
        # The corridor between castle and camp tip.
        ("9/9/2K6/9/9/4b4/4w4/9/9 w", "locked"),
        ("9/9/2K6/9/9/4w4/4b4/9/9 b", "locked"),
        # The same two with a cell in between are free.
        ("9/9/2K6/4b4/9/9/4w4/9/9 w", None),
        # A king at home between four attackers: it cannot have come back, and the last of them took it.
        ("9/9/9/4b4/3bKb3/4b4/9/9/9 w", "locked"),
        ("9/9/9/4b4/3bKb3/9/4b4/9/9 w", None),
        # A camp is only ever left, yet d1 may have been filled from e1, and e1 from f1.
        ("9/9/2K6/9/9/9/9/3b5/3bb4 w", None),
    ],
)
def test_examples(text: str, lemma: str | None) -> None:
    variant = load_variant("ashton")
    reach = PlainReach(variant)
    position = reach.game.read(text)
    assert reach.lemma(position) == lemma
    assert compiled(variant, [position]) == [lemma]


ROW = "11/11/5K5/11/11/11/11/11/11/1bb8/1wwb7 w"
"""Two defenders on the edge, with attackers in front of them, and an attacker and a corner at the ends."""


@pytest.mark.parametrize(
    ("mover", "text", "lemma"),
    [
        # Under the Copenhagen rule, an attacker in front may have arrived last, because it captures nothing.
        ("bracket", ROW, None),
        ("any", ROW, "locked"),
        # In a closed ring, white was encircled before its last ply, too.
        ("bracket", "11/11/11/11/11/11/11/3bb6/2bKwb5/3bb6/11 b", "last_move"),
        ("bracket", "11/11/11/11/11/11/11/3bb6/2bKwb5/3bb6/11 w", "last_move"),
        ("bracket", "11/11/11/11/11/11/11/3bb6/2bKw6/3bb6/11 b", None),
        # A fort ended the game after white's ply: the last one, or the one before black's last ply.
        ("bracket", "11/11/11/11/11/11/3b7/11/4www4/3w3w3/3w1K1w3 b", "last_move"),
        ("bracket", "11/11/11/11/11/11/3b7/11/4www4/3w3w3/3w1K1w3 w", "last_move"),
        ("bracket", "11/11/11/11/11/11/3b7/11/4www4/3w7/3w1K1w3 w", None),
    ],
)
def test_examples_of_the_family(mover: str, text: str, lemma: str | None) -> None:
    shipped = load_variant("copenhagen")
    shieldwall = Shieldwall.model_validate({"corner": True, "mover": mover})
    variant = replace(shipped, rules=shipped.rules.model_copy(update={"shieldwall": shieldwall}))
    reach = PlainReach(variant)
    position = reach.game.read(text)
    assert reach.lemma(position) == lemma
    assert compiled(variant, [position]) == [lemma]


def test_rings_exclude_nothing_where_the_game_begins_in_one() -> None:
    """White is encircled and moves first, so its first ply leads to a position with a ring and black to move."""
    start = (".......", "..bb...", ".bKwb..", ".b..b..", "..bb...", ".......", ".......")
    shipped, terrain = load_variant("brandubh-federation"), ("X.....X", *(5 * ["......."]), "X.....X")
    for first, lemma in (("white", None), ("black", "last_move")):
        rules = shipped.rules.model_copy(update={"first": first})
        variant = replace(shipped, start=start, rules=rules, terrain=terrain)
        reach = PlainReach(variant)
        after = reach.game.read("7/2bb3/1bK1b2/1b1wb2/2bb3/7/7 b")
        assert reach.lemma(after) == lemma
        assert compiled(variant, [after]) == [lemma]


def fort_rules(data: st.DataObject, size: int, random: Random) -> Variant:
    """Return a variant with forts, and with enough soldiers at the start for a wall and for captured ones."""
    variant = walls(data.draw(small_variants(size, later=True)), *((5, 9) if size < 7 else (8, 14)), random)
    last = size - 1
    terrain = tuple(
        "".join("." if kind in "ABCD" or (kind == "T" and {0, last} & {x, y}) else kind for x, kind in enumerate(row))
        for y, row in enumerate(variant.terrain)
    )
    castle = variant.rules.castle.model_copy(update={"passable": random.choice(["king", "everyone", "everyone"])})
    shieldwall = random.choice([variant.rules.shieldwall, None])
    fields = {"fort": random.choice(["on_edge", "on_edge_counted"]), "castle": castle, "shieldwall": shieldwall}
    camps = variant.rules.camps.model_copy(update={"inert": ()})
    rules = variant.rules.model_copy(update={**fields, "camps": camps})
    return replace(variant, terrain=terrain, rules=rules)


def test_twins_agree_on_forts() -> None:
    """The kernel relies on the proof that no ply by black makes a fort; its twin looks at the positions before."""
    forts = Counter[bool]()

    @relaxed
    @given(st.data())
    def check(data: st.DataObject) -> None:
        size, random = data.draw(st.sampled_from([4, 5, 7])), Random(data.draw(SEEDS))
        variant = fort_rules(data, size, random)
        reach = PlainReach(variant)
        found = [candidate(reach.plies, random, random.randrange(1, 8)) for _ in range(40)]
        positions = [NaivePosition(one.pieces, side) for one in found if one is not None for side in "wb"]
        counted = [position for position in positions if reach.counted(position)]
        assume(counted)
        assert_twins_agree(variant, counted)
        for position in counted:
            if position.side == "w" and reach.plies.is_fort(position):
                before = [earlier for earlier, _ in reach.predecessors(position)]
                taken = any(len(earlier.pieces) > len(position.pieces) for earlier in before)
                forts[taken] += 1
                if variant.regions.castle is None or variant.rules.castle.passable == "everyone":
                    assert all(map(reach.plies.is_fort, before)), reach.game.write(position)

    check()
    assert min(forts[False], forts[True]) > 0


CROWD = ("bbb..", "b...b", "wwwww", "wwKww", ".....")
"""A start with soldiers enough for the examples."""


def test_a_fort_with_white_to_move_excludes_nothing_if_black_may_have_closed_it_at_the_castle() -> None:
    """Only the king may pass the castle c3, so the attacker on c4 closes the region of the king on c1."""
    variant = replace(small(FIVE, castle__pass="king", castle__hostile_to_white="never"), start=CROWD)
    reach = PlainReach(variant)
    position = reach.game.read("5/2b2/1w1w1/1w1w1/1wKw1 w")
    assert reach.plies.is_fort(position)
    assert not any(reach.plies.is_fort(before) for before, _ in reach.predecessors(position))
    assert compiled(variant, [position]) == [reach.lemma(position)] == [None]


def test_forts_with_white_to_move_exclude_nothing_where_the_game_begins_with_one() -> None:
    """Black moves first, and its first ply leads to a position with a fort and white to move."""
    start = ("..b..", "b...b", ".www.", ".w.w.", ".wKw.")
    for first, lemma in (("black", None), ("white", "last_move")):
        variant = replace(small(("X...X", *["....."] * 3, "X...X"), first=first), start=start)
        reach = PlainReach(variant)
        after = reach.game.read("1b3/b3b/1www1/1w1w1/1wKw1 w")
        assert reach.lemma(after) == lemma
        assert compiled(variant, [after]) == [lemma]


def test_a_lone_attacker_without_anvils_was_never_left_over() -> None:
    """Under leiden nobody can have made the last capture before a king, a defender and one attacker."""
    variant = load_variant("leiden")
    reach = PlainReach(variant)
    for text, lemma in (
        ("9/2K6/9/4w4/9/9/6b2/9/9 w", "material"),
        ("9/2K6/9/4w4/9/6w2/6b2/9/9 w", None),
        ("9/2K6/9/4b4/9/9/6b2/9/9 w", None),
    ):
        assert reach.lemma(reach.game.read(text)) == lemma
        assert compiled(variant, [reach.game.read(text)]) == [lemma]


@pytest.mark.parametrize("shown", EXCLUDED, ids=lambda shown: shown.field)
def test_drawn_positions_are_excluded_by_one_field_and_every_framed_piece_matters(shown: Excluded) -> None:
    variant = load_variant("copenhagen")
    default = Rules.model_fields[shown.field].default
    without = replace(variant, name="without", rules=variant.rules.model_copy(update={shown.field: default}))
    reach = PlainReach(variant)
    position = reach.game.read(shown.position)
    framed = {divmod(parse_square(square, 11), 11)[::-1] for square in shown.squares.split()}
    assert reach.counted(position)
    assert compiled(variant, [position]) == [reach.lemma(position)] == [shown.lemma]
    assert PlainReach(without).lemma(position) is None
    assert set(reach.locked(position)) == (framed if shown.lemma == "locked" else set())
    for cell in framed - {position.king()}:
        rest = {other: piece for other, piece in position.pieces.items() if other != cell}
        assert reach.lemma(NaivePosition(rest, position.side)) != shown.lemma
