"""Pages on solved boards: who wins, how long it takes, and the line of best play.

They are rendered from the stored output of `tablut solve --json` in ``reports/data/solutions``.
"""

from __future__ import annotations

from typing import Any

from reports.rendering import (
    REDUCED_BOARDS,
    Artefact,
    Figure,
    axes_of,
    check_line,
    drawing,
    figure,
    hold,
    page,
    read_stored_all,
)
from retrograde.solver.solver_report import SolveReport
from retrograde.solver.tier_graph import generations, tier_graph
from tablut.position import Move, Position
from tablut.results import grouped
from tablut.strip import draw_strip
from tablut.variants import load_variant


def results() -> dict[str, dict[str, Any]]:
    """Return the stored solutions by variant, in page order. Variants without stored data are left out."""
    return read_stored_all("solutions", REDUCED_BOARDS, SolveReport, _check)


def _check(stored: SolveReport, name: str) -> None:
    """Check a solution for internal consistency and replay its lines."""
    hold(stored.variant == name, f"variant: {stored.variant!r} is the wrong one")
    hold(stored.value in ("white", "black", "draw", "unresolved"), f"value: {stored.value!r} is not a value")
    for unit, both in (("positions", stored), ("classes", stored.by_class)):
        counts = [*vars(both.white_to_move).values(), *vars(both.black_to_move).values()]
        if sum(counts) != getattr(stored, unit) or sum(getattr(tier, unit) for tier in stored.tiers) != sum(counts):
            raise ValueError(f"{unit}: is not the sum of its parts")
    if stored.bound < max(1, stored.positions) or any(not tier.bound for tier in stored.tiers):
        raise ValueError("bound: does not cover the reached positions")
    if stored.longest is None or stored.mutual_zugzwangs.keys() != {"full", "half"}:
        raise ValueError("longest or mutual_zugzwangs: is missing")
    for line in (stored.start, stored.longest):
        check_line(name, line.position, line.line)


def artefacts() -> list[Artefact]:
    """Return the files for the pages on solved boards."""
    found = results()
    files = [page("solutions.md", "solutions.md.j2", boards=list(found.values()))]
    files.append(
        figure("figures/tiers.svg", _draw_tiers, _tiers("ashton", 5), "The tiers of ashton with at most five men")
    )
    for name, result in found.items():
        files.append(page(f"solutions/{name}.md", "solution.md.j2", board=result))
        files.append(
            figure(f"figures/solution-{name}.svg", _draw_distances, _distances(result), f"How far the end is: {name}")
        )
        variant = load_variant(name)
        for which in ("start", "longest"):
            line = result[which]
            strip = draw_strip(
                variant,
                Position.parse(line["position"], variant.size),
                [Move.parse(move, variant.size) for move in line["line"]],
                columns=6,
                pixels=150,
            )
            files.append(drawing(f"figures/solution-{name}-{which}.svg", strip))
    return files


def _distances(result: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{side} to move, {wdl}": [
            [count["dtm"], count["classes"]]
            for count in result["distances"]
            if (count["side"], count["wdl"]) == (side, wdl)
        ]
        for side in ("white", "black")
        for wdl in ("win", "loss")
    }


def _draw_distances(curves: dict[str, list[list[int]]]) -> Figure:
    """Draw the number of classes at each distance from the end of the game, on a logarithmic scale."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = axes_of(6.6, 3.4)
    for (name, counts), colour in zip(curves.items(), ["#54803c", "#c0392b", "#2f6f8f", "#c08a1e"], strict=True):
        if counts:
            axes.plot(*zip(*counts, strict=True), "o-", color=colour, markersize=3.5, linewidth=1, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(yscale="log", xlabel="plies to the end", ylabel="classes")
    axes.legend(frameon=False)
    return figure


def _tiers(name: str, men: int) -> dict[str, Any]:
    graph = tier_graph(load_variant(name), men)
    return {
        "generations": [[list(material) for material in tiers] for tiers in generations(graph)],
        "edges": [[list(upper), list(lower)] for upper, lower in graph.edges],
        "positions": [[list(material), graph.nodes[material]["positions"]] for material in graph],
    }


def _draw_tiers(data: dict[str, Any]) -> Figure:
    """Draw the tiers with few men as boxes with their numbers of positions, and captures as arrows between boxes."""
    figure, axes = axes_of(6.6, 4.6)
    sizes = {tuple(material): size for material, size in data["positions"]}
    places = {}
    for height, tiers in enumerate(data["generations"]):
        for number, material in enumerate(tiers):
            places[tuple(material)] = (number - (len(tiers) - 1) / 2, height)
    boxes = {}
    for material, (x, y) in places.items():
        text = f"{material[0]} v {material[1]}\n{grouped(sizes[material])}"
        box = {"boxstyle": "round,pad=0.4", "facecolor": "#f4ecd8", "edgecolor": "#7a6a45"}
        boxes[material] = axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    for upper, lower in data["edges"]:
        # An arrow is cut off where the boxes at its ends begin.
        ends = {"patchA": boxes[tuple(upper)].get_bbox_patch(), "patchB": boxes[tuple(lower)].get_bbox_patch()}
        start, end = places[tuple(upper)], places[tuple(lower)]
        # Where several men are captured at once a generation is passed by: the arrow goes round its box.
        bend = 0.0 if abs(start[1] - end[1]) == 1 else 0.5 if end[0] > start[0] else -0.5
        arrow = {"arrowstyle": "-|>", "color": "#a3926a", "lw": 0.9, "shrinkA": 0, "shrinkB": 1, **ends}
        arrow["connectionstyle"] = f"arc3,rad={bend}"
        axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=4)
    axes.set_xlim(min(x for x, _ in places.values()) - 0.6, max(x for x, _ in places.values()) + 0.6)
    axes.set_ylim(-0.5, len(data["generations"]) - 0.5)
    axes.axis("off")
    return figure
