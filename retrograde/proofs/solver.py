"""A solver that proves whether a position is a win, draw or loss, and finds the shortest win and its first moves.

The solver searches for a win for each side under a growing bound on the number of plies. As long as no win is found,
the next bound is tried for the side whose search has cost less so far. The first bound that leads to a proof is the
distance, because all smaller bounds have been disproved. Before trying a side's next bound, the solver may search for a
win of any length. This search may take at most as long as the side's search has taken so far. In this way, a long win
can be found before all shorter wins are excluded, and the search for the other side's win can stop.

A draw is proved by a tablebase, by a list of all reachable positions (`retrograde.proofs.win_search`), or by the
variant's move limit if neither side wins within the plies left.

Values ignore history: a position is valued as if the game began with this position. If a repetition is a draw or has no
effect under the rules, this is the true value. If a player loses by repeating a position, the wins and losses proved
here remain valid, and every other value is ``unresolved`` instead of a draw.

The side to move wins after an odd number of plies, and the other side after an even number. The exception is that some
rules let a player lose by a ply that leaves the player's own side without a move (``either_after_ply``). Only bounds of
the right parity are searched. Under rules with that exception, the bound just below the distance found is tried as
well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from retrograde.proofs.proof_numbers import MOST_PLIES
from retrograde.proofs.win_search import (
    ProofBudget,
    ProofLimits,
    WinSearch,
    compile_ahead,
    may_be_listed,
    reachable_values,
)
from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.layout import SIDE_AT, head
from tablut.errors import InputError, numbers_of, real_number, whole_number
from tablut.formats.reading import as_position
from tablut.indexing.values import Verdict, unforced
from tablut.position import Move, SideName
from tablut.prober import Bounds, MissingTableError, ProofSource, Solution, find_prober, rated_moves, unlimited_board
from tablut.rules.outcome import OUTCOMES
from tablut.variants import as_variant
from tablut.work.one_caller import Stoppable, alone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine import Engine
    from tablut.formats.reading import PositionLike
    from tablut.position import Position
    from tablut.prober import PositionValues, Prober, Prover
    from tablut.variants import Variant, VariantLike

_LIST_AFTER = 100_000
"""Number of moves without a result after which the solver lists all reachable positions."""
_LOOK_AHEAD_AFTER = 30_000
"""Number of moves after which the search for a side's win may also look for a win of any length."""


# -- solving -----------------------------------------------------------------------------


class _Side:
    """State of the search for a win for one side."""

    def __init__(self, search: WinSearch, next_bound: int, cap: int) -> None:
        self.search = search
        self.next_bound = next_bound
        self.cap = cap
        self.win_within: int | None = None
        self.no_win_within = 0
        self.spent = 0

    @property
    def exhausted(self) -> bool:
        """Whether the side is known not to win within the maximum number of plies."""
        return self.no_win_within >= self.cap

    @property
    def exact(self) -> bool:
        return self.win_within is not None and self.no_win_within == self.win_within - 1


class Solver(Stoppable):
    """Solver that proves the values of positions in one variant, one position at a time.

    A solver serves one caller at a time. While it solves a position, a second call raises `UseError`; other threads may
    only call `stop` and `so_far`. A solver cannot be copied or pickled.

    Parameters
    ----------
    variant : Variant
        The rule set.
    limits : ProofLimits
        Limits for each position.
    prober : Prober, optional
        A tablebase of the variant.

    Examples
    --------
    >>> from tablut.position import Position
    >>> from tablut.variants import load_variant
    >>> solver = Solver(load_variant("brandubh-5-4v0"))
    >>> solution = solver.solve(Position.parse("2b2/5/b1K1b/5/2b2 b", 5))
    >>> solution.status, solution.wdl, solution.dtm, solution.winner
    ('proved', 'loss', 6, 'white')
    """

    def __init__(self, variant: VariantLike, limits: ProofLimits | None = None, prober: Prober | None = None) -> None:
        variant = as_variant(variant)
        self.variant = variant
        whole = dict.fromkeys(("nodes", "memory_bytes", "positions"), whole_number)
        self.limits = numbers_of(limits or ProofLimits(), seconds=real_number, **whole)
        self.prober = prober
        self._engine: Engine = engine_for(variant)
        self._question: _Question | None = None

    def stop(self) -> None:
        """Stop the call of `solve` that another thread is running or, if there is none, the next call.

        The stopped call returns the results that it has proved. One `stop` ends only one call of `solve`. If that call
        may have ended before the stop, call `clear_stop` before the next call of `solve`.
        """
        self._stop_asked = True
        if (question := self._question) is not None:
            question.budget.stop()

    def so_far(self, reason: str = "interrupted") -> Solution | None:
        """Return the results proved so far about the position that another thread is solving.

        Parameters
        ----------
        reason : str
            Text for the ``reason`` field, which states why the position has not been solved.

        Returns
        -------
        Solution or None
            A solution with the status ``unknown``, or None if the solver has not begun.
        """
        question = self._question
        return None if question is None else question.unknown(reason)

    @alone
    def solve(self, position: PositionLike, *, plies_left: int | None = None, all_wins: bool = False) -> Solution:
        """Solve a position.

        Parameters
        ----------
        position : Position, Board or str
            The position, on a board of the variant's size.
        plies_left : int, optional
            Number of plies left before the game is drawn; by default, the variant's move limit.
        all_wins : bool
            Whether to search for moves that win more slowly as well.

        Returns
        -------
        Solution
            The solution. If it is not complete, it contains the bounds that were proved.

        Raises
        ------
        InputError
            If no play is possible from the position, the game is over, or ``plies_left`` exceeds the move limit.
        UseError
            If the solver is solving another position.
        """
        self._question = None
        start = as_position(position, self.variant)
        stuck = is_lost_at_once(self.variant, start)
        most = self.variant.rules.move_limit
        limit = most if plies_left is None else whole_number("plies_left", plies_left)
        if limit is not None and limit > (most or limit):
            raise InputError(f"must be from 0 to {most} in {self.variant.name}", subject=f"{plies_left} plies left")
        self._question = question = _Question(self, start, limit, all_wins, stuck)
        try:
            if self._stop_asked:
                question.budget.stop()
            return question.solve()
        finally:
            self._stop_asked = False


def is_lost_at_once(variant: VariantLike, position: PositionLike) -> bool:
    """Return whether the side to move has lost because it has no legal move.

    Raise `InputError` if the game is over for any other reason.
    """
    board = Board(variant, position)
    outcome = board.outcome()
    if outcome is None:
        return False
    if outcome.termination == "no_moves" and board.variant.rules.no_moves == "side_to_move_loses":
        return True
    result = f"{outcome.winner} has won" if outcome.winner else "drawn"
    raise InputError(f"the game is over: {result}", subject=f"position '{board.position}'")


class _Question:
    """State of the work on a position that is being solved."""

    def __init__(self, solver: Solver, position: Position, limit: int | None, all_wins: bool, stuck: bool) -> None:
        self.variant, self.limits, self.prober = solver.variant, solver.limits, solver.prober
        self.engine: Engine = solver._engine
        self.position = position
        self.limit = limit
        self.all_wins = all_wins
        self.stuck = stuck
        self.budget = ProofBudget(solver.limits)
        self.board = self.engine.board(position.cells, position.side)
        self.words = self.engine.words(self.board)
        self.mover = int(position.side == "b")
        self.either = self.variant.rules.no_moves == "either_after_ply"
        self.cap = MOST_PLIES if limit is None else min(limit, MOST_PLIES)
        self.sides: dict[int, _Side] = {}

    # -- ways to solve a position ------------------------------------------------------

    def solve(self) -> Solution:
        if self.stuck:
            return self._solution("proved", Verdict("loss", 0), source="rules")
        if self.prober is not None and self.prober.covers(*self.position.material):
            known = self._from_values(self.prober, "tablebase")
            if known is not None:
                return known
        for side in (0, 1):
            search = WinSearch(self.engine, side, self.limits.memory_bytes // 2, self.budget, self.prober)
            self.sides[side] = _Side(search, 1 if side == self.mover else 2, self.cap)
        return self._search()

    def _from_values(self, values: PositionValues, source: ProofSource) -> Solution | None:
        """Return the solution that follows from known values, or None if one of them is missing."""
        board = unlimited_board(self.variant, self.position)
        try:
            verdict = values.probe(self.position)
            moves = rated_moves(board, lambda after: values.stored_value(after.position))
            line = values.line(self.position)
        except MissingTableError:
            return None
        if verdict.dtm is None or (self.limit is not None and verdict.dtm > self.limit):
            return self._solution("proved", Verdict(unforced(self.variant), None), source=source)
        attaining = [rated.move for rated in moves if (rated.wdl, rated.dtm) == verdict]
        later = [
            rated.move
            for rated in moves
            if verdict.wdl == rated.wdl == "win"
            and rated.dtm != verdict.dtm
            and (self.limit is None or (rated.dtm or 0) <= self.limit)
        ]
        return self._solution("proved", verdict, line, attaining, later, source=source)

    def _search(self) -> Solution:
        listed = not may_be_listed(self.variant, self.position, self.limits.positions)
        while True:
            winner = next((number for number, side in self.sides.items() if side.exact), None)
            if winner is not None:
                return self._won(winner)
            if all(side.exhausted for side in self.sides.values()):
                if self.limit is not None and self.limit <= MOST_PLIES:
                    return self._solution("proved", Verdict(unforced(self.variant), None))
                if listed:
                    return self.unknown(f"a proof search looks at most {MOST_PLIES} plies ahead")
            if not listed and (self.budget.nodes > _LIST_AFTER or all(side.exhausted for side in self.sides.values())):
                listed = True
                values = reachable_values(self.variant, self.words, self.limits.positions)
                known = None if values is None else self._from_values(values, "exhaustion")
                if known is not None:
                    return known
                continue
            if not self._step():
                return self.unknown("the limits were reached")

    def unknown(self, reason: str) -> Solution:
        """Return a solution that contains both sides' bounds and the winner, if known, but no proved distance."""
        sides = list(self.sides.items())
        winner = next((number for number, side in sides if side.win_within is not None), None)
        verdict = None if winner is None else Verdict("win" if winner == self.mover else "loss", None)
        return self._solution("unknown", verdict, reason=reason)

    def _step(self) -> bool:
        """Search for a win by one side under that side's next bound. Return False if the limits were reached."""
        winning = next((side for side in self.sides.values() if side.win_within is not None), None)
        # Only one side can win. Once a win has been found, only its exact distance remains to be determined.
        side = winning or min(
            (side for side in self.sides.values() if not side.exhausted), key=lambda side: (side.spent, side.next_bound)
        )
        ahead = side.win_within is None and side.spent > _LOOK_AHEAD_AFTER
        if ahead and self._try(side, side.cap, most=side.spent, shared=True) is not None:
            return True
        bound = min(side.next_bound, side.cap)
        if side.win_within is not None:
            bound = min(bound, side.win_within - 1)
        return self._try(side, bound) is not None

    def _try(self, side: _Side, bound: int, most: int | None = None, shared: bool = False) -> bool | None:
        """Search for a win within a bound, and record the result."""
        before = self.budget.nodes
        search = side.search
        answer = search.wins(self.board, most, bound) if shared else search.within(self.board, bound, most)
        side.spent += self.budget.nodes - before
        if answer:
            side.win_within = min(search.distance, bound)
        elif answer is not None:
            side.no_win_within = max(side.no_win_within, bound)
            side.next_bound = max(side.next_bound, bound + 2)
        # By parity, the only bound between the last disproved bound and the proved bound is excluded, too.
        if not self.either and side.win_within is not None and side.no_win_within == side.win_within - 2:
            side.no_win_within += 1
        return answer

    # -- after the distance is known ---------------------------------------------------

    def _won(self, winner: int) -> Solution:
        """Return the solution for a position whose winner and distance are proved."""
        side = self.sides[winner]
        distance = side.win_within
        assert distance is not None
        verdict = Verdict("win" if winner == self.mover else "loss", distance)
        attaining, unsettled = self._first_moves(side.search, distance)
        line = self._line(side.search, distance)
        missing = ["all first moves were settled"] * bool(unsettled) + ["the line was found"] * (len(line) < distance)
        reason = f"the limits were reached before {' and '.join(missing)}" if missing else ""
        status: Literal["proved", "unknown"] = "unknown" if missing else "proved"
        later: list[Move] = []
        if self.all_wins and winner == self.mover:
            later, still_open = self._later_wins(side.search, distance, attaining + unsettled)
            unsettled = unsettled + still_open
        return self._solution(status, verdict, line, attaining, later, unsettled, reason=reason)

    def _children(self, board: NDArray[np.uint32]) -> list[tuple[Move, NDArray[np.uint32], int | None]]:
        """Return a position's moves, with the board and the winner after each move (None if undecided)."""
        children = self.engine.expand(self.engine.words(board))
        boards = self.engine.boards(children.words)
        successors = []
        for code, child, number in zip(children.moves.tolist(), boards, children.outcomes.tolist(), strict=True):
            outcome = OUTCOMES[number]
            winner = None if outcome is None else int(outcome.winner == "black")
            mover = int(head(child)[SIDE_AT])
            if winner is None and self.engine.count_moves(child, mover) == 0:
                winner = mover ^ 1
            successors.append((Move.from_code(code, self.variant.size), child, winner))
        return successors

    def _first_moves(self, search: WinSearch, distance: int) -> tuple[list[Move], list[Move]]:
        """Return the first moves that attain the distance, and the first moves that may attain it."""
        attains = {move: search.attains(child, winner, distance) for move, child, winner in self._children(self.board)}
        return [move for move in attains if attains[move]], [move for move in attains if attains[move] is None]

    def _later_wins(self, search: WinSearch, distance: int, settled: list[Move]) -> tuple[list[Move], list[Move]]:
        """Return the moves that win, but more slowly than the best move, and the moves that may do so."""
        later, unsettled = [], []
        rest = [entry for entry in self._children(self.board) if entry[0] not in settled]
        for number, (move, child, winner) in enumerate(rest):
            if winner is not None:
                continue
            answer: bool | None = False
            bound = distance - 1
            # Each move gets an equal share of the remaining nodes.
            share = self.budget.left // (len(rest) - number)
            spent = self.budget.nodes
            while answer is False and bound < self.cap - 1:
                bound = min(bound + 2, self.cap - 1)
                answer = search.within(child, bound, max(0, share - (self.budget.nodes - spent)))
            if answer:
                later.append(move)
            elif answer is None or self.limit is None:
                unsettled.append(move)
        return later, unsettled

    def _line(self, search: WinSearch, distance: int) -> tuple[Move, ...]:
        """Return best play by both sides, as far as it can be proved within the limits."""
        line: list[Move] = []
        board = self.board
        for left in range(distance, 0, -1):
            for move, child, winner in self._children(board):
                attains = search.attains(child, winner, left)
                if attains is None:
                    return tuple(line)
                if attains:
                    line.append(move)
                    board = child
                    break
            else:
                raise AssertionError(f"no move attains {left} plies in {self.engine.cells(board)}")
        return tuple(line)

    # -- the solution ------------------------------------------------------------------

    def _solution(
        self,
        status: Literal["proved", "unknown"],
        verdict: Verdict | None = None,
        line: tuple[Move, ...] = (),
        attaining: list[Move] | None = None,
        later: list[Move] | None = None,
        unsettled: list[Move] | None = None,
        *,
        source: ProofSource = "search",
        reason: str = "",
    ) -> Solution:
        wdl = None if verdict is None else verdict.wdl
        dtm = None if verdict is None else verdict.dtm
        bounds: dict[SideName, Bounds] = {}
        names: tuple[SideName, ...] = ("white", "black")
        for number, name in enumerate(names):
            side = self.sides.get(number)
            wins = wdl == ("win" if number == self.mover else "loss")
            if verdict is not None and not wins:
                bounds[name] = Bounds(never=True)
            elif dtm is not None:
                bounds[name] = Bounds(dtm, dtm - 1)
            else:
                # If the search was interrupted before it began, nothing is known.
                bounds[name] = Bounds() if side is None else Bounds(side.win_within, side.no_win_within)
        return Solution(
            variant=self.variant,
            position=self.position,
            status=status,
            wdl=wdl,
            dtm=dtm,
            line=line,
            winning_moves=tuple(attaining or ()),
            other_winning_moves=tuple(later or ()) if self.all_wins else None,
            open_moves=tuple(unsettled or ()),
            bounds=bounds,
            nodes=self.budget.nodes,
            seconds=self.budget.seconds,
            source=source,
            reason=reason,
        )


def solve(
    variant: VariantLike,
    position: PositionLike,
    *,
    limits: ProofLimits | None = None,
    prober: Prober | None = None,
    plies_left: int | None = None,
    all_wins: bool = False,
) -> Solution:
    """Solve a position; see `Solver`.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set.
    position : Position, Board or str
        The position, on a board of the variant's size.
    limits : ProofLimits, optional
        Limits on the search.
    prober : Prober, optional
        A tablebase of the variant.
    plies_left : int, optional
        Number of plies left before the game is drawn; by default, the variant's move limit.
    all_wins : bool
        Whether to search for moves that win more slowly as well.

    Returns
    -------
    Solution
        The solution. If it is not complete, it contains the bounds that were proved.

    Examples
    --------
    >>> found = solve("ashton-5-4v0", "2b2/5/b1K1b/5/2b2 w")
    >>> found.status, found.wdl, found.dtm, [str(move) for move in found.winning_moves]
    ('proved', 'win', 3, ['c3-b3', 'c3-d3', 'c3-c2', 'c3-c4'])
    """
    variant = as_variant(variant)
    return Solver(variant, limits, prober).solve(position, plies_left=plies_left, all_wins=all_wins)


# -- the proof search for `tablut.prober.Prover` ----------------------------------------------


_MEMORY: Final = 32 << 20
"""Size of the proof search's table, in bytes. The table is small because each search visits only a few nodes."""


def prover_for(variant: Variant, nodes: int) -> Prover:
    """Return a proof search for a variant. The search makes at most ``nodes`` moves for each position."""
    # Do not list all reachable positions, since this would take far longer than a search with so few nodes.
    solver = Solver(variant, ProofLimits(nodes=nodes, memory_bytes=_MEMORY, positions=0), find_prober(variant))
    # The kernels for this search and for the caller's search each take seconds to compile. Compile them at the same
    # time.
    compile_ahead(engine_for(variant))
    return solver
