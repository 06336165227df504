"""The page on the complexity bounds: equations, findings, better bounds, all variants."""

from __future__ import annotations

import re
from functools import cache
from math import log10
from typing import TYPE_CHECKING, Any

from counting.complexity import BoundsReport, bounds
from counting.exclusions.sets import LockedSet, locked_sets, orbits_of_sets
from counting.paper import PaperEquations
from reports.reachable import share
from reports.rendering import Artefact, drawing, figure, json_data, page
from tablut import svg
from tablut.notation import square_name
from tablut.position import Position
from tablut.results import scientific
from tablut.variants import load_variant
from tablut.variants.library import shipped_variants

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tablut.variants import Variant

_DRAWN = 3
"""Locked sets of at most so many pieces are drawn, one of each orbit, without those that differ by a king."""
_PIXELS = 170


@cache
def every_bound() -> list[BoundsReport]:
    """Return the bounds of all rule sets that ship; two pages show them."""
    return [bounds(variant) for variant in shipped_variants()]


def artefacts() -> list[Artefact]:
    """Return the files of the page on the bounds."""
    every = every_bound()
    paper = next(report for report in every if report.findings)
    variant = load_variant(paper.variant)
    equations = PaperEquations(variant).equations
    orbits = orbits_of_sets(locked_sets(variant, _DRAWN), variant.symmetries)
    drawn = [(found, images) for found, images in orbits if all(piece != "K" for _, piece in found)]
    return [
        page(
            "bounds.md",
            "bounds.md.j2",
            report=paper,
            share=share(paper.variant),
            every=every,
            latex={id_: equation.latex() for id_, equation in equations.items()},
            locked=[{"squares": _squares(variant, found), "images": images} for found, images in drawn],
        ),
        json_data("data/bounds.json", {"bounds": [_data(report) for report in every]}),
        figure(
            "figures/bounds-spaces.svg",
            _draw_spaces,
            _spaces_data(paper),
            "The sizes of the spaces, exact and as published",
        ),
        figure(
            "figures/bounds-material.svg",
            _draw_material,
            _material_data(paper),
            "Labelled states by attackers and defenders",
        ),
        *(
            drawing(f"figures/locked-{place}.svg", _draw_set(variant, found))
            for place, (found, _) in enumerate(drawn, start=1)
        ),
    ]


def _squares(variant: Variant, found: LockedSet) -> list[str]:
    return [f"{piece} {square_name(cell, variant.size)}" for cell, piece in sorted(found)]


def _draw_set(variant: Variant, found: LockedSet) -> str:
    """Draw a locked set on an otherwise empty board."""
    size, pieces = variant.size, dict(found)
    rows = ("".join(pieces.get(rank * size + file, ".") for file in range(size)) for rank in reversed(range(size)))
    text = re.sub(r"\.+", lambda empty: str(len(empty[0])), "/".join(rows))
    position = Position.parse(f"{text} w", size)
    return svg.board(variant, position, highlights=sorted(pieces), pixels=_PIXELS)


def _data(report: BoundsReport) -> dict[str, Any]:
    """Everything about the paper's rules; of the others all but the counts by material, which are many."""
    return report.model_dump(mode="json", exclude=None if report.findings else {"material"})


def _spaces_data(report: BoundsReport) -> list[list[Any]]:
    """Rows of label, exact value, published value or None, agreement or None; all values as strings."""
    rows: list[list[Any]] = [
        [f"{term.equation} {term.description}", str(term.exact), term.published, term.agrees] for term in report.terms
    ]
    for name, counts in (("corrected", report.corrected), ("tightened", report.tightened)):
        rows.append([f"{name}: labelled states", str(counts.total), None, None])
        rows.append([f"{name}: distinct placements", str(counts.distinct), None, None])
    rows.append(["tightened: distinct, up to symmetry", str(report.classes_tightened.distinct), None, None])
    return rows


def _draw_spaces(rows: list[list[Any]]) -> Figure:
    """Draw all sizes on a logarithmic scale, and the totals, which it does not tell apart, on a linear one."""
    from matplotlib.figure import Figure

    colours = ["#4c78a8" if agrees is None else "#54803c" if agrees else "#c0392b" for *_, agrees in rows]
    figure = Figure(figsize=(7.6, 8.6))
    whole, near = figure.subplots(2, 1, height_ratios=[2.6, 1], gridspec_kw={"hspace": 0.28})
    for place, ((_, exact, published, _), colour) in enumerate(zip(rows, colours, strict=True)):
        size = log10(int(exact))
        whole.plot([0, size], [place, place], color=colour, linewidth=1.2, alpha=0.45)
        whole.plot(size, place, "o", color=colour, markersize=5.5)
        if published is not None:
            whole.plot(log10(float(published)), place, "|", color="black", markersize=13, markeredgewidth=1.4)
        whole.text(size + 0.8, place, scientific(int(exact), 4), va="center", fontsize=7.5)
    whole.set_yticks(range(len(rows)), [row[0] for row in rows])
    whole.invert_yaxis()
    whole.set_xlim(0, 50)
    whole.set_xlabel("number of placements, powers of ten")
    whole.set_title("All spaces", loc="left", fontsize=9, fontweight="bold")
    marks = [
        *whole.plot([], [], "o", color="#54803c", label="exact, agrees with print"),
        *whole.plot([], [], "o", color="#c0392b", label="exact, does not agree"),
        *whole.plot([], [], "o", color="#4c78a8", label="beyond the paper"),
        *whole.plot([], [], "|", color="black", markersize=11, markeredgewidth=1.4, label="as published"),
    ]
    whole.legend(handles=marks, loc="center right", bbox_to_anchor=(1, 0.62), frameon=False)

    # On a logarithmic scale the totals are one; here they are apart. The paper's last equation is its total.
    least, most = 0.7e27, 1.45e27
    last = max(place for place, row in enumerate(rows) if row[2] is not None)
    near_rows = list(zip(rows, colours, strict=True))[last:]
    totals = [(row, colour) for row, colour in near_rows if least < int(row[1]) < most]
    for place, ((_, exact, published, _), colour) in enumerate(totals):
        size = int(exact) / 1e27
        near.plot(size, place, "o", color=colour, markersize=7)
        near.text(size, place - 0.36, f"{size:.4f}", ha="center", va="center", fontsize=8)
        if published is not None:
            near.plot(float(published) / 1e27, place, "|", color="black", markersize=15, markeredgewidth=1.6)
            near.text(float(published) / 1e27, place - 0.45, "printed", ha="center", va="center", fontsize=7.5)
    near.set_yticks(range(len(totals)), [row[0] for row, _ in totals])
    near.set_ylim(len(totals) - 0.5, -0.8)
    near.set_xlim(least / 1e27, most / 1e27)
    near.set_xlabel("number of placements, units of 10\u00b2\u2077")
    near.set_title("The totals, near to each other", loc="left", fontsize=9, fontweight="bold")
    near.grid(axis="x", color="#dddddd", linewidth=0.6)
    near.set_axisbelow(True)
    for axes in (whole, near):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _material_data(report: BoundsReport) -> list[list[str]]:
    attackers = max(pair.attackers for pair in report.material)
    rows = [["0"] * (max(pair.defenders for pair in report.material) + 1) for _ in range(attackers + 1)]
    for pair in report.material:
        rows[pair.attackers][pair.defenders] = str(pair.total)
    return rows


def _draw_material(rows: list[list[str]]) -> Figure:
    """Draw the number of labelled states by material as a heat map, the shares above 0.1 % written in."""
    from matplotlib.figure import Figure

    values = [[int(count) for count in row] for row in rows]
    total = sum(map(sum, values))
    exponents = [[log10(count) if count else float("nan") for count in row] for row in values]
    figure = Figure(figsize=(5.6, 5.6))
    axes = figure.subplots()
    image = axes.imshow(exponents, origin="lower", aspect="auto", cmap="viridis")
    brightest = max(max(row) for row in exponents)
    for attackers, row in enumerate(values):
        for defenders, count in enumerate(row):
            if 1000 * count >= total:
                colour = "black" if exponents[attackers][defenders] > brightest - 6 else "white"
                text = f"{100 * count / total:.1f} %"
                axes.text(defenders, attackers, text, ha="center", va="center", fontsize=6.5, color=colour)
    axes.set_xticks(range(len(values[0])))
    axes.set_yticks(range(len(values)))
    axes.set_xlabel("defenders on the board")
    axes.set_ylabel("attackers on the board")
    figure.colorbar(image, label="labelled states, powers of ten")
    return figure
