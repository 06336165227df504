"""Search in several threads: what they share cannot mislead, limits hold for all of them, one alone is as before."""

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
from tablut.errors import InputError
from tablut.play.players import PlayerOptions, make_player, player_names
from tablut.play.search import SearchLimits, transposition
from tablut.play.search import state as at
from tablut.play.search.searcher import Searcher
from tablut.play.search.transposition import Entry, empty_table
from tablut.prober import find_prober
from tablut.running.machine import MOST_THREADS
from tablut.variants import load_variant, variant_names
from tests.support.waiting import PATIENCE, eventually, stopping

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


def test_threads_share_the_table_and_nothing_else_that_they_write():
    """Above all not the working memory of tablebases."""
    ashton = load_variant("ashton")
    searcher = Searcher(ashton, hash_mib=1, prober=find_prober(ashton, None), threads=3)
    workers = [searcher._first, *searcher._crew._workers]
    assert len(workers) == 3
    read_only = ("table", "evaluation", "reductions")
    written = [
        [getattr(worker.state, name) for name in worker.state._fields if name not in read_only]
        + [worker._tables.kept[0].black, worker._tables.kept[0].white, worker._tables.kept[0].scratch]
        for worker in workers
    ]
    for one, mine in enumerate(written):
        assert workers[one].state.table is workers[0].state.table
        for theirs in written[:one]:
            assert not any(np.shares_memory(first, second) for first in mine for second in theirs)


# -- searching --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in variant_names() if name.count("-") == 0])
def test_answers_of_threads_are_legal_and_keep_the_nodes(name):
    board = Board(name)
    searcher = Searcher(board.variant, hash_mib=1, threads=3)
    helpers = [worker.state.counters for worker in searcher._crew._workers]
    for nodes in (1, 2, 3, 17, 5000, 5000):
        if nodes == 5000:
            # The first thread goes on when the machine has let all have a turn.
            searcher.observer = lambda thought: eventually(lambda: all(counters[at.NODES] for counters in helpers))
        found = searcher.search(board, SearchLimits(nodes=nodes))
        assert found.nodes <= nodes
        walk = board.copy()
        for move in found.pv:
            walk.push(move)  # raises if it is not legal
        assert found.pv[0] == found.move
        board.push(found.move)
    searcher._crew.wait()
    assert all(0 < counters[at.NODES] <= 5000 // 3 for counters in helpers), "no more than their share"


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
            found = searcher.search(board, SearchLimits(nodes=40_000))
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


@pytest.mark.parametrize("name", player_names())
def test_who_cannot_use_threads_says_so(name):
    brandubh = load_variant("brandubh")
    if name == "alphabeta":
        for threads in (0, -1, MOST_THREADS + 1):
            with pytest.raises(InputError, match=f"threads {threads}: expected 1 to {MOST_THREADS}"):
                make_player(name, brandubh, PlayerOptions(hash_mib=1, threads=threads))
        return
    with pytest.raises(InputError, match=f"threads 2: player {name} thinks in one; leave it out"):
        make_player(name, brandubh, PlayerOptions(hash_mib=1, threads=2))
