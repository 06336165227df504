"""Tables probed inside the tree: the same values as elsewhere, used only where they hold."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from retrograde.tablebase import Tablebase, open_tablebase
from retrograde.tablebase.probing import prober_for
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.jit import advance, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.indexing.tier_tables import TierValues
from tablut.indexing.tiers import tier_index
from tablut.indexing.values import MISSING, value_of
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search import state as at
from tablut.play.search.limits import MATE, SearchLimits, mate_in
from tablut.play.search.searcher import Searcher
from tablut.play.search.table_probing import directory_of, stored_value
from tablut.position import Move, Position
from tablut.prober import TierProber
from tablut.variants import Variant, load_variant
from tests.support.effort import slow_but
from tests.support.games import recurrence

MEMORY = 64 << 20
FULL_WIDTH = at.TRANSPOSITIONS | at.QUIESCENCE
ABOVE = (3, 1)
"""A tier whose captures lead into the fixture's tables."""


@kernel
def probe_all(tables, items, boards, found):
    t, listed = flat(tables), pointer(items)
    for number in range(len(boards)):
        found[number] = stored_value(t, listed, advance(pointer(boards), number * (2 * t.size + 4)))


def probe_compiled(variant: Variant, values: TierValues, boards: np.ndarray) -> np.ndarray:
    directory, found = directory_of(values), np.zeros(len(boards), dtype=np.int64)
    probe_all(engine_for(variant).tables, directory.items, boards, found)
    return found


def some_positions(variant: Variant, material: tuple[int, int], number: int, random: Random) -> list[Position]:
    """Random entries, under random symmetries; all of them if there are not more, with both sides to move."""
    index = tier_index(variant, *material)
    entries = range(index.size) if index.size <= number else random.sample(range(index.size), number)
    return [
        index.unrank(entry, side).transformed(random.choice(variant.symmetries)) for entry in entries for side in "wb"
    ]


def boards_of(variant: Variant, positions: Sequence[Position]) -> np.ndarray:
    engine = engine_for(variant)
    return np.array([engine.board(position.cells, position.side) for position in positions])


# -- values --------------------------------------------------------------------------------


@pytest.mark.parametrize("which", slow_but(["small_store", "ashton"], ["deep_store", "mcgill"]))
def test_compiled_probes_equal_the_prober(request, which: str) -> None:
    if which.endswith("store"):
        tablebase = open_tablebase(request.getfixturevalue(which))
    else:
        tablebase = prober_for(load_variant(which))
    variant, random = tablebase.variant, Random(which)
    positions = [
        position
        for material in tablebase.store.tiers()
        if sum(material) <= 3 or which.endswith("store")  # of what ships, what fits into MEMORY
        for position in some_positions(variant, material, 400, random)
    ]
    boards, values = boards_of(variant, positions), tablebase.load_tiers(MEMORY)
    found = probe_compiled(variant, values, boards)
    assert np.array_equal(found, tablebase.probe_words(engine_for(variant).words(boards)))
    assert MISSING not in found
    assert len(set(found.tolist())) > 3
    if variant.size == 9:
        assert sum(max(cell for cell, piece in enumerate(p.cells) if piece != ".") >= 64 for p in positions) > 400


def test_tiers_that_are_missing_are_passed_over(tmp_path, small_variant, small_codes, write_store) -> None:
    kept = ((1, 0), (1, 1), (3, 0))
    write_store(tmp_path / "s", small_variant, {key: small_codes[key] for key in kept})
    values = open_tablebase(tmp_path / "s").load_tiers(MEMORY)
    random = Random(3)
    for material in ((1, 0), (1, 1), (2, 0), (1, 2), (2, 1), (3, 0), (4, 1), (2, 2)):
        boards = boards_of(small_variant, some_positions(small_variant, material, 50, random))
        assert ((probe_compiled(small_variant, values, boards) == MISSING) == (material not in kept)).all()


def test_memory_is_bounded_and_goes_to_the_fewest_men(small_store) -> None:
    tablebase = open_tablebase(small_store)
    assert isinstance(tablebase, TierProber)
    whole, known = tablebase.load_tiers(MEMORY), []
    assert len(whole.tiers.tier.attackers) == len(tablebase.store.tiers())
    for memory in (0, 20_000, 60_000, 300_000, 1_000_000):
        values = tablebase.load_tiers(memory)
        if values is None:
            known.append(0)
            continue
        index = values.tiers
        parts = (*values.arrays, *index.row)
        assert sum(part.nbytes for part in parts) <= memory
        men = (index.tier.attackers + index.tier.defenders).tolist()
        assert men == sorted(men)
        known.append(len(men))
    assert known[0] == 0 < known[1] < known[-1] <= len(whole.tiers.tier.attackers)
    assert known == sorted(known)


# -- search --------------------------------------------------------------------------------


def under(variant: Variant, **rules: object) -> Variant:
    return replace(variant, rules=variant.rules.model_copy(update=rules))


class Game(NamedTuple):
    """A game with some small tiers, the truth about the one above them too, and positions of that one."""

    variant: Variant
    codes: dict
    store: Path
    truth: Tablebase
    above: list[Position]
    drawish: bool


@pytest.fixture(scope="module", params=slow_but(["small", "either"], ["deep"]))
def game(request, tmp_path_factory, solve_codes, write_store) -> Game:
    variant = request.getfixturevalue("small_variant" if request.param == "small" else "deep_variant")
    codes = request.getfixturevalue("small_codes" if request.param == "small" else "deep_codes")
    if request.param == "either":
        variant = under(variant, no_moves="either_after_ply")
        codes = solve_codes(variant, tuple(codes))
    store, truth = (tmp_path_factory.mktemp("tablebase") / name for name in ("store", "truth"))
    write_store(store, variant, codes)
    write_store(truth, variant, solve_codes(variant, (*codes, ABOVE)))
    found = some_positions(variant, ABOVE, 700, Random(7))
    # Under the rule of the third, a placement may be decided by the ply before.
    above = [position for position in found if undecided(Board(variant, position))]
    known = open_tablebase(truth)
    # Those that are decided late are few, and tell most.
    late = [position for position in above if (known.probe(position).dtm or 0) > 3]
    rest = [position for position in above if position not in late]
    above = [*late[:: 3 if request.param == "either" else 1], *rest[: 75 if request.param == "either" else 150]]
    return Game(variant, codes, store, known, above, drawish=request.param != "small")


def undecided(board: Board) -> bool:
    return board.outcome() is None and bool(list(board.legal_moves))


def searcher(variant: Variant, flags: int, tablebase: Tablebase | None) -> Searcher:
    return Searcher(variant, hash_mib=1, flags=flags, prober=tablebase)


def known_children(board: Board, truth: Tablebase) -> dict[Move, int | None]:
    """What search of one ply knows of each move: its outcome, or what a table says after a capture."""
    limit, drawn_by_history = board.variant.rules.move_limit, board.variant.rules.repetition.result == "mover_loses"
    found: dict[Move, int | None] = {}
    for move in list(board.legal_moves):
        material_before = board.position.material
        board.push(move)
        outcome = board.outcome()
        quiet = board.position.material == material_before
        stuck = outcome is not None and outcome.termination == "no_moves"
        if quiet and stuck and board.variant.rules.no_moves == "side_to_move_loses":
            found[move] = None  # seen one ply later
        elif outcome is not None:
            found[move] = 0 if outcome.winner is None else MATE - 1 if outcome.winner != board.turn else 1 - MATE
        elif quiet:
            found[move] = None
        else:
            value = value_of(truth.probe(board.position))
            plies = value if value > 0 else -value - 1
            if value == 0 or (limit is not None and board.ply + plies > limit):
                found[move] = None if drawn_by_history else 0
            else:
                found[move] = MATE - plies - 1 if value < 0 else plies + 1 - MATE
        board.pop()
    return found


@pytest.mark.parametrize(
    "rules",
    slow_but(
        [{}, {"repetition": recurrence("mover_loses"), "move_limit": 7}],
        [{"repetition": recurrence("mover_loses")}, {"repetition": recurrence("none"), "move_limit": 9}],
    ),
    ids=str,
)
def test_one_ply_sees_as_far_as_the_tables(tmp_path, write_store, game, rules) -> None:
    variant = under(game.variant, **rules)
    write_store(tmp_path / "s", variant, game.codes)
    plain, alone = searcher(variant, 0, open_tablebase(tmp_path / "s")), searcher(variant, 0, None)
    seen, hits = set(), 0
    # All of them under the game's own rules; half of them under each change.
    for position in game.above[:: 2 if rules else 1]:
        board = Board(variant, position)
        children = known_children(board, game.truth)
        known = {move: value for move, value in children.items() if value is not None}
        best = max(known.values(), default=-MATE)
        score = plain.value(board, 1)
        assert score == best if (mate_in(best) or 0) > 0 else (mate_in(score) or -1) < 0, (str(position), known)
        if known:
            # As if there were no other moves.
            thought = plain.think(plain.root(board, list(known)), SearchLimits(depth=1))
            assert thought.score == best, (str(position), known)
            seen.add(best)
            hits += thought.tbhits
        unknown = [move for move in children if move not in known]
        if unknown:
            # Nothing is taken from a table that does not tell.
            thoughts = [one.think(one.root(board, unknown), SearchLimits(depth=1)) for one in (plain, alone)]
            assert thoughts[0] == thoughts[1], (str(position), unknown)
    assert hits > 10
    mates = {mate_in(value) for value in seen if value != 0}
    assert ({1, -2} if rules else {1, 3, 5, -2, -4}) <= mates
    assert max(mates) <= rules.get("move_limit", 99)
    assert (0 in seen) == (game.drawish and rules.get("repetition") != recurrence("mover_loses"))


def first_proof(chooser: Searcher, board: Board, plies: int) -> int:
    """Return the least depth at which the end in so many plies, or a later one, is proved."""
    chooser.forget()
    return next(depth for depth in range(1, plies + 1) if mate_in(chooser.value(board, depth)) is not None)


def test_what_lies_behind_a_capture_is_proved_earlier(game) -> None:
    tables = searcher(game.variant, FULL_WIDTH, open_tablebase(game.store))
    alone = searcher(game.variant, FULL_WIDTH, None)
    gained = dict.fromkeys(("ww", "wb", "bw", "bb"), 0)
    for position in game.above:
        value, board = value_of(game.truth.probe(position)), Board(game.variant, position)
        plies = value if value > 0 else -value - 1
        if 4 <= plies <= 9:
            # With the width of all moves and this depth, what is proved is the shortest.
            assert mate_in(tables.value(board, plies)) == (plies if value > 0 else -plies)
            winner = position.side if value > 0 else "wb"[position.side == "w"]
            gain = first_proof(alone, board, plies) - first_proof(tables, board, plies)
            assert gain >= 0
            gained[position.side + winner] = max(gained[position.side + winner], gain)
    if game.drawish:
        del gained["wb"]  # white to move loses none of these
    assert min(gained.values()) >= 1, gained
    assert max(gained.values()) >= 4, gained


def test_a_player_loads_what_ships() -> None:
    variant = load_variant("ashton")
    board = Board(variant, Position.parse("3b5/9/1b7/9/3K5/b3b4/7w1/9/9 b", 9))
    choices = [
        make_player("alphabeta", variant, PlayerOptions(hash_mib=1, table_mib=mib)).choose(
            board, SearchLimits(nodes=3000)
        )
        for mib in (0, 512)
    ]
    assert choices[0].tbhits == 0 < choices[1].tbhits
    assert choices[1].mate == choices[0].mate


def longest(tablebase: Tablebase, wdl: str, side: str) -> Board:
    """The position of the greatest distance, of at most three soldiers."""
    query = TableQuery(wdl=wdl, side=side, materials=((2, 1),), order="longest")  # type: ignore[arg-type]
    return Board(tablebase.variant, list_positions(tablebase.store, query, 1).positions[0].position)


@pytest.mark.parametrize(("wdl", "side"), [("win", "white"), ("loss", "black")])
def test_a_line_from_the_root_goes_on_to_the_end(wdl: str, side: str) -> None:
    """Best play by the table, move by move: each keeps the distance, and the last ends the game."""
    tablebase = prober_for("ashton")
    assert tablebase is not None
    root = longest(tablebase, wdl, side)
    verdict = tablebase.probe(root)
    assert verdict.dtm is not None
    searcher = Searcher(root.variant, hash_mib=1, prober=tablebase, table_mib=0)
    found = searcher.search(root, SearchLimits(nodes=1))
    assert (found.source, found.move) == ("tablebase", found.pv[0])
    assert len(found.pv) == verdict.dtm > 1
    walk = root.copy()
    for left, move in zip(range(verdict.dtm, 0, -1), found.pv, strict=True):
        assert tablebase.probe(walk.position).dtm == left
        walk.push(move)
    outcome = walk.outcome()
    assert outcome is not None
    assert (outcome.winner == root.turn) == (wdl == "win")
