"""Page on the census: how many positions can be reached, and how this compares with the bounds.

The page is rendered from stored output of `tablut census --json` in ``reports/data/census``.
"""

from __future__ import annotations

from typing import Any

from counting.census.report import CensusReport, CountedPly, Ply
from reports.rendering import (
    REDUCED_BOARDS,
    Artefact,
    Figure,
    axes_of,
    draw_shares,
    figure,
    hold,
    page,
    read_stored_all,
)
from tablut.variants import variant_names


def results() -> dict[str, dict[str, Any]]:
    """Return the stored censuses by variant, in page order. Variants without stored data are left out."""
    return read_stored_all("census", (*_growing(), *REDUCED_BOARDS), CensusReport, _check)


def _growing() -> list[str]:
    """Return the names of the full games. Only their first plies can be counted."""
    return [name for name in variant_names() if name not in REDUCED_BOARDS]


def _check(stored: CensusReport, name: str) -> None:
    """Check a census for internal consistency."""
    hold(stored.variant == name, f"variant: {stored.variant!r} is the wrong one")
    if [ply.ply for ply in stored.plies] != list(range(len(stored.plies))) or not stored.plies:
        raise ValueError("plies: are not numbered from 0")
    for total, part in (
        ("total", "new"),
        ("total_classes", "new_classes"),
        ("decided_total", "decided"),
        ("decided_total_classes", "decided_classes"),
    ):
        if getattr(stored, total) != sum(getattr(ply, part) for ply in stored.plies):
            raise ValueError(f"{total}: is not the sum of its plies")
    hold(stored.complete == (name in REDUCED_BOARDS), f"complete: {stored.complete} is wrong here")
    if stored.complete and stored.total != sum(pair.reached for pair in stored.material):
        raise ValueError("material: does not add up to the total")
    if stored.bound < max(1, stored.total) or any(pair.ratio is None or not pair.bound for pair in stored.material):
        raise ValueError("bound: does not cover the reached positions")
    if (counted := stored.counted) is not None:
        _check_counted(counted, stored.plies)
    if (graph := stored.graph) is not None and not 0 < graph.undecided <= graph.nodes:
        raise ValueError("graph: has too few nodes")


def _check_counted(counted: CountedPly, plies: list[Ply]) -> None:
    """Check that a ply that was counted but not stored is consistent with its hundredths and the other plies."""
    numbers = [each.number for each in counted.hundredths]
    if numbers != sorted(set(numbers)) or not numbers or not (0 <= numbers[0] <= numbers[-1] < 100):
        raise ValueError("counted: has no hundredths, or some twice")
    if counted.whole != (len(numbers) == 100) or counted.ply != len(plies) - counted.whole or not counted.agrees:
        raise ValueError("counted: is inconsistent")
    for name in ("children", "new", "new_classes", "decided", "decided_classes"):
        total = sum(getattr(each, name) for each in counted.hundredths)
        if total != getattr(counted, name) or (counted.whole and total != getattr(plies[-1], name)):
            raise ValueError(f"counted: {name} is not the sum of its hundredths")
    if any(not each.low <= each.value <= each.high for each in counted.estimates):
        raise ValueError("counted: an estimate is outside its interval")


def artefacts() -> list[Artefact]:
    """Return the files for the page on the census."""
    found = results()
    growing = [found[name] for name in _growing() if name in found]
    complete = [found[name] for name in REDUCED_BOARDS if name in found]
    return [
        page("census.md", "census.md.j2", growing=growing, complete=complete),
        figure(
            "figures/census-growth.svg",
            _draw_growth,
            _together([_growth(result) for result in growing]),
            "New positions of the full games, ply by ply",
        ),
        figure(
            "figures/census-bounds.svg",
            _draw_bounds,
            [_share(result) for result in complete],
            "The share of the bound that is reached",
        ),
        figure(
            "figures/census-plies.svg",
            _draw_growth,
            [_growth(result) for result in complete],
            "New positions of reduced boards, ply by ply",
        ),
        figure(
            "figures/census-graph.svg",
            _draw_graph,
            [_parts(result) for result in complete if result["graph"]],
            "Where play can go",
        ),
    ]


def _growth(result: dict[str, Any]) -> dict[str, Any]:
    plies = [ply for ply in result["plies"] if ply["new"]]
    return {
        "variant": result["variant"],
        "new": [ply["new"] for ply in plies],
        "classes": [ply["new_classes"] for ply in plies],
    }


def _together(curves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge coinciding curves, and return the curves in order of decreasing length."""
    found: list[dict[str, Any]] = []
    for curve in sorted(curves, key=lambda curve: -len(curve["new"])):
        same = [other for other in found if other["new"][: len(curve["new"])] == curve["new"]]
        if same:
            same[0]["variant"] += f", {curve['variant']}"
        else:
            found.append(curve)
    return found


def _draw_growth(curves: list[dict[str, Any]]) -> Figure:
    """Draw each ply's new positions on a logarithmic scale, and a dashed line for their number up to symmetry."""
    figure, axes = axes_of(6.6, 4.2)
    for curve in curves:
        plies = range(len(curve["new"]))
        (line,) = axes.plot(plies, curve["new"], "o-", markersize=3.5, label=curve["variant"])
        axes.plot(plies, curve["classes"], "--", color=line.get_color(), linewidth=1)
    axes.set(yscale="log", xlabel="ply", ylabel="positions first reached (dashed: up to symmetry)")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _share(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "variant": result["variant"],
        "total": str(result["total"]),
        "bound": result["bound"],
    }


def _draw_bounds(shares: list[dict[str, Any]]) -> Figure:
    """Draw the reachable share of each board's bound."""
    bars = [(share["variant"], int(share["total"]) / int(share["bound"])) for share in shares]
    return draw_shares(bars, "reachable undecided positions, percent of the bound", "#e6ddc9")


def _parts(result: dict[str, Any]) -> dict[str, Any]:
    """Return the number of classes in each part of a state graph.

    The parts are the classes from which the start can be reached again, the largest other strongly connected component,
    all other undecided classes, and the decided classes.
    """
    graph = result["graph"]
    returning, largest = graph["returning"], graph["largest_component"]
    other_loop = 0 if largest == returning else largest
    return {
        "variant": result["variant"],
        "from them the start can recur": returning,
        "in the largest loop that never leads back": other_loop,
        "other undecided ones": graph["undecided"] - returning - other_loop,
        "decided": graph["nodes"] - graph["undecided"],
    }


def _draw_graph(boards: list[dict[str, Any]]) -> Figure:
    """Draw each state graph's parts as shares of its classes."""
    figure, axes = axes_of(6.6, 0.6 * len(boards) + 1.3)
    names = [name for name in boards[0] if name != "variant"]
    for name, colour in zip(names, ["#54803c", "#2f6f8f", "#c9b98f", "#a0522d"], strict=True):
        left = [sum(board[other] for other in names[: names.index(name)]) for board in boards]
        totals = [sum(board[other] for other in names) for board in boards]
        axes.barh(
            range(len(boards)),
            [100 * board[name] / total for board, total in zip(boards, totals, strict=True)],
            left=[100 * start / total for start, total in zip(left, totals, strict=True)],
            color=colour,
            height=0.6,
            label=name,
        )
    axes.set_yticks(range(len(boards)), [board["variant"] for board in boards])
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="classes, percent")
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2, fontsize=8)
    return figure
