"""Rules that decide a puzzle: changing one of them changes the solution, as far as this can be proved in time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reports.rulebook.points import others
from retrograde.proofs import Solver
from retrograde.puzzles.puzzle_file import Puzzle, facts_of, rules_of
from tablut.errors import InputError, UncompiledError
from tablut.results import Result
from tablut.work.clocks import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrograde.proofs import ProofLimits


class DecidingRules(Result):
    """Rule fields that decide a puzzle, and fields for which this could not be determined."""

    rules: list[str]
    unknown: list[str]


def deciding_rules(
    puzzle: Puzzle, limits: ProofLimits, seconds: float, going_on: Callable[[Solver], object] = lambda _: None
) -> DecidingRules:
    """Return the rule fields for which some other value changes the solution of a puzzle.

    The solution changes if the win becomes longer, shorter or impossible, if other first moves win, or if the position
    is not valid under the changed rules.
    """
    facts, until = facts_of(puzzle), wall_clock() + seconds
    right = facts.winner, facts.plies, {*(puzzle.first or ())}
    decide, unknown = [], []
    for field, variant in others(rules_of(puzzle)):
        if field in decide:
            continue
        try:
            solver = Solver(variant, replace(limits, seconds=max(until - wall_clock(), 0.01)))
            going_on(solver)
            found = solver.solve(puzzle.position, plies_left=facts.plies)
        except UncompiledError:
            unknown.append(field)
            continue
        except InputError:
            decide.append(field)  # the position is invalid under these rules
            continue
        if found.wdl is None:
            unknown.append(field)
        elif (found.winner, found.dtm, {*found.winning_moves}) != right:
            decide.append(field)
    return DecidingRules(rules=decide, unknown=[field for field in dict.fromkeys(unknown) if field not in decide])
