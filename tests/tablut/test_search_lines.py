"""Several best lines: each is the result of a separate search without the first moves of the earlier lines."""

from functools import cache
from random import Random

import pytest

from symmetry import dihedral
from tablut.board import Board
from tablut.errors import InputError
from tablut.indexing.values import Verdict, verdict_of
from tablut.play.search.limits import MATE, MOST_LINES, PROVEN, SearchLimits
from tablut.play.search.searcher import Searcher
from tablut.position import Move
from tablut.prober import find_prober
from tablut.variants import load_variant
from tests.support.effort import slow_but
from tests.support.waiting import stopping
from tests.tablut.test_search_limits import Table, after
from tests.tablut.test_search_tree import played, shuffled


@cache
def searcher(name, probes=False):
    variant = load_variant(name)
    return Searcher(variant, hash_mib=1, prober=find_prober(variant) if probes else None, table_mib=8)


def images(board, move):
    """Return the equivalent moves: the images under symmetries that preserve every position that can recur."""
    past, copied = [board.position], board.copy()
    while copied.ply and not copied.captured():
        copied.pop()
        past.append(copied.position)
    legal = set(board.legal_moves)
    found = {
        move.transformed(symmetry)
        for symmetry in dihedral(board.size)
        if symmetry.name in {one.name for one in board.variant.symmetries}
        and all(position.transformed(symmetry) == position for position in past)
    }
    assert found <= legal
    return found


def separate(chooser, board, limits, number):
    """Return the lines found by separate searches, each of which begins with an empty table."""
    rest, lines = list(board.legal_moves), []
    while rest and len(lines) < number:
        chooser.forget()
        lines.append(chooser.search(board, limits, moves=rest))
        rest = [move for move in rest if move not in images(board, lines[-1].move)]
    return lines


def essence(choice):
    return choice.move, choice.score, choice.mate, choice.depth, choice.pv, choice.source, choice.tbhits


def check(chooser, board, depth, number):
    chooser.forget()
    found = chooser.search(board, SearchLimits(depth=depth), lines=number)
    lines = [found, *found.others]
    twin = separate(chooser, board, SearchLimits(depth=depth), number)
    assert list(map(essence, lines)) == list(map(essence, twin)), board.position
    assert [line.rank for line in lines] == list(range(1, len(lines) + 1))
    for line in lines:
        walk = board.copy()
        for move in line.pv:
            walk.push(move)
    return lines


@pytest.mark.parametrize(
    ("name", "depth"),
    slow_but(
        [("ashton", 5), ("brandubh", 6), ("ashton-5-4v0", 7)],
        [("mcgill", 5), ("bologna", 5), ("leiden", 4), ("berkeley", 4), ("ashton", 8), ("brandubh-5-4v4", 8)],
    ),
)
def test_the_lines_are_those_of_separate_searches(name, depth):
    """Positions are early and late in games, with either side to move. Earlier positions can recur in some of them."""
    chooser, random, sides = searcher(name), Random(f"{name}{depth}"), set()
    kinds = {"won": 0, "lost": 0, "few": 0}
    for number in range(10):
        plies = 1 + number if name == "ashton-5-4v0" else 3 * number
        make = shuffled if number % 3 == 2 else played
        board = make(chooser.variant, random, plies)
        many = 2 + number % 4 * (4 if name == "ashton-5-4v0" else 1)
        lines = check(chooser, board, depth, many)
        sides.add(board.turn)
        kinds["won"] += any(line.score >= PROVEN for line in lines)
        kinds["lost"] += any(line.score <= -PROVEN for line in lines)
        kinds["few"] += len(lines) < many
    assert len(sides) == 2
    if name == "ashton-5-4v0":
        assert min(kinds.values()) > 0


def test_lines_of_a_tablebase_and_of_the_search_go_together():
    """Some positions are in a table and have winning, drawing and losing moves. Others are just before a capture."""
    chooser, random, kinds = searcher("ashton", True), Random(4), set()
    for text in ("9/9/2K6/9/9/9/9/2b6/5b3 w", "9/9/2K6/9/9/6b2/9/9/2b6 b", "9/2bb5/1b1w5/2K6/9/9/9/9/9 w"):
        board = Board(chooser.variant, text)
        for _ in range(2):
            kinds |= {line.source for line in check(chooser, board, 3, 4)}
            board.push(random.choice(list(board.legal_moves)))
    assert "tablebase" in kinds
    board = Board("brandubh-5-4v0", "2b2/5/b1K1b/5/1b3 w")
    draws = {after(board, "c3-c4"): Verdict("draw", None), after(board, "c3-b3"): Verdict("draw", None)}
    known = {after(board, "c3-d3"): verdict_of(-7), **draws}
    mixed = Searcher(board.variant, hash_mib=1, prober=Table(board.variant, known, verdict_of(4)))
    lines = check(mixed, board, 3, 12)
    assert [line.source for line in lines[:4]] == ["tablebase", "search", "search", "tablebase"]
    assert (lines[0].score, lines[-1].score) == (MATE - 7, 5 - MATE)


def test_equivalent_moves_are_one_line():
    board, chooser = Board("brandubh"), searcher("brandubh")
    many = chooser.search(board, SearchLimits(depth=1), lines=MOST_LINES)
    lines = [many, *many.others]
    orbits = {frozenset(images(board, move)) for move in board.legal_moves}
    assert len(lines) == len(orbits) < len(list(board.legal_moves))
    assert {frozenset(images(board, line.move)) for line in lines} == orbits
    # If the game began in another position, the moves are not equivalent, because they may repeat different positions.
    board = Board("brandubh", "2b4/3b3/3w3/bbwKwbb/3w3/3b3/3b3 b")
    board.push_text("c7-d7")
    assert str(board.position).startswith(str(Board("brandubh").position)[:-1])
    assert all(len(images(board, move)) == 1 for move in board.legal_moves)
    check(chooser, board, 3, 5)


def test_the_moves_to_choose_from():
    board, chooser = Board("ashton"), searcher("ashton")
    wanted = [Move.parse(text, 9) for text in ("e4-f4", "d5-d3")]
    found = chooser.search(board, SearchLimits(depth=4), moves=wanted, lines=5)
    assert {found.move, *(line.move for line in found.others)} == set(wanted)
    for bad in ("a4-a3", "e5-e9", "a1-b1"):
        with pytest.raises(InputError, match=bad):
            chooser.search(board, SearchLimits(depth=2), moves=[*wanted, Move.parse(bad, 9)])
    with pytest.raises(InputError, match="no move"):
        chooser.search(board, SearchLimits(depth=2), moves=[])
    for lines in (0, MOST_LINES + 1):
        with pytest.raises(InputError, match="lines"):
            chooser.search(board, SearchLimits(depth=2), lines=lines)


@pytest.mark.parametrize("nodes", [1, 50, 3000, 40_000])
def test_limits_hold_for_all_lines_together(nodes):
    """Lines missing from an interrupted depth come from the previous depth. No move occurs twice."""
    chooser, random = searcher("ashton"), Random(nodes)
    for number in range(6):
        board, told = played(chooser.variant, random, 5 * number), []
        chooser.forget()
        chooser.observer = told.append
        found = chooser.search(board, SearchLimits(nodes=nodes), lines=4)
        chooser.observer = None
        lines = [found, *found.others]
        assert found.nodes <= nodes
        taken = [move for line in lines for move in images(board, line.move)]
        assert len(taken) == len(set(taken))
        # At each completed depth, the lines are those of separate searches.
        depth = max((choice.depth for choice in told if choice.rank == 4), default=0)
        if 0 < depth < 5:
            assert len(lines) == 4
            last = [choice for choice in told if choice.depth == depth][:4]
            twin = separate(chooser, board, SearchLimits(depth=depth), 4)
            assert [(choice.move, choice.score) for choice in last] == [(choice.move, choice.score) for choice in twin]


def test_a_stop_leaves_all_lines():
    chooser, board = searcher("ashton"), Board("ashton")
    chooser.forget()
    with stopping(chooser):
        found = chooser.search(board, SearchLimits(depth=60), lines=3)
    assert len(found.others) == 2
    chooser.stop()
    found = chooser.search(board, SearchLimits(depth=60), lines=3)
    assert (found.depth, len(found.others)) == (1, 2)


def test_more_threads_help_the_first_line_only():
    board = Board("ashton")
    chooser = Searcher(board.variant, hash_mib=1, threads=3)
    found = chooser.search(board, SearchLimits(movetime=0.3), lines=3)
    assert len(found.others) == 2
    alone = chooser.search(board, SearchLimits(depth=3))
    assert alone.others == ()
