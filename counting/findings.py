"""What is wrong, missing or out of date in the complexity paper, each with its evidence.

The evidence of a finding is what a computation gave; a test derives it again in
another way. `status` says how certain it is:
``proved`` (an argument and its exact numbers), ``computed`` (exhausted or
evaluated exactly) or ``quoted`` (rests on a cited source).
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from decimal import Decimal
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import networkx as nx

from counting.paper import Subspace, SubspaceSum
from counting.spaces import FINAL
from tablut.notation import square_name
from tablut.results import Result, scientific
from tablut.variants.model import DIRECTIONS, ray

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counting.exclusions.record import ExclusionRecord
    from counting.paper import PaperEquations
    from tablut.variants import Variant
    from tablut.variants.model import Camp

Evidence = dict[str, str | int | list[str]]


class Finding(Result):
    """One disagreement with the paper."""

    id: str
    kind: Literal["misprint", "omission", "overcount", "refuted", "scope", "outdated"]
    statement: str
    status: Literal["proved", "computed", "quoted"]
    evidence: Evidence


def find(paper: PaperEquations, values: Mapping[str, int], record: ExclusionRecord | None = None) -> list[Finding]:
    """Return the findings about the paper."""
    if not paper.is_the_papers:
        return []
    return [
        _limit_of_12(paper),
        _totals(paper),
        _past_the_camp(paper),
        _counted_twice(paper, values),
        _captured_is_undecided(paper, values),
        _camp_ends(paper),
        _escape_takes_last(values),
        _escape_past_capture(paper, values),
        _besieged_at_home(paper, values),
        _king_alone(paper, values),
        *([] if record is None else [_locked(paper, values, record)]),
        _side_to_move(paper, values),
        _many_kings(paper),
        _four_groups(paper),
        _morris(),
        _chess(),
    ]


def _value(paper: PaperEquations, equation: str) -> int:
    return paper[equation].body.value()


def _final(values: Mapping[str, int]) -> int:
    return sum(values[name] for name in FINAL)


def _single_changes(part: Subspace) -> dict[str, Subspace]:
    """Return the subspaces that differ from a given one in one number of its formula, by that number."""
    changes = {}
    for last in range(part.attackers[-1] - 4, part.attackers[-1] + 5):
        changes[f"upper limit of b {last}"] = replace(part, attackers=range(last + 1))
    for last in range(part.defenders[-1] - 4, part.defenders[-1] + 5):
        changes[f"upper limit of w {last}"] = replace(part, defenders=range(last + 1))
    for free in range(part.free_cells - 4, part.free_cells + 4):
        changes[f"free cells {free}"] = replace(part, free_cells=free)
    for camp in range(part.camp_cells - 4, part.camp_cells + 5):
        changes[f"camp cells {camp}"] = replace(part, camp_cells=camp)
    return {change: changed for change, changed in changes.items() if changed != part}


def _with_limit_15(paper: PaperEquations) -> Subspace:
    body = paper["eq12"].body
    assert isinstance(body, SubspaceSum)
    (part,) = body.parts
    return replace(part, attackers=range(part.attackers.stop + 1))


def _limit_of_12(paper: PaperEquations) -> Finding:
    equation = paper["eq12"]
    assert isinstance(equation.body, SubspaceSum)
    assert equation.published is not None
    (part,) = equation.body.parts
    fits = [name for name, changed in _single_changes(part).items() if equation.published.agrees(changed.value())]
    return Finding(
        id="eq12-upper-limit",
        kind="misprint",
        statement="The published value of (12), 1.6e26, is not the value of the printed formula. It is the value with "
        "15 instead of 14 as the upper limit of b, one attacker more than the game has.",
        status="computed",
        evidence={
            "published": equation.published.text,
            "printed_formula": str(equation.body.value()),
            "with_limit_15": str(_with_limit_15(paper).value()),
            "changes_of_one_number_that_give_the_published_value": fits,
        },
    )


def _totals(paper: PaperEquations) -> Finding:
    excess = _with_limit_15(paper).value() - _value(paper, "eq12")
    eq13, eq14 = _value(paper, "eq13"), _value(paper, "eq14")
    return Finding(
        id="eq13-eq14-totals",
        kind="misprint",
        statement=f"(13) and (14) inherit the value of (12): by their formulas they are {scientific(eq13)} and "
        f"{scientific(eq14)}, not 4.6e26 and 1.4e27. Both carry the same symbol in print.",
        status="computed",
        evidence={
            "eq13": str(eq13),
            "eq14": str(eq14),
            "eq13_with_limit_15_in_eq12": str(eq13 + excess),
            "eq14_with_limit_15_in_eq12": str(eq14 + excess),
        },
    )


def _past_the_camp(paper: PaperEquations) -> Finding:
    patterns = paper.patterns["past_terrain"]
    size = paper.variant.size
    return Finding(
        id="camp-front-two-soldiers",
        kind="omission",
        statement="A king in front of a camp's tip can also be taken by two soldiers across, along the line that does "
        "not touch the camp. Neither (11) nor (12) counts those placements.",
        status="computed",
        evidence={
            "king_cells": [square_name(king, size) for king, _ in patterns],
            "attackers": [
                " ".join(square_name(cell, size) for cell in sorted(pattern.attackers)) for _, pattern in patterns
            ],
            "missing_term": str(paper.captured_sum(patterns).value()),
        },
    )


def _counted_twice(paper: PaperEquations, values: Mapping[str, int]) -> Finding:
    by_pattern = sum(_value(paper, f"eq{n}") for n in (9, 10, 11, 12))
    complete = by_pattern + paper.captured_sum(paper.patterns["past_terrain"]).value()
    return Finding(
        id="captures-counted-twice",
        kind="overcount",
        statement="(9) to (12) add up over capture patterns, so a king held in two ways is counted twice. Each "
        "placement once, with the patterns that the paper leaves out, there are fewer.",
        status="computed",
        evidence={
            "eq9_to_eq12": str(by_pattern),
            "with_the_missing_patterns": str(complete),
            "each_placement_once": str(values["king_captured"]),
            "counted_too_often": str(complete - values["king_captured"]),
        },
    )


def _captured_is_undecided(paper: PaperEquations, values: Mapping[str, int]) -> Finding:
    undecided, final = _value(paper, "eq6"), _final(values)
    return Finding(
        id="captured-kings-are-in-eq6",
        kind="scope",
        statement="A captured king stays on its cell, where an undecided one may stand with the same soldiers around "
        "it: every placement of (9) to (12) is already in (6). (14) therefore counts placements labelled by how the "
        "game ended, not distinct ones.",
        status="proved",
        evidence={
            "labelled": str(undecided + final),
            "distinct": str(undecided + final - values["king_captured"]),
        },
    )


def _camp_ends(paper: PaperEquations) -> Finding:
    variant = paper.variant
    camps = variant.regions.camps
    graphs = [camp_fillings(variant, camp) for camp in camps]
    southern = camps[-1]
    middle = next(cell for cell in southern.cells if len(southern.cells & {*variant.regions.neighbours(cell)}) == 3)
    return Finding(
        id="camp-ends-remark",
        kind="refuted",
        statement="Section 3.1 ends with the remark that three soldiers on the ends of a camp imply the fourth. They "
        "do not: when an end has left, the middle soldier may step onto it. All fillings of every camp occur.",
        status="computed",
        evidence={
            "fillings": [f"{len(graph)} of {2 ** len(camp.cells)}" for graph, camp in zip(graphs, camps, strict=True)],
            "camp": sorted(square_name(cell, variant.size) for cell in southern.cells),
            "to_three_ends_without_the_middle": shortest_line(graphs[-1], southern.cells, southern.cells - {middle}),
        },
    )


def _escape_takes_last(values: Mapping[str, int]) -> Finding:
    return Finding(
        id="escape-takes-the-last-attacker",
        kind="omission",
        statement="A king can escape and take black's last soldier with the same move (king to b1, soldier on c1, the "
        "camp cell d1 behind it). Those placements are in neither (7) nor (8): 16 times the sum of C(62, w).",
        status="proved",
        evidence={
            "missing_term": str(values["escaped_last"]),
            "of_these_some_arrival_captures": str(values["escaped_last"] - values["excluded_escaped_last"]),
        },
    )


def _escape_past_capture(paper: PaperEquations, values: Mapping[str, int]) -> Finding:
    return Finding(
        id="escape-beside-a-doomed-attacker",
        kind="overcount",
        statement="(8) counts escaped kings beside a soldier that their arrival captures, such as king b1, soldier c1. "
        "The paper's footnote expects that captures would lower the number; by this much.",
        status="proved",
        evidence={
            "eq8": str(_value(paper, "eq8")),
            "impossible": str(values["excluded_escaped"]),
            "possible": str(values["escaped"] - values["excluded_escaped"]),
        },
    )


def _besieged_at_home(paper: PaperEquations, values: Mapping[str, int]) -> Finding:
    return Finding(
        id="besieged-on-the-castle",
        kind="overcount",
        statement="A king on the castle has never moved, so the last of four soldiers around it captured on arrival: "
        "no such placement is undecided. Yet (4) counts them all, as many as (9).",
        status="proved",
        evidence={"counted_in_eq4": str(values["excluded_no_end"]), "eq9": str(_value(paper, "eq9"))},
    )


def _king_alone(paper: PaperEquations, values: Mapping[str, int]) -> Finding:
    return Finding(
        id="king-alone-on-the-castle",
        kind="overcount",
        statement="(7) counts the king alone on the castle. It never moved, and no other white piece is there that "
        "could have taken the last attacker.",
        status="proved",
        evidence={"eq7": str(_value(paper, "eq7")), "impossible": str(values["excluded_all_captured"])},
    )


def _locked(paper: PaperEquations, values: Mapping[str, int], record: ExclusionRecord) -> Finding:
    sets = sum(size.sets for size in record.sets)
    return Finding(
        id="locked-sets",
        kind="overcount",
        statement=f"(6) counts placements that no game shows: {sets} sets of at most {record.pieces} pieces are "
        "locked. "
        "Whichever of the set came last would have captured another of it, or had nowhere to come from.",
        status="proved",
        evidence={
            "eq6": str(_value(paper, "eq6")),
            "with_a_locked_set": str(values["no_end"] - values["excluded_no_end"] - record.of("no_end").placements),
            "left": str(record.of("no_end").placements),
        },
    )


def _side_to_move(paper: PaperEquations, values: Mapping[str, int]) -> Finding:
    undecided, final = _value(paper, "eq6"), _final(values)
    return Finding(
        id="no-side-to-move",
        kind="scope",
        statement="The paper's states are placements without the side to move. The figures for chess and draughts that "
        "it is compared with include it; with it, every undecided placement counts twice.",
        status="computed",
        evidence={
            "labelled_with_side_to_move": str(2 * undecided + final),
            "labelled_without": str(undecided + final),
        },
    )


def _many_kings(paper: PaperEquations) -> Finding:
    naive = _value(paper, "eq1")
    (_, castle), (_, camp), (_, soldiers_only), (_, kings) = paper["eq1"].body.factors  # type: ignore[union-attr]
    one_king = 2**camp * 3**soldiers_only * (castle * 3**kings + kings * 3 ** (kings - 1))
    return Finding(
        id="naive-bound-has-many-kings",
        kind="overcount",
        statement="The naive bound (1) lets each of the 45 king cells hold a king of its own. With exactly one king "
        "the same count is smaller by more than four orders of magnitude.",
        status="computed",
        evidence={"eq1": str(naive), "exactly_one_king": str(one_king)},
    )


def _four_groups(paper: PaperEquations) -> Finding:
    camps = paper.variant.regions.camps
    return Finding(
        id="four-groups-in-all",
        kind="misprint",
        statement="Section 2.1 has four groups of four camp cells on each side of the board. There is one group on "
        "each side, four in all, as the paper's own 16 camp cells require.",
        status="computed",
        evidence={"camps": len(camps), "camp_cells": sum(len(camp.cells) for camp in camps)},
    )


def _morris() -> Finding:
    morris = next(game for game in published_games() if "Morris" in game.name)
    return Finding(
        id="morris-is-naive",
        kind="scope",
        statement="Table 1 gives Nine Men's Morris 3e11, which is 3^24: each of 24 points by itself, as naive as (1). "
        "The databases that solved the game hold about 1e10 states.",
        status="quoted",
        evidence={"published": morris.published[0], "3^24": str(3**24), "source": morris.source},
    )


def _chess() -> Finding:
    chess = next(game for game in published_games() if game.name == "Chess")
    assert chess.error is not None
    lowest = Decimal(chess.today) - Decimal(chess.error)
    return Finding(
        id="chess-1e43-is-no-bound",
        kind="outdated",
        statement="Table 1 lists 1e43 among the upper bounds for chess. Today's estimate of the number of legal "
        "positions exceeds it forty times over.",
        status="quoted",
        evidence={
            "published": list(chess.published),
            "estimate": f"{chess.today} ± {chess.error} at 95 %",
            "lowest_over_1e43": str(lowest / Decimal("1e43")),
            "source": chess.source,
        },
    )


# -- the fillings of one camp: which sets of its cells can be occupied in the course of a game


Filling = frozenset[int]


def camp_fillings(variant: Variant, camp: Camp) -> nx.DiGraph[Filling]:
    """Return the fillings that can follow from the full camp, and the moves between them."""
    graph: nx.DiGraph[Filling] = nx.DiGraph()
    pending = [camp.cells]
    graph.add_node(camp.cells)
    while pending:
        filling = pending.pop()
        for move, following in _moves(variant, camp, filling):
            if following not in graph:
                pending.append(following)
            graph.add_edge(filling, following, move=move)
    return graph


def _moves(variant: Variant, camp: Camp, filling: Filling) -> list[tuple[str, Filling]]:
    size, moves = variant.size, []
    for cell in sorted(filling):
        left = filling - {cell}
        name = square_name(cell, size)
        leaves = False
        for direction in DIRECTIONS:
            for target in ray(cell, direction, size):
                if target in filling:
                    break
                if target in camp.cells:
                    moves.append((f"{name}-{square_name(target, size)}", left | {target}))
                elif target in variant.regions.free_cells:
                    leaves = True
                else:
                    break
        if leaves:
            moves.append((f"{name} leaves", left))
    return moves


def shortest_line(graph: nx.DiGraph[Filling], start: Filling, goal: Filling) -> list[str]:
    """Return the moves of a shortest way from one filling to another."""
    path = nx.shortest_path(graph, start, goal)
    return [graph.edges[edge]["move"] for edge in pairwise(path)]


# -- tablut among other games: Table 1 of the paper regenerated, and today's figures -----


class ComparedGame(Result):
    """One row of the comparison."""

    name: str
    published: tuple[str, ...]
    published_solution: str
    today: str
    error: str | None = None
    kind: str
    solution: str
    source: str
    remark: str

    @property
    def size(self) -> Decimal:
        """Today's figure as a number, to order the games by."""
        return Decimal(self.today)


@cache
def published_games() -> tuple[ComparedGame, ...]:
    """Return the other games of Table 1, in its order."""
    text = (resources.files("counting") / "data" / "comparison.toml").read_text(encoding="utf-8")
    return tuple(ComparedGame.model_validate(game) for game in tomllib.loads(text)["games"])


def compare(published: str, corrected: int) -> list[ComparedGame]:
    """Return all games in the order of today's figures, Tablut among them."""
    tablut = ComparedGame(
        name="Tablut",
        published=(published,),
        published_solution="no",
        today=str(corrected),
        kind="upper bound, corrected",
        solution="no",
        source="this project: `tablut bounds`",
        remark=f"{scientific(corrected)} where the paper prints {published}",
    )
    return sorted([tablut, *published_games()], key=lambda game: game.size)
