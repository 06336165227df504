"""Limits of a search: time kept under load, nodes repeatable, stopping, and what is refused."""

import time

import pytest

from tablut.board import Board
from tablut.errors import InputError
from tablut.indexing.values import Verdict, verdict_of
from tablut.play.search import tree
from tablut.play.search.limits import MATE, TABLEBASE, SearchLimits
from tablut.play.search.node import FIRST_LOOK
from tablut.play.search.searcher import Searcher
from tablut.play.search.transposition import empty_table
from tablut.prober import MissingTableError
from tablut.variants import load_variant
from tests.support.waiting import stopping


@pytest.fixture(scope="module")
def ashton():
    return Searcher(load_variant("ashton"), hash_mib=8)


def test_a_machine_that_begins_late_still_moves_on_thought():
    """The first of the moves lets black take the king; so does many another. No wait makes the search play one."""
    board = Board("mcgill", "4b4/2b3b2/b2w5/6w1b/1b1b5/b1b6/8K/8b/2b1bb3 w")
    searcher = Searcher(board.variant, hash_mib=1)
    for wait in (0, 10**12):
        searcher._wait = wait
        with searcher._deadline(time.perf_counter() - 60, 0.1):
            thought = searcher.think(searcher.root(board), SearchLimits(movetime=0.1))
        assert thought.nodes >= FIRST_LOOK
        played = board.copy()
        played.push(thought.move)
        assert searcher.search(played, SearchLimits(nodes=20_000)).score < 5000


def test_a_node_limit_is_kept_and_repeatable():
    board = Board("mcgill")
    answers = []
    for _ in range(2):
        searcher = Searcher(board.variant, hash_mib=2)
        for nodes in (1, 17, 20000):
            found = searcher.search(board, SearchLimits(nodes=nodes))
            assert found.nodes <= nodes
            assert found.move in board.legal_moves
            answers.append((found.move, found.score, found.depth, found.nodes, found.pv))
    assert answers[:3] == answers[3:]


def test_stop_ends_a_search(ashton):
    """Which would go on for ever."""
    with stopping(ashton):
        found = ashton.search(Board("ashton"), SearchLimits(depth=60))
    assert found.move in Board("ashton").legal_moves


def test_what_is_refused(ashton):
    with pytest.raises(InputError, match="limits: none given"):
        ashton.search(Board("ashton"), SearchLimits())
    for limits in (
        SearchLimits(movetime=0),
        SearchLimits(movetime=float("nan")),
        SearchLimits(nodes=0),
        SearchLimits(depth=0),
        SearchLimits(depth=128),
    ):
        with pytest.raises(InputError, match="expected"):
            ashton.search(Board("ashton"), limits)
    with pytest.raises(InputError, match="is of bologna, not of ashton"):
        ashton.search(Board("bologna"), SearchLimits(nodes=1))
    over = Board("ashton-5-4v0")
    for text in ("c3-b3", "c5-d5", "b3-b5"):
        over.push_text(text)
    with pytest.raises(InputError, match="the game is over"):
        Searcher(over.variant, hash_mib=1).search(over, SearchLimits(nodes=1))
    with pytest.raises(InputError, match="hash 0 MiB"):
        empty_table(0)


def test_recursive_kernels_have_one_version(ashton):
    """A second one is called through a symbol that the cache on disk loses: looked for in the code, cached or not."""
    ashton.search(Board("ashton"), SearchLimits(nodes=1))
    assert len(tree.search_root.overloads) == 1
    (compiled,) = tree.search_root.overloads.values()
    module = compiled.library._get_module_for_linking()
    names = [function.name for function in module.functions]
    for function in ("_negamax", "_quiesce"):
        # With the length of its name in front, as names are mangled.
        assert len([name for name in names if f"{len(function)}{function}B" in name]) == 1, names
    assert not [variable.name for variable in module.global_variables if "unresolved" in variable.name]


# -- tablebases ------------------------------------------------------------------------


class Table:
    """A tablebase of the positions that a test names; of the others, it says what it is told."""

    def __init__(self, variant, known, rest):
        self.variant, self.known, self.rest = variant, known, rest

    def covers(self, attackers, defenders):
        return True

    def probe(self, position):
        verdict = self.known.get(str(position), self.rest)
        if verdict is None:
            raise MissingTableError(str(position))
        return verdict

    def probe_words(self, words):
        raise NotImplementedError


def after(board, text):
    copy = board.copy()
    copy.push_text(text)
    return str(copy.position)


def test_a_tablebase_decides_at_the_root():
    board = Board("brandubh-5-4v0", "2b2/5/b1K1b/5/2b2 w")
    good, better = after(board, "c3-c4"), after(board, "c3-d3")
    table = Table(board.variant, {good: verdict_of(-9), better: verdict_of(-7)}, Verdict("draw", None))
    found = Searcher(board.variant, hash_mib=1, prober=table).search(board, SearchLimits(nodes=10))
    assert (str(found.move), found.score, found.mate, found.source) == ("c3-d3", MATE - 7, 7, "tablebase")
    lost = Table(board.variant, {good: verdict_of(8)}, verdict_of(4))
    found = Searcher(board.variant, hash_mib=1, prober=lost).search(board, SearchLimits(nodes=10))
    assert (str(found.move), found.mate) == ("c3-c4", -9)
    # Nothing forced: search chooses among what draws.
    drawn = Table(board.variant, {good: Verdict("draw", None)}, verdict_of(4))
    found = Searcher(board.variant, hash_mib=1, prober=drawn).search(board, SearchLimits(nodes=500))
    assert (str(found.move), found.source) == ("c3-c4", "search")
    # A table is missing: search alone.
    nothing = Searcher(board.variant, hash_mib=1, prober=Table(board.variant, {}, None))
    assert nothing.search(board, SearchLimits(nodes=500)).source == "search"
    with pytest.raises(InputError, match="tablebase: is of brandubh-5-4v0, another game than ashton"):
        Searcher(load_variant("ashton"), hash_mib=1, prober=table)


def test_a_tablebase_win_that_a_reply_can_spoil_is_not_played():
    variant = load_variant("brandubh-5-4v0")
    board = Board(variant, "2b2/5/b1K1b/5/2b2 w")
    for text in ("c3-c4", "a3-a4", "c4-c3", "a4-a3"):
        assert board.outcome() is None
        board.push_text(text)
    # The last ply recreated the first position: the game is drawn.
    assert board.outcome().termination == "repetition"
    board.pop()
    board.push_text("e3-e4")
    # Now c3-c4 allows e4-e3, and with it the position after the first move.
    spoiled = Table(variant, {after(board, "c3-c4"): verdict_of(-3)}, verdict_of(-9))
    found = Searcher(variant, hash_mib=1, prober=spoiled).search(board, SearchLimits(nodes=10))
    assert str(found.move) != "c3-c4" or found.score == TABLEBASE - 3
    assert found.mate is None  # the game before may still spoil it
