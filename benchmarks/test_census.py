"""Speed of each step of a census: ``pytest benchmarks/test_census.py --benchmark-enable --benchmark-only -s``.

Times are CPU seconds of one thread, for ply 5 of ashton: the 682,438 classes at ply 4 have 38,174,330 children in 12.9
million classes. Memory is touched before the clock starts, because a census also reuses its arrays from task to task.
The benchmark needs 4 GiB of memory. `docs/notes/census.md` quotes the figures.
"""

import time

import numpy as np
import pytest

from counting.census import buckets, census
from counting.census.buckets import LEAF_BITS
from counting.census.codes import decode_rows, encode_rows, position_codes
from counting.census.expansion import EXPANSION_COUNTERS, expand_canonical
from counting.census.rows import open_rows, read_rows
from counting.census.toolbox import COUNTERS, survey, toolbox
from tablut.variants import load_variant

pytestmark = pytest.mark.benchmark(timer=time.process_time)

LEAVES = 1 << LEAF_BITS


@pytest.fixture(scope="module")
def tools():
    return toolbox(load_variant("ashton"), False)


@pytest.fixture(scope="module")
def children(tools, tmp_path_factory):
    """The children of the positions at ply 4, and a function that generates these children again."""
    store = tmp_path_factory.mktemp("census")
    census(load_variant("ashton"), plies=4, store=store)
    files = [open_rows(part) for part in sorted((store / "classes/ply-004").glob("*.rows"))]
    parents = np.concatenate([read_rows(file, 0, LEAVES) for file in files])
    room = sum(int(file.moves.sum()) for file in files) + 4 * tools.tables.cells
    rows = np.zeros((room, tools.tables.words), dtype=np.uint64)
    counters = np.zeros(EXPANSION_COUNTERS, dtype=np.int64)

    def expand():
        return expand_canonical(tools.expander, parents, rows, counters)[1]

    return rows[: expand()], expand


@pytest.fixture(scope="module")
def ordered(children):
    """The children sorted by leaf, the number of children in each leaf, and a function that sorts the children."""
    rows, _ = children
    leaves, result = np.zeros(len(rows), dtype=np.uint16), np.zeros_like(rows)

    def order():
        _, counts, _ = buckets.by_leaf(rows, leaves)
        buckets.scatter(rows, leaves, np.cumsum(counts) - counts, result)
        return counts

    return result, order(), order


def sift(rows, counts, slots, dead):
    """Move the distinct rows to the front. Return how many there are in all, and how many in each leaf."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    bits = buckets.table_bits(counts)
    sizes = np.left_shift(1, bits)
    unique, sums, kept = np.empty_like(counts), np.empty(LEAVES, dtype=np.uint64), np.empty_like(counts)
    slots.fill(0)
    dead.fill(0)
    leaves = buckets.LeafTables(rows, starts, bits, np.cumsum(sizes) - sizes, slots)
    buckets.mark_unique(leaves, unique, sums)
    return buckets.compact(rows, starts, unique, dead, kept, sums), kept


@pytest.fixture(scope="module")
def sifting(ordered):
    """A function that returns the arguments of `sift` with fresh rows."""
    rows, counts, _ = ordered
    work = np.zeros_like(rows)
    slots = np.zeros(int(np.left_shift(1, buckets.table_bits(counts)).sum()), dtype=np.uint32)
    dead = np.zeros(len(rows), dtype=np.uint8)

    def fresh():
        np.copyto(work, rows)
        return work, counts, slots, dead

    return fresh


def report(benchmark, name, amount):
    if benchmark.enabled:
        seconds = benchmark.stats.stats.min
        benchmark.extra_info[name] = seconds / amount * 1e9
        print(f"\n{name}: {seconds / amount * 1e9:.1f} ns each")  # noqa: T201


def test_expansion(benchmark, children):
    rows, expand = children
    assert benchmark.pedantic(expand, rounds=3) == len(rows) == 38_174_330
    report(benchmark, "a child in canonical form", len(rows))


def test_order_of_leaves(benchmark, ordered):
    rows, _, order = ordered
    benchmark.pedantic(order, rounds=3)
    report(benchmark, "a child put in the order of leaves", len(rows))


def test_duplicates(benchmark, sifting):
    rows = sifting()[0]
    kept, _ = benchmark.pedantic(sift, setup=lambda: (sifting(), {}), rounds=3)
    assert kept < len(rows)
    report(benchmark, "a child told from its duplicates", len(rows))


@pytest.fixture(scope="module")
def classes(sifting):
    """The distinct children, in the order of `sift`, and their number in each leaf."""
    arguments = sifting()
    kept, counts = sift(*arguments)
    return arguments[0][:kept].copy(), counts


def test_survey(benchmark, tools, classes):
    rows, counts = classes
    work, moves = np.zeros_like(rows), np.zeros_like(counts)

    def fresh():
        np.copyto(work, rows)
        counters, material = np.zeros(len(COUNTERS), dtype=np.int64), np.zeros(tools.material, dtype=np.int64)
        return (tools.tables, tools.space, tools.order, work, counts, moves, counters, material), {}

    benchmark.pedantic(survey, setup=fresh, rounds=3)
    report(benchmark, "orbit, moves and material of a class", len(rows))


@pytest.fixture(scope="module")
def coded(classes):
    """The tables for encoding, the classes without the bits that only children have, and an array for the codes."""
    rows = classes[0].copy()
    rows[:, -1] &= np.uint64((1 << 64) - 1 - (3 << buckets.FIXING))
    tables = position_codes(81, 16, 8)[1]
    return tables, rows, np.zeros((len(rows), tables.code_bytes), dtype=np.uint8)


def test_encoding(benchmark, coded):
    benchmark.pedantic(encode_rows, coded, rounds=3, warmup_rounds=1)
    report(benchmark, "a class as a code", len(coded[1]))


def test_decoding(benchmark, coded):
    tables, rows, codes = coded
    encode_rows(tables, rows, codes)
    again, black = np.zeros_like(rows), 1
    benchmark.pedantic(decode_rows, (tables, codes, black, again), rounds=3, warmup_rounds=1)
    assert np.array_equal(rows, again)
    report(benchmark, "a code as a class", len(rows))
