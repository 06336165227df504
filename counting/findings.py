"""Errors, omissions and outdated claims in Galassi's complexity paper, each with its evidence."""

from __future__ import annotations

import tomllib
from collections import deque
from dataclasses import replace
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from counting.paper import PaperEquations, Product, Subspace, is_rounded
from counting.spaces import FINAL
from tablut.position import square_name
from tablut.results import Result, scientific
from tablut.variants.model import DIRECTIONS, Camp, ray

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counting.exclusions.counts import ExclusionRecord
    from tablut.variants import Variant

Evidence = dict[str, str | int | list[str]]


class Finding(Result):
    """One point where the paper is wrong, incomplete or outdated."""

    id: str
    kind: Literal["misprint", "omission", "overcount", "refuted", "scope", "outdated"]
    statement: str
    status: Literal["proved", "computed", "quoted"]
    evidence: Evidence


def find(paper: PaperEquations, values: Mapping[str, int], record: ExclusionRecord | None = None) -> list[Finding]:
    """Return the findings about the paper, or an empty list for games other than the paper's own."""
    if not paper.is_the_papers:
        return []
    numbers = {id_: scientific(paper[id_].value()) for id_ in ("eq13", "eq14")}
    evidence = _evidence(paper, values)
    if record is not None:
        numbers |= {"sets": str(sum(size.sets for size in record.sets)), "pieces": str(record.pieces)}
        left = record.of("no_end").placements
        evidence["locked-sets"] = {
            "eq6": str(paper["eq6"].value()),
            "with_a_locked_set": str(values["no_end"] - values["excluded_no_end"] - left),
            "left": str(left),
        }
    return [
        Finding(**finding | {"statement": finding["statement"].format(**numbers)}, evidence=evidence[finding["id"]])
        for finding in _data("findings", "findings")
        if finding["id"] in evidence
    ]


def _data(file: str, table: str) -> list[dict[str, Any]]:
    """Return a table from a TOML file in the package's ``data`` folder."""
    text = (resources.files("counting") / "data" / f"{file}.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)[table])


def _evidence(paper: PaperEquations, values: Mapping[str, int]) -> dict[str, Evidence]:
    """Return the evidence for each finding, except the one about locked sets."""
    exact = {id_: equation.value() for id_, equation in paper.equations.items()}
    evidence: dict[str, Evidence] = {
        id_: {name: value if isinstance(value, list) else str(value) for name, value in proofs.items()}
        for id_, proofs in (_of_print(paper, exact) | _of_spaces(paper, exact, values)).items()
    }
    camps = paper.variant.regions.camps
    return evidence | {"four-groups-in-all": {"camps": len(camps), "camp_cells": len(paper.variant.regions.camp_cells)}}


def _of_print(paper: PaperEquations, exact: Mapping[str, int]) -> dict[str, dict[str, object]]:
    """Return the evidence about numbers and remarks printed or quoted in the paper."""
    variant, camps = paper.variant, paper.variant.regions.camps
    # Raising the upper limit on the number of attackers by one produces the value printed for equation (12).
    printed, (limit_of_12,) = paper["eq12"].published, paper["eq12"].parts
    assert printed is not None
    assert isinstance(limit_of_12, Subspace)
    with_15 = replace(limit_of_12, attackers=range(limit_of_12.attackers.stop + 1)).value()
    fits = [name for name, changed in _single_changes(limit_of_12).items() if is_rounded(changed.value(), printed)]
    fillings = [camp_fillings(variant, camp) for camp in camps]
    southern = camps[-1].cells
    middle = next(cell for cell in southern if len(southern & {*variant.regions.neighbours(cell)}) == 3)
    morris, chess = (next(game for game in published_games() if name in game.name) for name in ("Morris", "Chess"))
    assert chess.error is not None
    return {
        "eq12-upper-limit": {
            "published": printed,
            "printed_formula": exact["eq12"],
            "with_limit_15": with_15,
            "changes_of_one_number_that_give_the_published_value": fits,
        },
        "eq13-eq14-totals": {
            "eq13": exact["eq13"],
            "eq14": exact["eq14"],
            "eq13_with_limit_15_in_eq12": exact["eq13"] + with_15 - exact["eq12"],
            "eq14_with_limit_15_in_eq12": exact["eq14"] + with_15 - exact["eq12"],
        },
        "camp-ends-remark": {
            "fillings": [
                f"{len(lines)} of {2 ** len(camp.cells)}" for lines, camp in zip(fillings, camps, strict=True)
            ],
            "camp": sorted(square_name(cell, variant.size) for cell in southern),
            "to_three_ends_without_the_middle": fillings[-1][southern - {middle}],
        },
        "morris-is-naive": {"published": morris.published[0], "3^24": 3**24, "source": morris.source},
        "chess-1e43-is-no-bound": {
            "published": list(chess.published),
            "estimate": f"{chess.today} ± {chess.error} at 95 %",
            "lowest_over_1e43": (Decimal(chess.today) - Decimal(chess.error)) / Decimal("1e43"),
            "source": chess.source,
        },
    }


def _of_spaces(
    paper: PaperEquations, exact: Mapping[str, int], values: Mapping[str, int]
) -> dict[str, dict[str, object]]:
    """Return the evidence about placements that the paper counts more than once or not at all."""
    final, size = sum(values[name] for name in FINAL), paper.variant.size
    # The paper omits the patterns in which two soldiers capture a king next to a camp, along the axis that does not
    # touch the camp.
    past_terrain = paper.patterns["past_terrain"]
    missing = sum(part.value() for part in paper.captured(past_terrain))
    by_pattern = sum(exact[f"eq{n}"] for n in (9, 10, 11, 12))
    (naive,) = paper["eq1"].parts
    assert isinstance(naive, Product)
    (_, castle), (_, camp), (_, soldiers_only), (_, kings) = naive.factors
    return {
        "camp-front-two-soldiers": {
            "king_cells": [square_name(king, size) for king, _ in past_terrain],
            "attackers": [
                " ".join(square_name(cell, size) for cell in sorted(pattern.attackers)) for _, pattern in past_terrain
            ],
            "missing_term": missing,
        },
        "captures-counted-twice": {
            "eq9_to_eq12": by_pattern,
            "with_the_missing_patterns": by_pattern + missing,
            "each_placement_once": values["king_captured"],
            "counted_too_often": by_pattern + missing - values["king_captured"],
        },
        "captured-kings-are-in-eq6": {
            "labelled": exact["eq6"] + final,
            "distinct": exact["eq6"] + final - values["king_captured"],
        },
        "escape-takes-the-last-attacker": {
            "missing_term": values["escaped_last"],
            "of_these_some_arrival_captures": values["escaped_last"] - values["excluded_escaped_last"],
        },
        "escape-beside-a-doomed-attacker": {
            "eq8": exact["eq8"],
            "impossible": values["excluded_escaped"],
            "possible": values["escaped"] - values["excluded_escaped"],
        },
        "besieged-on-the-castle": {"counted_in_eq4": values["excluded_no_end"], "eq9": exact["eq9"]},
        "king-alone-on-the-castle": {"eq7": exact["eq7"], "impossible": values["excluded_all_captured"]},
        "no-side-to-move": {
            "labelled_with_side_to_move": 2 * exact["eq6"] + final,
            "labelled_without": exact["eq6"] + final,
        },
        "naive-bound-has-many-kings": {
            "eq1": exact["eq1"],
            "exactly_one_king": 2**camp * 3**soldiers_only * (castle * 3**kings + kings * 3 ** (kings - 1)),
        },
    }


def _single_changes(part: Subspace) -> dict[str, Subspace]:
    """Return copies of a subspace with one number of its formula changed, keyed by a description of the change."""
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


# -- fillings of a camp: the sets of its cells that can be occupied during a game


FilledCells = frozenset[int]


def camp_fillings(variant: Variant, camp: Camp) -> dict[FilledCells, list[str]]:
    """Return the fillings that can arise from the full camp, each with the moves of a shortest line to it."""
    lines: dict[FilledCells, list[str]] = {camp.cells: []}
    pending = deque(lines)
    while pending:
        filling = pending.popleft()
        for move, following in reversed(_moves(variant, camp, filling)):
            if following not in lines:
                lines[following] = [*lines[filling], move]
                pending.append(following)
    return lines


def _moves(variant: Variant, camp: Camp, filling: FilledCells) -> list[tuple[str, FilledCells]]:
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


# -- comparison with other games: Table 1 of the paper, with current figures -------------


class ComparedGame(Result):
    """A game in the comparison, including the paper's figures and the current ones."""

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
        """The current figure as a number. The games are sorted by this number."""
        return Decimal(self.today)


@cache
def published_games() -> tuple[ComparedGame, ...]:
    """Return the other games in Table 1 of the paper, in the table's order."""
    return tuple(ComparedGame.model_validate(game) for game in _data("comparison", "games"))


class PublishedEstimate(Result):
    """A published estimate of the size of a state space, and the variants that it applies to."""

    variants: tuple[str, ...]
    figure: str
    how: str
    source: str


@cache
def published_estimates() -> tuple[PublishedEstimate, ...]:
    """Return the estimates published elsewhere for games of the tafl family."""
    return tuple(PublishedEstimate.model_validate(estimate) for estimate in _data("estimates", "estimates"))


def compare(published: str, labelled: int, placements: int) -> list[ComparedGame]:
    """Return all games, including Tablut, sorted by their current figures. The figure of Tablut is its placements."""
    tablut = ComparedGame(
        name="Tablut",
        published=(published,),
        published_solution="no",
        today=str(placements),
        kind="upper bound on placements",
        solution="no",
        source="this project: `tablut bounds`",
        remark=f"{scientific(labelled)} labelled states where the paper prints {published}",
    )
    return sorted([tablut, *published_games()], key=lambda game: game.size)
