"""Probing against the naive rules, against itself under symmetry, and at its limits."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from retrograde.tablebase import Tablebase, TablebaseError, open_tablebase, writer
from retrograde.tablebase import bulk_probing as batch
from retrograde.tablebase.probing import prober_for
from retrograde.tablebase.store import open_store
from retrograde.tablebase.writer import create, write_tier
from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.packing import cells_of
from tablut.errors import InputError
from tablut.indexing.tiers import TierIndex, tier_index
from tablut.indexing.values import MISSING, value_of, verdict_of
from tablut.position import Move, Position
from tablut.prober import find_prober
from tablut.variants import Variant, load_variant
from tests.support.effort import slow_but
from tests.support.endings import GAME, POSITIONS
from tests.support.games import recurrence

BARE = "5/1b3/2K2/3b1/5 b"


@pytest.fixture(scope="module")
def tablebase(small_store) -> Tablebase:
    return open_tablebase(small_store)


@pytest.fixture(scope="module")
def deep(deep_store) -> Tablebase:
    return open_tablebase(deep_store)


def every_position(variant: Variant, material: tuple[int, int], step: int = 1) -> list[Position]:
    """Every ``step``-th entry with both sides to move, each under another symmetry."""
    index = tier_index(variant, *material)
    found = []
    for entry in range(0, index.size, step):
        symmetry = variant.symmetries[entry % len(variant.symmetries)]
        found += [index.unrank(entry, side).transformed(symmetry) for side in ("w", "b")]
    return found


def words_of(variant: Variant, positions: list[Position]) -> np.ndarray:
    engine = engine_for(variant)
    return engine.words(np.array([engine.board(position.cells, position.side) for position in positions]))


# -- the rank ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "material", "step"),
    slow_but(
        [("ashton-5-4v2", (1, 2), 3), ("ashton", (2, 1), 5003)],
        [
            ("ashton-5-4v2", (2, 1), 1),
            ("brandubh-5-4v0", (3, 0), 1),
            ("ashton", (3, 0), 2003),
            ("mcgill", (1, 2), 5003),
            ("leiden", (2, 2), 500_009),
        ],
    ),
)
def test_the_rank_from_stored_bits_is_that_of_every_image(name: str, material: tuple[int, int], step: int) -> None:
    variant = load_variant(name)
    index = tier_index(variant, *material)
    stored = TierIndex(variant, *material, packed=index.packed)
    assert stored.size == index.size
    assert (stored.representatives == index.representatives).all()
    for entry in range(0, index.size, step):
        position = index.unrank(entry, "w")
        expected = index.rank(position)
        for symmetry in variant.symmetries:
            assert stored.rank(position.transformed(symmetry)) == expected


# -- values --------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [0, 10**9])
@pytest.mark.parametrize(("which", "kinds", "step"), [("tablebase", 6, 401), ("deep", 14, 163)])
def test_many_at_once_equal_one_by_one(request, monkeypatch, which: str, kinds: int, step: int, few: int) -> None:
    monkeypatch.setattr(batch, "FEW", few)
    tablebase = open_tablebase(request.getfixturevalue(which).store.root)
    positions = [
        position
        for material in tablebase.store.tiers()
        for position in every_position(tablebase.variant, material, step)
    ]
    found = tablebase.probe_words(words_of(tablebase.variant, positions))
    assert found.dtype == np.int16
    assert [verdict_of(int(value)) for value in found] == [tablebase.probe(position) for position in positions]
    assert len(set(found.tolist())) >= kinds


def test_chunks_and_wide_codes_are_found(tmp_path, monkeypatch, small_variant, small_codes, write_store) -> None:
    monkeypatch.setattr(writer, "CHUNK", 100)
    monkeypatch.setattr(writer, "SHARD", 300)
    monkeypatch.setattr(batch, "FEW", 0)
    white, black = (codes.copy() for codes in small_codes[1, 1])
    # Wrong on purpose: another code for each entry, some beyond a byte.
    real = white != 0xFFFF
    white[real] = np.arange(len(white), dtype=np.uint16)[real]
    write_store(tmp_path / "s", small_variant, {(1, 1): (white, black)})
    assert open_store(tmp_path / "s").tier(1, 1).record.white.dtype == "uint16"
    tablebase = open_tablebase(tmp_path / "s", cache_bytes=500)
    index = tier_index(small_variant, 1, 1)
    positions = every_position(small_variant, (1, 1), 11)
    expected = [int((white if p.side == "w" else black)[index.rank(p)]) for p in positions]
    values = [code >> 1 if code % 2 == 0 else -(code >> 1) - 1 for code in expected]
    assert [value_of(tablebase.probe(position)) for position in positions] == values
    assert tablebase.probe_words(words_of(small_variant, positions)).tolist() == values
    # 100 codes of two bytes, or of one: what is kept stays below the bound.
    assert 300 < sum(chunk.nbytes for chunk in tablebase._chunks.values()) <= 500
    none = open_tablebase(tmp_path / "s", cache_bytes=0)
    assert [value_of(none.probe(position)) for position in positions] == values
    assert not none._chunks


def test_few_and_many_agree_on_any_placement(tablebase, monkeypatch) -> None:
    """Also where a soldier may not stand: an answer does not depend on how many were asked for before."""
    random = np.random.default_rng(3)
    positions = [
        position for material in tablebase.store.tiers() for position in every_position(tablebase.variant, material, 53)
    ]
    words = words_of(tablebase.variant, positions)
    moved = words ^ (np.uint64(1) << random.integers(56, size=words.shape, dtype=np.uint64))
    scattered = np.bitwise_and.reduce(random.integers(1 << 56, size=(2000, 1, 4), dtype=np.uint64), axis=2)
    for some in (words, moved, scattered):
        # Words with two men on one cell are no placement at all, and no ranking of them is promised.
        placed = some[[cells_of(word, tablebase.variant.size**2) is not None for word in some]]
        assert len(placed) > 100
        found = []
        for few in (0, 10**9):
            monkeypatch.setattr(batch, "FEW", few)
            found.append(open_tablebase(tablebase.store.root).probe_words(placed))
        assert np.array_equal(*found)
        assert (found[0] != MISSING).any()


def test_who_asks_again_gets_the_same_prober_until_the_store_changes(
    tmp_path, small_variant, small_codes, write_store
) -> None:
    root = tmp_path / "s"
    write_store(root, small_variant, {(1, 0): small_codes[1, 0]})
    create(root, small_variant, [(1, 1), (2, 0)])
    first = find_prober(small_variant, root)
    assert first is not None
    assert find_prober(small_variant, str(root)) is first
    assert not first.covers(2, 0)
    assert first.max_men == 2  # type: ignore[attr-defined]
    # A tier that is there is seen, also by who has the prober; one that was written anew makes it another.
    for material in ((1, 1), (2, 0)):
        write_tier(root, tier_index(small_variant, *material), *small_codes[material])
    assert first.covers(2, 0)
    again = find_prober(small_variant, root)
    assert again is not first
    assert again.max_men == 3  # type: ignore[union-attr]
    write_tier(root, tier_index(small_variant, 1, 0), *small_codes[1, 0])
    assert find_prober(small_variant, root) is not again
    assert find_prober(small_variant) is find_prober(small_variant)


def test_what_no_table_knows_is_missing_in_a_batch(tablebase) -> None:
    texts = [BARE, "5/1b3/2K2/3b1/b2b1 b", "K4/1b3/5/3b1/5 b", "5/5/2K2/5/5 w"]
    found = tablebase.probe_words(words_of(tablebase.variant, [Position.parse(text, 5) for text in texts]))
    assert found[0] == value_of(tablebase.probe(Position.parse(BARE, 5)))
    assert found[1:].tolist() == [MISSING] * 3
    with pytest.raises(InputError):
        tablebase.probe_words(np.zeros((3, 2), dtype=np.uint64))
    assert tablebase.probe_words(np.zeros((0, 1), dtype=np.uint64)).shape == (0,)


# -- moves ---------------------------------------------------------------------------------


def test_the_best_move_attains_the_value(deep) -> None:
    seen, tablebase = set(), deep
    for material in deep.store.tiers():
        for position in every_position(tablebase.variant, material, 2011):
            board = Board(tablebase.variant, position)
            verdict, moves = tablebase.probe(board), tablebase.best_moves(board)
            assert board.position is position
            assert {rated.move for rated in moves} == set(board.legal_moves)
            merits = [{"win": 999, "draw": 0, "loss": -999}[rated.wdl] for rated in moves]
            merits = [
                merit - (rated.dtm or 0) * (1 if merit > 0 else -1) for merit, rated in zip(merits, moves, strict=True)
            ]
            assert merits == sorted(merits, reverse=True)
            if moves:
                assert (moves[0].wdl, moves[0].dtm) == verdict
            else:
                assert verdict == ("loss", 0)
            seen.add(verdict.wdl)
    assert seen == {"win", "draw", "loss"}


def test_a_move_that_repeats_is_worth_what_the_rule_says(tmp_path, deep_variant, deep_codes, write_store) -> None:
    loses = replace(deep_variant, rules=deep_variant.rules.model_copy(update={"repetition": recurrence("mover_loses")}))
    tables = {}
    for name, variant in {"draw": deep_variant, "loses": loses}.items():
        write_store(tmp_path / name, variant, deep_codes)
        tables[name] = open_tablebase(tmp_path / name)
    open_position = next(
        position
        for position in every_position(deep_variant, (2, 0))
        if tables["draw"].probe(position) == ("draw", None) and there_and_back(Board(deep_variant, position))
    )
    assert tables["loses"].probe(open_position) == ("unresolved", None)
    for name, expected in {"draw": ("draw", None), "loses": ("loss", 1)}.items():
        board = Board(tables[name].variant, open_position)
        repeats = there_and_back(board)
        assert repeats is not None
        rated = {found.move: (found.wdl, found.dtm) for found in tables[name].best_moves(board)}
        assert rated[repeats] == expected
        # Without the history, the same move has another value.
        bare = tables[name].best_moves(Board(board.variant, board.position))
        assert {found.move: found.wdl for found in bare}[repeats] == ("draw" if name == "draw" else "unresolved")


def there_and_back(board: Board) -> Move | None:
    """Play three plies of both sides' going there and back, and return the move that completes it, if there is one."""
    start = board.position.cells

    def search(plies: int) -> Move | None:
        for move in list(board.legal_moves):
            board.push(move)
            if plies == 1:
                outcome = board.outcome()
                if board.position.cells == start and outcome is not None and outcome.termination == "repetition":
                    return board.pop()
            elif board.outcome() is None and (found := search(plies - 1)) is not None:
                return found
            board.pop()
        return None

    return search(4)


# -- finding it ----------------------------------------------------------------------------


def test_one_position_is_probed_without_numba(small_store) -> None:
    code = (
        "import sys\n"
        "from retrograde.tablebase import open_tablebase\n"
        "from tablut.position import Position\n"
        f"table = open_tablebase({str(small_store)!r})\n"
        f"print(table.probe(Position.parse({BARE!r}, 5)).wdl, 'numba' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["win", "False"] or result.stdout.split() == ["loss", "False"]


def test_it_is_found_by_the_game(small_store, small_variant) -> None:
    renamed = replace(small_variant, name="mine", title="My own", source="me")
    for find in (prober_for, find_prober):
        found = find(renamed, small_store)
        assert found is not None
        assert found.covers(2, 1)
        with pytest.raises(TablebaseError, match=r"'ashton-5-4v2'.*'ashton-5-4v4'"):
            find(load_variant("ashton-5-4v4"), small_store)
        assert find(load_variant("ashton-5-4v4")) is None


def test_words_of_boards_are_probed(sound: Path, truth: list[int]) -> None:
    engine, table = engine_for(GAME), open_tablebase(sound)
    for some in (POSITIONS, [Board(GAME, position) for position in POSITIONS]):
        assert table.probe_words(engine.words(some)).tolist() == truth
    assert engine.words([]).shape == (0, engine.tables.words)
    for wrong in ([Board("brandubh-5-4v0")], ["5/5/5/5/5 w"], np.zeros((2, 3), dtype=np.uint32), np.zeros((1, 14))):
        with pytest.raises(InputError):
            engine.words(wrong)  # type: ignore[arg-type]
