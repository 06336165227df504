"""Limits of a search, of one thread and of several: time kept under load, nodes repeatable, nothing shared misleads."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tablut.board import Board
from tablut.engine.jit import I64, keep, pointer
from tablut.errors import InputError, UnknownError, UseError
from tablut.indexing.values import Verdict, verdict_of
from tablut.play.search import searcher as searching
from tablut.play.search import state, transposition, tree
from tablut.play.search.limits import MATE, TABLEBASE, SearchLimits
from tablut.play.search.node import FIRST_LOOK
from tablut.play.search.searcher import Searcher
from tablut.play.search.transposition import Entry, empty_table
from tablut.prober import MissingTableError, find_prober
from tablut.variants import load_variant
from tests.support.games import OLDER_NAMES
from tests.support.waiting import PATIENCE, eventually, stopping


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
            thought = searcher._think(searcher.root(board), SearchLimits(movetime=0.1), None)
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


def test_a_stop_before_a_search_ends_that_one_alone(ashton):
    board, many = Board("ashton"), SearchLimits(nodes=20_000)
    root = ashton.root(board)
    for search in (lambda: ashton.search(board, many), lambda: ashton.think(root, many)):
        ashton.forget()
        ashton.stop()
        found = search()
        # The first iteration is done, so that the move was thought about.
        assert (found.depth, found.nodes < 1000, found.move in board.legal_moves) == (1, True, True)
        assert search().nodes > 10_000


def test_a_stop_during_a_search_does_not_end_the_next(ashton):
    board, many = Board("ashton"), SearchLimits(nodes=20_000)
    ashton.forget()
    ashton.observer = lambda choice: ashton.stop()
    assert ashton.search(board, many).depth == 1
    ashton.observer = None
    assert ashton.search(board, many).nodes > 10_000


def test_a_value_that_was_stopped_is_not_told(ashton):
    ashton.stop()
    with pytest.raises(UnknownError):
        ashton.value(Board("ashton"), 2)
    assert ashton.value(Board("ashton"), 2) == ashton.value(Board("ashton"), 2)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("clock", [True, False])
def test_after_an_interruption_nothing_is_left_of_the_deadline(ashton, monkeypatch, error, clock):
    board = Board("ashton")
    ashton.forget()
    value = ashton.value(board, 3)
    if not clock:
        monkeypatch.setattr(searching, "clock_address", lambda: 0)

    def interrupt(_):
        raise error

    ashton.observer = interrupt
    timers = threading.active_count()
    with pytest.raises(error):
        ashton.search(board, SearchLimits(movetime=1000))
    ashton.observer = None
    assert (ashton._ends, ashton._stop_asked, threading.active_count()) == (None, False, timers)
    ashton.forget()
    assert ashton.value(board, 3) == value
    # A kernel that has a deadline in the past ends at its first look.
    with pytest.raises(error), ashton._deadline(time.perf_counter() - 60, 0.1):
        raise error
    assert ashton.value(board, 3) == value


def test_a_second_caller_is_refused_and_the_first_not_disturbed(ashton):
    board, other, limits = Board("ashton"), Board("ashton"), SearchLimits(nodes=5000)
    other.push("e4-f4")
    ashton.forget()
    undisturbed = ashton.search(board, limits)
    refused = []

    def call():
        for again in (lambda: ashton.search(other, limits), lambda: ashton.value(other, 1), ashton.forget):
            try:
                again()
            except UseError as error:
                refused.append(error)

    def disturb(_):
        call()
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    ashton.forget()
    ashton.observer = disturb
    found = ashton.search(board, limits)
    ashton.observer = None
    assert len(refused) == 6 * found.depth > 6
    assert found._replace(seconds=0) == undisturbed._replace(seconds=0)
    # An observer that lets the refusal through ends its search, and the searcher is free again.
    ashton.observer = lambda _: ashton.search(other, limits)
    with pytest.raises(UseError):
        ashton.search(board, limits)
    ashton.observer = None
    assert ashton.search(other, limits).move in other.legal_moves


def test_recursive_kernels_have_one_version(ashton):
    """A second one is called through a symbol that the cache on disk loses: looked for in the code, cached or not."""
    ashton.search(Board("ashton"), SearchLimits(nodes=1))
    # Rules of the tafl family have a version of their own.
    for compiled in tree.search_root.overloads.values():
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
    with pytest.raises(InputError, match=r"brandubh-5-4v0.*ashton"):
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


# -- search in several threads: what they share cannot mislead, limits hold for all of them, one alone is as before


# -- the table --------------------------------------------------------------------------


@numba.njit
def put(table, key, move, score, depth):
    entry = Entry(I64(move), I64(score), I64(depth), I64(transposition.EXACT), I64(7), I64(-5))
    transposition.store(pointer(table), I64(len(table) - 8), key, entry)
    keep(table)


@numba.njit
def get(table, key):
    data = transposition.look_up(pointer(table), I64(len(table) - 8), key)
    keep(table)
    return data, transposition.move_of(data), transposition.score_of(data), transposition.depth_of(data)


keys = st.integers(0, 2**64 - 1).map(np.uint64)
contents = st.tuples(st.integers(1, 2**14 - 1), st.integers(-30000, 30000), st.integers(0, 255))


@given(keys, contents)
@example(np.uint64(0), (1, 0, 0))
def test_what_is_stored_is_found(key, content):
    table = empty_table(1)
    put(table, key, *content)
    assert get(table, key)[1:] == content
    put(table, key, *content[:2], 9)
    assert int(np.count_nonzero(table)) <= 2, "the same position has one entry"


@given(keys, st.lists(st.tuples(keys, contents), min_size=1, max_size=3))
@example(np.uint64(5), [(np.uint64(5 + (1 << 60)), (77, 12, 3))])
def test_half_of_one_entry_and_half_of_another_are_never_believed(key, others):
    """Whatever two writers leave behind, one word of each: it belongs to neither of their positions."""
    low = np.uint64(key & np.uint64(0xFFFF))
    for other, content in others:
        mine, theirs = empty_table(1), empty_table(1)
        other = np.uint64((int(other) & ~0xFFFF) | int(low))  # of the same bucket
        put(mine, key, 1234, -321, 8)
        put(theirs, other, *content)
        (at_mine,), (at_theirs,) = np.nonzero(mine[::2]), np.nonzero(theirs[::2])
        if key == other or mine[2 * at_mine[0] + 1] == theirs[2 * at_theirs[0] + 1]:
            continue  # the same position, or the same news of both
        place = 2 * at_mine[0]
        for torn in ((mine[place], theirs[2 * at_theirs[0] + 1]), (theirs[2 * at_theirs[0]], mine[place + 1])):
            table = empty_table(1)
            table[place : place + 2] = torn
            assert get(table, key)[0] == 0
            assert get(table, other)[0] == 0


def test_threads_share_three_tables_and_nothing_else_that_they_write():
    """Above all not the working memory of tablebases."""
    ashton = load_variant("ashton")
    searcher = Searcher(ashton, hash_mib=1, prober=find_prober(ashton, None), threads=3)
    workers = [searcher._first, *searcher._crew._workers]
    assert len(workers) == 3
    shared = ("table", "marks", "history")
    read_only = ("evaluation", "reductions")
    written = [
        [getattr(worker.state, name) for name in worker.state._fields if name not in shared + read_only]
        + [worker._tables.kept[0].black, worker._tables.kept[0].white, worker._tables.kept[0].scratch]
        for worker in workers
    ]
    for one, mine in enumerate(written):
        assert all(getattr(workers[one].state, name) is getattr(workers[0].state, name) for name in shared)
        for theirs in written[:one]:
            assert not any(np.shares_memory(first, second) for first in mine for second in theirs)


@pytest.mark.parametrize("name", ["ashton", "brandubh"])
def test_moves_that_another_thread_searches_are_postponed_and_none_is_lost(name):
    board, exact = Board(name), state.TRANSPOSITIONS | state.QUIESCENCE
    one, two = (Searcher(board.variant, hash_mib=1, flags=exact, threads=threads) for threads in (1, 2))
    counters, marks = two._state.counters, two._state.marks
    value, unmarked = one.value(board, 3), two.value(board, 3)
    nodes = int(counters.nodes)
    root = two.root(board)
    keys = [two._engine.key(root.array) ^ (move * 0x9E3779B97F4A7C15) % 2**64 for move in root.moves]
    two.forget()
    for key in keys:
        marks[key % len(marks)] = key
    postponed = two.value(board, 3)
    assert value == unmarked == postponed
    assert nodes != counters.nodes, "the moves were searched in another order"
    assert not marks.any(), "a move that has been searched has no mark"


# -- searching --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in OLDER_NAMES if name.count("-") == 0])
def test_answers_of_threads_are_legal_and_keep_the_nodes(name):
    board = Board(name)
    searcher = Searcher(board.variant, hash_mib=1, threads=3)
    helpers = [worker.state.counters for worker in searcher._crew._workers]
    for nodes in (1, 2, 3, 17, 5000, 5000):
        if nodes == 5000:
            # The first thread goes on when the machine has let all have a turn.
            searcher.observer = lambda thought: eventually(lambda: all(counters.nodes for counters in helpers))
        found = searcher.search(board, SearchLimits(nodes=nodes))
        assert found.nodes <= nodes
        walk = board.copy()
        for move in found.pv:
            walk.push(move)  # raises if it is not legal
        assert found.pv[0] == found.move
        board.push(found.move)
    searcher._crew.wait()
    assert all(0 < counters.nodes <= 5000 // 3 for counters in helpers), "no more than their share"


def helpers():
    """Helpers that do not end by themselves; one that an earlier search left behind may still be at it."""
    found = [thread for thread in threading.enumerate() if thread.name.startswith("search helper")]
    for thread in found:
        thread.join(timeout=PATIENCE)
    return [thread for thread in found if thread.is_alive()]


def test_many_threads_on_a_tiny_table():
    """Sixteen writers of one MiB, search after search, also stopped in the middle: every answer is a legal line."""
    board = Board("ashton")
    searcher = Searcher(board.variant, hash_mib=1, threads=16)
    for number in range(12):
        if number % 3 == 2:
            with stopping(searcher):
                found = searcher.search(board, SearchLimits(depth=60))
        else:
            found = searcher.search(board, SearchLimits(nodes=20_000))
        walk = board.copy()
        for move in found.pv:
            walk.push(move)
        board.push(found.move)
        # How far a search gets is the machine's doing: one that proves an end is followed by a new game.
        if found.mate is not None or board.outcome() is not None:
            board = Board("ashton")
    searcher.forget()
    assert not helpers()
    assert not searcher._state.table.any()


@pytest.mark.slow
def test_time_is_kept_by_threads_on_a_busy_machine():
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    searcher = Searcher("ashton", hash_mib=8, threads=4)
    board = Board("ashton")
    try:
        for movetime in (1.0, 0.6, 0.8):
            started = time.perf_counter()
            found = searcher.search(board, SearchLimits(movetime=movetime))
            assert time.perf_counter() - started <= movetime
            assert found.nodes > 0
            board.push(found.move)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def test_a_search_ends_with_its_first_thread():
    """However it ends; what is left of the helpers ends by itself, and the next search waits for it."""
    board = Board("ashton")
    searcher = Searcher(board.variant, hash_mib=1, threads=3)

    def fail(_thought):
        raise LookupError("the observer")

    searcher.observer = fail
    with pytest.raises(LookupError):
        searcher.search(board, SearchLimits(depth=20))
    searcher.observer = None
    searcher._crew.wait()
    assert not helpers()
    assert searcher.search(board, SearchLimits(nodes=100)).move in board.legal_moves


# -- where threads are asked for ----------------------------------------------------------
