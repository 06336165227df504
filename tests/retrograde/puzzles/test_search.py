"""The proof search against the plain-Python twin, and against complete solutions of small boards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from retrograde.proofs import table as proof_table
from retrograde.proofs.solver import Solver, solve
from retrograde.proofs.win_search import (
    ProofBudget,
    ProofLimits,
    ReachableValues,
    WinSearch,
    reachable_values,
)
from retrograde.puzzles.puzzle_file import Puzzle, judge
from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.jit import I64, keep, pointer
from tablut.engine.layout import SIDE_AT, head
from tablut.errors import UseError
from tablut.indexing.values import MISSING, Verdict, value_of
from tablut.position import Position
from tablut.prober import MissingTableError, Prober
from tablut.rules.naive import NaiveGame
from tablut.rules.outcome import OUTCOMES
from tablut.variants import Variant, load_variant
from tests.support.effort import MORE, examples, slow_but
from tests.support.games import recurrence
from tests.support.strategies import placement, random_play, small_variants
from tests.twins.proof import wins_within
from tests.twins.solver import plain_solution

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.variants import Variant

SMALL = ["ashton-5-4v0", "brandubh-5-4v0"]
WINNERS = ("white", "black")


@cache
def complete(name):
    """All reachable positions of a small board with their values."""
    engine = engine_for(load_variant(name))
    values = reachable_values(engine.variant, engine.words(engine.start()), 250_000)
    assert values is not None
    return engine, values


@pytest.fixture(params=slow_but(["brandubh-5-4v0"], SMALL))
def solved(request):
    return complete(request.param)


def playable(variant, game, position):
    """Whether nothing in a placement has decided the game; a random one may be anything."""
    letters = list(position.pieces.values())
    if letters.count("K") != 1 or "b" not in letters or game.terrain[position.king()] in "*X":
        return False
    if variant.rules.no_moves == "either_after_ply":
        return bool(game.legal_moves(position, "w") and game.legal_moves(position, "b"))
    return bool(game.legal_moves(position))


def compare_with_twin(variant, position, plies):
    engine, text = engine_for(variant), NaiveGame(variant).write(position)
    parsed = Position.parse(text, variant.size)
    board = engine.board(parsed.cells, parsed.side)
    before = board.copy()
    for side, winner in enumerate(WINNERS):
        search, loose = (WinSearch(engine, side, 1 << 16, ProofBudget(ProofLimits())) for _ in range(2))
        for bound in range(1, plies + 1):
            expected = wins_within(variant, text, winner, bound)
            assert loose.wins(board, plies=bound) in (expected, None), (variant.rules, text, winner, bound)
            assert search.within(board, bound) == expected, (variant.rules, text, winner, bound)
            if expected:
                # What is said of the distance is at most the bound, and true.
                assert wins_within(variant, text, winner, search.distance)
        assert (board == before).all()


def test_within_three_plies_under_any_rules() -> None:
    """Few soldiers on a small board with any terrain: sides get stuck, last attackers fall, kings are walled in."""
    compared = []

    @given(small_variants(most_attackers=4, most_defenders=2, later=True), st.randoms(use_true_random=False))
    @settings(max_examples=examples(20, 3 * MORE), deadline=None)
    def check(variant, random: Random) -> None:
        game = NaiveGame(variant)
        position = placement(variant, random, soldiers=random.randrange(1, 7))
        assume(playable(variant, game, position))
        compare_with_twin(variant, position, 3)
        compared.append(game.write(position))

    check()
    assert len(set(compared)) > 10


@pytest.mark.parametrize("name", ["ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh"])
@pytest.mark.parametrize(("number", "plies"), [(3, 2), pytest.param(20, 3, marks=pytest.mark.slow)])
def test_full_boards(name: str, number: int, plies: int) -> None:
    """Cells beyond the first word, all six rule sets."""
    variant, random = load_variant(name), Random(name)
    game = NaiveGame(variant)
    positions = [random_play(variant, random, 30)[-1], *(placement(variant, random) for _ in range(number))]
    positions += [placement(variant, random, soldiers=6) for _ in range(number)]
    compared = [position for position in positions if playable(variant, game, position)]
    assert len(compared) > number // 2
    for position in compared[:number]:
        compare_with_twin(variant, position, plies)


def test_the_solver_and_the_listing_agree_under_any_rules() -> None:
    decided = []

    @given(small_variants(most_attackers=2, most_defenders=1, later=True), st.randoms(use_true_random=False))
    @settings(max_examples=examples(6, 2 * MORE), deadline=None)
    def check(variant, random: Random) -> None:
        position = placement(variant, random, soldiers=random.randrange(1, 4))
        game = NaiveGame(variant)
        assume(playable(variant, game, position))
        engine = engine_for(variant)
        parsed = Position.parse(game.write(position), variant.size)
        values = reachable_values(variant, engine.words(engine.board(parsed.cells, parsed.side)), 20_000)
        assume(values is not None)
        assert values is not None
        solver = Solver(variant, ProofLimits(nodes=30_000, memory_bytes=1 << 18, positions=0))
        boards = engine.boards(values.words)
        for row in random.sample(range(len(boards)), min(8, len(boards))):
            cells, side = engine.cells(boards[row])
            if not engine.count_moves(boards[row], int(side == "b")):
                assert values.values[row] == -1
                continue
            assert_agrees(engine, values, solver, row, Position(cells, side))
            decided.append(int(values.values[row]))

    check()
    # Wins and losses of both kinds have been compared, not only what nobody can force.
    assert sum(value > 0 for value in decided) > 5
    assert sum(value < 0 for value in decided) > 5


def assert_agrees(engine, values: ReachableValues, solver: Solver, row: int, position: Position) -> None:
    solution = solver.solve(position)
    value = int(values.values[row])
    if value == 0:
        assert solution.wdl is None
        return
    # Where the limits ran out nothing wrong may be said; on these boards they do not for what is decided soon.
    assert (len(solution.line) == (solution.dtm or 0)) or "the line" in solution.reason
    if solution.status == "unknown":
        assert abs(value) > 7, (position, value)
        return
    assert value_of(Verdict(solution.wdl, solution.dtm)) == value, position
    moves = rated(values, position)
    assert list(solution.winning_moves) == [m.move for m in moves if (m.wdl, m.dtm) == (solution.wdl, solution.dtm)]
    assert len(solution.line) == solution.dtm


def rated(values: ReachableValues, position: Position):
    return values.best_moves(Board(values.variant, position))


def sample(solved, number: int, seed: int):
    engine, values = solved
    rows = np.random.default_rng(seed).choice(len(values.words), number, replace=False)
    for row, board in zip(rows.tolist(), engine.boards(values.words[rows]), strict=True):
        cells, side = engine.cells(board)
        yield row, Position(cells, side)


@pytest.mark.parametrize(("number", "nodes"), [(40, 100_000), pytest.param(None, 400_000, marks=pytest.mark.slow)])
def test_solved_boards(solved, number: int | None, nodes: int) -> None:
    """Reachable positions, some or all: value, distance, first moves, length of the line."""
    engine, values = solved
    solver = Solver(engine.variant, ProofLimits(nodes=nodes, memory_bytes=1 << 21, positions=0))
    for row, position in sample(solved, number or len(values.words), 7):
        assert_agrees(engine, values, solver, row, position)


def test_the_listing_agrees_with_the_plain_solver() -> None:
    variant, text = load_variant("ashton-5-4v0"), "5/5/1bK2/5/2b2 b"
    engine, plain = engine_for(variant), plain_solution(variant, [text])
    positions = [Position.parse(reached, 5) for reached in plain.plies]
    boards = np.array([engine.board(position.cells, position.side) for position in positions])
    listed = reachable_values(variant, engine.words(boards[list(plain.plies).index(text)]), 250_000)
    assert listed is not None
    assert listed.probe_words(engine.words(boards)).tolist() == [plain.value(reached) for reached in plain.plies]


def test_a_table_of_one_bucket_proves_nothing_wrong(solved) -> None:
    """Every position falls into the same four entries: all is forgotten, nothing is mistaken."""
    engine, values = solved
    solver = Solver(engine.variant, ProofLimits(nodes=20_000, memory_bytes=1, positions=0))
    proved = 0
    for row, position in sample(solved, 60, 3):
        solution = solver.solve(position)
        if solution.status == "proved":
            proved += 1
            assert value_of(Verdict(solution.wdl, solution.dtm)) == values.values[row]
    assert proved > 30


def test_any_win_is_looked_for_and_its_moves_are_kept(solved) -> None:
    """Who wins is right, who does not is never said to; the moves that are read out win within their plies."""
    engine, values = solved
    answered = 0
    for side in (0, 1):
        search = WinSearch(engine, side, 1 << 20, ProofBudget(ProofLimits(nodes=1 << 40)))
        for row, _ in sample(solved, 40, 7):
            words, value = values.words[row : row + 1], int(values.values[row])
            board = engine.boards(words)[0]
            mine = int(head(board)[SIDE_AT]) == side
            right = value > 0 if mine else value < 0
            found = search.wins(board, 50_000)
            assert found in (right, None)
            answered += found is True
            if found and mine:
                assert search.distance >= value
                assert (search.winning_moves(words, np.array([value - 1]))[:, 1] == -1).all()
                follow(engine, search, words, search.distance)
    assert answered > 20


@pytest.mark.parametrize("memory", [1, 1 << 20])
def test_threads_with_one_table_answer_as_one_does(solved, memory: int) -> None:
    """Also where all that they write falls into one bucket."""
    engine, values = solved
    answered = 0
    for side in (0, 1):
        search = WinSearch(engine, side, memory, ProofBudget(ProofLimits(nodes=1 << 40)), threads=4)
        for row, _ in sample(solved, 25, 11):
            value = int(values.values[row])
            board = engine.boards(values.words[row : row + 1])[0]
            mine = int(head(board)[SIDE_AT]) == side
            found = search.wins(board, 50_000)
            answered += found is not None
            # A loss in n plies has the value -n - 1.
            wins, plies = (value > 0 if mine else value < 0), value if value > 0 else max(1, -value - 1)
            assert {found, search.within(board, plies, 50_000)} <= {wins, None}
            assert search.within(board, plies - 1, 50_000) in (False, None)
            assert not search._workspaces[0].busy.any(), "who left a move still stands on it"
    assert answered > 15


def test_threads_share_a_table_and_no_memory_of_their_own() -> None:
    search = WinSearch(engine_for(load_variant("brandubh")), 0, 1 << 20, ProofBudget(ProofLimits()), threads=3)
    one, *others = search._workspaces
    assert len(others) == 2
    for theirs in others:
        for name in one._fields:
            first, second = getattr(one, name), getattr(theirs, name)
            if isinstance(first, np.ndarray) and name not in ("covered", "busy"):
                assert np.shares_memory(first, second) == (name in ("table", "stop")), name


@numba.njit
def looked_up(rows, words, left):
    found = proof_table.find(pointer(rows), I64(len(rows) // 4), pointer(words), I64(len(words)), left, left)
    keep(rows)
    keep(words)
    return found


def test_a_torn_entry_is_of_no_position() -> None:
    """Whatever words of it another thread had written: of the same position later, or of another."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        one, other = rng.integers(0, 1 << 63, (2, 2), dtype=np.uint64) >> np.uint64(rng.integers(0, 60))
        if rng.integers(3) == 0:
            other = one.copy()
        wins = rng.choice(300, 2, replace=False)
        rows = []
        for words, win in zip((one, other), wins.tolist(), strict=True):
            table = proof_table.new_table(1, 2)
            proof_table.keep_values(table, words[None], np.array([win]), np.array([win - 1]))
            (filled,) = np.flatnonzero(table[:, -1])
            assert looked_up(table, words, 4000) == (0, proof_table.INFINITE, win)
            rows.append(table[filled].copy())
        for mask in range(1, 15):
            table = proof_table.new_table(1, 2)
            table[0] = np.where([mask >> bit & 1 for bit in range(4)], *rows)
            whole = any((table[0] == row).all() for row in rows)
            for words in (one, other):
                assert whole or looked_up(table, words, 4000)[0] == -1


def follow(engine, search, words, plies) -> None:
    """Play the moves that are kept against every answer, until they have won."""
    waiting = [(words, plies)]
    while waiting:
        words, left = waiting.pop()
        ((move, need),) = search.winning_moves(words, np.array([left])).tolist()
        if need < 0:
            assert search.wins(engine.boards(words)[0], plies=left)
            move, need = search.move, search.distance
        assert 1 <= need <= left
        children = engine.expand(words)
        (chosen,) = np.flatnonzero(children.moves == move)
        if children.outcomes[chosen] == 0:
            replies = engine.expand(children.words[chosen : chosen + 1])
            ends = {OUTCOMES[number].winner for number in replies.outcomes.tolist() if number}
            assert ends <= {WINNERS[search.prover]}
            waiting += [(reply[None], need - 2) for reply in replies.words[replies.outcomes == 0]]


def test_draws_and_unresolved_positions() -> None:
    engine, values = complete("brandubh-5-4v0")
    variant = engine.variant
    cells, side = engine.cells(engine.boards(values.words[values.values == 0][:1])[0])
    position = Position(cells, side)
    drawn = solve(variant, position, limits=ProofLimits(nodes=200_000, memory_bytes=1 << 22))
    assert (drawn.status, drawn.wdl, drawn.dtm, drawn.source) == ("proved", "draw", None, "exhaustion")
    assert drawn.line == drawn.winning_moves == ()
    berkeley_like = replace(variant, rules=variant.rules.model_copy(update={"repetition": recurrence("mover_loses")}))
    left = solve(berkeley_like, position, limits=ProofLimits(nodes=200_000, memory_bytes=1 << 22))
    assert (left.status, left.wdl) == ("proved", "unresolved")


def test_the_move_limit_turns_a_late_win_into_a_draw() -> None:
    variant = load_variant("brandubh-5-4v0")
    position = Position.parse(variant.start_position, 5)
    in_time, late = (solve(variant, position, plies_left=plies) for plies in (6, 5))
    assert (in_time.wdl, in_time.dtm) == ("loss", 6)
    assert (late.status, late.wdl, late.dtm) == ("proved", "draw", None)
    assert solve(variant, position, plies_left=0).wdl == "draw"
    # The same by known values.
    values = FewMen(complete("brandubh-5-4v0")[1], 4)
    assert Solver(variant, prober=values).solve(position, plies_left=5).wdl == "draw"
    assert Solver(variant, prober=values).solve(position, plies_left=6).dtm == 6


def test_a_side_that_cannot_move_has_lost() -> None:
    variant = load_variant("ashton-5-4v0")
    stuck = solve(variant, Position.parse("5/5/1b3/bKb2/1b3 w", 5))
    assert (stuck.status, stuck.wdl, stuck.dtm, stuck.source) == ("proved", "loss", 0, "rules")


def test_limits_leave_proven_bounds() -> None:
    variant = load_variant("brandubh")
    solution = solve(variant, Position.parse(variant.start_position, 7), limits=ProofLimits(nodes=5_000, positions=0))
    assert (solution.status, solution.wdl, solution.dtm) == ("unknown", None, None)
    assert solution.reason == "the limits were reached"
    assert solution.nodes < 20_000
    for side in WINNERS:
        assert solution.bounds[side].win_within is None
        assert solution.bounds[side].no_win_within >= 2
    none_left = solve(variant, Position.parse(variant.start_position, 7), limits=ProofLimits(seconds=0.0))
    assert none_left.status == "unknown"


def test_a_line_that_the_limits_cut_is_told() -> None:
    """The distance is proved, the first moves are, and the limits run out on the way along the line."""
    variant = load_variant("brandubh-5-4v0")
    engine, values = complete(variant.name)
    rows = np.flatnonzero(np.abs(values.values) == 9)[:12]
    cut = []
    for board in engine.boards(values.words[rows]):
        position = Position(*engine.cells(board))
        for nodes in (4_000, 16_000):
            solution = solve(variant, position, limits=ProofLimits(nodes=nodes, memory_bytes=1, positions=0))
            whole = len(solution.line) == (solution.dtm or 0)
            assert whole == ("the line" not in solution.reason)
            assert (solution.status == "proved") == (solution.dtm is not None and not solution.reason)
            if not whole and not solution.open_moves:
                cut.append(solution)
    assert cut
    assert judge(Puzzle(cut[0].position, variant.name, first=cut[0].winning_moves), cut[0]) == "holds"


def test_later_wins_are_told_from_moves_that_do_not_win(solved) -> None:
    engine, values = solved
    solver = Solver(engine.variant, ProofLimits(nodes=300_000, memory_bytes=1 << 21, positions=0))
    seen = 0
    for row, position in sample(solved, 9, 11):
        if values.values[row] <= 0:
            continue
        solution = solver.solve(position, all_wins=True)
        moves = rated(values, position)
        later = {m.move for m in moves if m.wdl == "win" and m.dtm != solution.dtm}
        assert solution.other_winning_moves is not None
        assert set(solution.other_winning_moves) <= later
        assert later <= {*solution.other_winning_moves, *solution.open_moves}
        assert not {*solution.open_moves} & {*solution.winning_moves, *solution.other_winning_moves}
        seen += bool(later)
    assert seen > 1


class FewMen(Prober):
    """A tablebase: a complete solution that admits to know positions with few attackers."""

    def __init__(self, values, most, missing=False):
        self.variant, self.values, self.most, self.missing = values.variant, values, most, missing
        self.asked = 0

    def covers(self, attackers, defenders):
        return attackers <= self.most

    def _stored(self, position):
        if self.missing or position.material[0] > self.most:
            raise MissingTableError
        return self.values.stored_value(position)

    def probe_words(self, words):
        self.asked += len(words)
        found = self.values.probe_words(words)
        attackers = engine_for(self.variant).boards(words)[:, 2 * self.variant.size + 2]
        assert (attackers <= self.most).all(), "asked for what is not covered"
        return np.full_like(found, MISSING) if self.missing else found


def test_a_tablebase_is_asked(solved) -> None:
    """The answer at the root is read off; with fewer men covered, the rest is searched and agrees."""
    engine, values = solved
    solver = Solver(engine.variant, ProofLimits(nodes=300_000, memory_bytes=1 << 21, positions=0), FewMen(values, 3))
    for row, position in sample(solved, 60, 5):
        if position.material[0] <= 3:
            found = solver.solve(position, all_wins=True)
            assert found.source == "tablebase"
            assert value_of(Verdict(found.wdl, found.dtm)) == values.values[row]
        else:
            assert_agrees(engine, values, solver, row, position)


def test_a_tablebase_cuts_the_search_off() -> None:
    """Asked for all children, many at once, the search has nothing left to do."""
    engine, values = complete("brandubh-5-4v0")
    variant = engine.variant
    deep = np.flatnonzero(np.abs(values.values) >= 8)[::12]
    assert len(deep) > 5
    for board, value in zip(engine.boards(values.words[deep]), values.values[deep].tolist(), strict=True):
        mover = int(board[2 * variant.size + 1])
        winner, distance = (mover, value) if value > 0 else (mover ^ 1, -value - 1)
        nodes = []
        for prober in (None, FewMen(values, 4)):
            search = WinSearch(engine, winner, 1 << 18, ProofBudget(ProofLimits()), prober)
            assert search.within(board, distance - 1) is False
            assert search.within(board, distance) is True
            assert search.distance == distance
            nodes.append(search.budget.nodes)
        assert prober is not None
        assert prober.asked > 0
        assert nodes[1] < min(nodes[0], 500)


def test_a_tablebase_with_gaps_is_left_alone(solved) -> None:
    engine, values = solved
    solver = Solver(
        engine.variant, ProofLimits(nodes=300_000, memory_bytes=1 << 21, positions=0), FewMen(values, 3, True)
    )
    for row, position in sample(solved, 40, 5):
        assert_agrees(engine, values, solver, row, position)


# -- two ways to the same truth: what the tablebase says of an ending, proof search finds without it


# -- one caller, and stops ---------------------------------------------------------------------


class _Asking:
    """A tablebase that covers nothing, and does something when it is asked."""

    def __init__(self, variant: Variant, ask: Callable[[], object]) -> None:
        self.variant, self.covers = variant, lambda *_: bool(ask())


def test_a_stop_before_a_question_ends_that_one_alone() -> None:
    solver = Solver("brandubh-5-4v0", ProofLimits(memory_bytes=1 << 20))
    text = "2b2/5/b1K1b/5/2b2 b"
    solver.stop()
    stopped = solver.solve(text)
    assert (stopped.status, stopped.nodes) == ("unknown", 0)
    assert solver.solve(text).dtm == 6
    solver.stop()
    solver.clear_stop()
    assert solver.solve(text).dtm == 6


def test_a_second_question_is_refused_and_one_that_failed_is_forgotten() -> None:
    variant = load_variant("brandubh-5-4v0")
    text = "2b2/5/b1K1b/5/2b2 b"
    solver = Solver(variant, ProofLimits(memory_bytes=1 << 20))
    solver.prober = _Asking(variant, lambda: solver.solve(text))  # type: ignore[assignment]
    with pytest.raises(UseError):
        solver.solve(text)
    solver.prober = _Asking(variant, solver.stop)  # type: ignore[assignment]
    assert solver.solve(text).status == "unknown"
    solver.prober = None
    assert solver.solve(text).dtm == 6
