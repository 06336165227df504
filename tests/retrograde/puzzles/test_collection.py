"""The puzzles that ship: how many and which, and that they hold."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from reports.puzzles import efforts, results
from reports.studies.collection.making import format_puzzles, grade, is_symmetrical, tempting_moves
from reports.studies.collection.shapes import theme_of
from retrograde.proofs.certificate import build_certificate
from retrograde.proofs.solver import Solver
from retrograde.proofs.strategy_checker import StrategyCheck
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from retrograde.puzzles.puzzle_file import (
    COLLECTION,
    collection_names,
    judge,
    parse_puzzles,
    read_puzzle_text,
    read_puzzles,
)
from tablut.board import Board
from tablut.engine import engine_for
from tablut.play.search import Searcher, SearchLimits
from tablut.position import Move
from tablut.prober import find_prober
from tablut.variants import load_variant
from tests.support.effort import slow_but

PUZZLES = read_puzzles(COLLECTION)
STORED = {puzzle["id"]: puzzle for puzzle in results()["puzzles"]}
NODES = {id_: puzzle["solution"]["nodes"] for id_, puzzle in STORED.items()}


def every_puzzle(quick, step=8):
    """Try a test on every puzzle; all are slow but some of those of few nodes."""
    few = [puzzle for puzzle in PUZZLES if quick(NODES[puzzle.id])]
    return pytest.mark.parametrize("puzzle", slow_but(few[::step], PUZZLES), ids=lambda puzzle: puzzle.id)


def test_there_are_enough_of_every_kind() -> None:
    assert len(PUZZLES) >= 60
    themed = [puzzle for puzzle in PUZZLES if "theme" in puzzle.tags]
    by_winner = Counter((puzzle.variant, puzzle.stipulation.winner) for puzzle in PUZZLES if puzzle not in themed)
    courses = {"bologna", "leiden", "berkeley"}
    assert {variant for variant, _ in by_winner} == {"ashton", "mcgill", "brandubh"} | courses
    assert min(sum(puzzle.variant == name for puzzle in PUZZLES) for name in courses) >= 20
    assert min(by_winner.values()) >= 5
    assert len(themed) >= 40
    themes = Counter(puzzle.tags["theme"] for puzzle in themed if puzzle.variant == "copenhagen")
    assert min(themes[theme] for theme in ("shieldwall", "exit fort", "encirclement")) >= 5
    depths = {puzzle.stipulation.plies for puzzle in PUZZLES}
    assert {3, 5, 7, 9, 11, 13, 15, 17} <= depths
    deep = {(puzzle.variant, puzzle.stipulation.winner) for puzzle in PUZZLES if puzzle.stipulation.plies > 8}
    assert {("ashton", "white"), ("ashton", "black"), ("mcgill", "white"), ("mcgill", "black")} <= deep


def test_the_engine_needs_the_recorded_nodes_for_a_puzzle() -> None:
    nodes = efforts()
    assert [*nodes] == [puzzle.id for puzzle in PUZZLES if puzzle.first]
    assert len({*nodes.values()}) > 100
    for puzzle in PUZZLES[::40]:
        searcher, board = Searcher(puzzle.variant, hash_mib=16), Board(puzzle.variant, puzzle.position)
        found = searcher.search(board, SearchLimits(nodes=min(nodes[puzzle.id], 200_000)))
        assert (found.move in (puzzle.first or ())) == (nodes[puzzle.id] <= 200_000)


def test_the_files_are_as_they_would_be_written() -> None:
    for name in collection_names():
        text = read_puzzle_text(name)
        header = [line for line in text.splitlines() if line.startswith("#")]
        puzzles = parse_puzzles(name, text)
        assert text == format_puzzles(puzzles, "\n".join(line.removeprefix("# ").removeprefix("#") for line in header))


@every_puzzle(lambda _: True)
def test_a_puzzle_is_possible_and_asymmetrical(puzzle) -> None:
    variant = load_variant(puzzle.variant)
    board = Board(variant, puzzle.position)
    assert not board.status()
    assert board.outcome() is None
    assert not is_symmetrical(variant, puzzle.position)
    if "pattern" not in puzzle.tags:
        assert puzzle.first is not None
        assert len(puzzle.first) == 1
    if puzzle.first is not None:
        assert set(puzzle.first) <= set(board.legal_moves)
        temptations = len(tempting_moves(variant, puzzle.position, puzzle.first))
        assert puzzle.tags["tempting"] == str(temptations)
        assert puzzle.tags["grade"] == str(grade(puzzle.stipulation.plies, temptations))


def test_no_puzzle_occurs_twice() -> None:
    boards = [Board(puzzle.variant, puzzle.position).canonical() for puzzle in PUZZLES]
    assert len(set(boards)) == len(boards)


def test_the_stored_solutions_are_of_these_puzzles() -> None:
    assert list(STORED) == [puzzle.id for puzzle in PUZZLES]
    for puzzle in PUZZLES:
        stored = STORED[puzzle.id]
        assert stored["verdict"] == "holds"
        solution = stored["solution"]
        assert solution["position"] == str(puzzle.position)
        assert (solution["winner"], solution["dtm"]) == puzzle.stipulation
        board = Board(puzzle.variant, puzzle.position)
        for move in solution["line"]:
            assert board.outcome() is None
            board.push_text(move)
        assert board.outcome().winner == puzzle.stipulation.winner
        line = [Move.parse(move, board.size) for move in solution["line"]]
        assert puzzle.tags.get("theme", "") == theme_of(board.variant, puzzle.position, line)
        assert board.ply == solution["dtm"]


@cache
def shipped_tables(variant):
    """Return a prober of the tables that ship; what it has worked out for one puzzle serves the next."""
    return find_prober(variant)


def check(puzzle) -> None:
    """Prove it as the command does, with the tables that ship."""
    variant = load_variant(puzzle.variant)
    solution = Solver(variant, ProofLimits(), shipped_tables(variant)).solve(puzzle.position)
    assert judge(puzzle, solution) == "holds"
    assert solution.nodes == NODES[puzzle.id]  # deterministic, whatever the machine


@every_puzzle(lambda nodes: nodes < 20_000)
def test_a_puzzle_holds(puzzle) -> None:
    check(puzzle)


def check_independently(puzzle) -> None:
    """Build the winner's strategy and let the checker, which knows the rules only, play against it."""
    variant = load_variant(puzzle.variant)
    engine = engine_for(variant)
    winner, plies = puzzle.stipulation
    search = WinSearch(engine, int(winner == "black"), 64 << 20, ProofBudget(ProofLimits()))
    board = engine.board(puzzle.position.cells, puzzle.position.side)
    proof = build_certificate(engine, search, board, plies, 1_000_000)
    checked = StrategyCheck(variant, proof, most_plies=3_000).run()
    assert checked.failures == []
    assert checked.shorter is None


@every_puzzle(lambda nodes: 0 < nodes < 500)
def test_a_proof_is_accepted(puzzle) -> None:
    check_independently(puzzle)


# -- the search in several threads against what is proved of the shipped puzzles ---------


@pytest.mark.parametrize(("threads", "every"), slow_but([(2, 8)], [(2, 1), (7, 1)]))
def test_threads_find_the_forced_wins_of_shipped_puzzles(threads, every):
    """What they call proved is: never shorter than the true distance, and the win is found."""
    found, searchers = 0, {}
    for puzzle in read_puzzles("collection")[::every]:
        if puzzle.stipulation is None or puzzle.stipulation.plies is None or puzzle.stipulation.plies > 7:
            continue
        variant = load_variant(puzzle.variant)
        if every > 1 and variant.rules.act_afar:
            continue  # search is compiled anew for these
        searcher = searchers.setdefault(variant.name, Searcher(variant, hash_mib=2, threads=threads))
        result = searcher.search(Board(variant, puzzle.position), SearchLimits(nodes=40_000 * threads))
        if result.mate is not None:
            winner = "white" if (result.mate > 0) == (puzzle.position.side == "w") else "black"
            assert winner == puzzle.stipulation.winner, puzzle.id
            assert abs(result.mate) >= puzzle.stipulation.plies, puzzle.id
            found += 1
    assert found >= 40 // every
