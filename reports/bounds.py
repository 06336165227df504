"""The pages on all variants' complexity bounds and on the tafl family."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from math import log10
from typing import Any, NamedTuple

from counting.complexity import BoundsReport, bounds
from counting.exclusions.sets import LockedSet, locked_sets, orbits_of_sets
from counting.findings import published_estimates
from reports.reachable import share
from reports.rendering import REDUCED_BOARDS, Artefact, Figure, axes_of, drawing, figure, json_data, page
from tablut import svg
from tablut.position import Position, square_name
from tablut.results import scientific
from tablut.variants import Variant, load_variant
from tablut.variants.library import older_variants, shipped_variants

_DRAWN = 3
"""Maximum number of pieces in the locked sets that are drawn.

One set from each orbit is drawn; sets with a king are left out.
"""
_PIXELS = 170


@cache
def every_bound() -> list[BoundsReport]:
    """Return the older rule sets' bounds. Two pages show these bounds."""
    return [bounds(variant) for variant in older_variants()]


def artefacts() -> list[Artefact]:
    """Return the files for the pages on the bounds and the tafl family."""
    every = every_bound()
    others = [bounds(variant) for variant in shipped_variants() if variant not in older_variants()]
    paper = next(report for report in every if report.findings)
    variant = load_variant(paper.variant)
    orbits = orbits_of_sets(locked_sets(variant, _DRAWN), variant.symmetries)
    drawn = [(found, images) for found, images in orbits if all(piece != "K" for _, piece in found)]
    return [
        page(
            "bounds.md",
            "bounds.md.j2",
            report=paper,
            share=share(paper.variant),
            every=every,
            latex={term.id: term.latex for term in paper.terms},
            locked=[{"squares": _squares(variant, found), "images": images} for found, images in drawn],
        ),
        json_data("data/bounds.json", {"bounds": [_data(report) for report in every + others]}),
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
        *_family_page(every + others),
        *(
            drawing(f"figures/locked-{place}.svg", _draw_set(variant, found))
            for place, (found, _) in enumerate(drawn, start=1)
        ),
    ]


class FamilyGame(NamedTuple):
    """A full game, its bounds, and the published estimates of its size."""

    title: str
    variant: Variant
    report: BoundsReport
    quoted: list[str]


def _family_page(every: list[BoundsReport]) -> list[Artefact]:
    """Return the files for the page on the tafl family, which lists the full games in order of board size."""
    estimates = published_estimates()
    games = []
    for report in every:
        if report.variant not in REDUCED_BOARDS:
            variant, printed = load_variant(report.variant), report.term("eq14").published
            quoted = [estimate.figure for estimate in estimates if report.variant in estimate.variants]
            games.append(FamilyGame(variant.title, variant, report, [*([printed] if printed else []), *quoted]))
    games.sort(key=lambda game: (game.variant.size, game.report.corrected.distinct))
    data = [[game.variant.size, game.variant.name, str(game.report.corrected.distinct), *game.quoted] for game in games]
    drawn = figure("figures/family-spaces.svg", _draw_family, data, "The state spaces of the tafl family")
    left_in = Counter(what for game in games for what in game.report.left_in)
    return [page("family.md", "family.md.j2", games=games, estimates=estimates, left_in=[*left_in]), drawn]


def _draw_family(rows: list[list[Any]]) -> Figure:
    """Draw each game's bound on a logarithmic scale, with published estimates and a band for each board size."""
    figure, axes = axes_of(7.6, 0.34 * len(rows) + 1.1)
    sizes = sorted({size for size, *_ in rows})
    for place, (size, _, exact, *quoted) in enumerate(rows):
        powers = log10(int(exact))
        axes.axhspan(place - 0.5, place + 0.5, color="white" if sizes.index(size) % 2 else "#f3f0ea", zorder=0)
        axes.plot([0, powers], [place, place], color="#4c78a8", linewidth=1.2, alpha=0.45)
        axes.plot(powers, place, "o", color="#4c78a8", markersize=6)
        label, end = scientific(int(exact), 4), powers
        for found in quoted:
            other = log10(float(found))
            axes.plot(other, place, "|", color="black", markersize=13, markeredgewidth=1.5)
            if other > powers + 4:
                axes.text(other + 1.4, place, found, va="center", fontsize=7.5)
            else:
                label, end = f"{label} (others: {found})", max(end, other)
        axes.text(end + 1.6, place, label, va="center", fontsize=7.5)
    axes.set_yticks(range(len(rows)), [f"{name}   {size}\u00d7{size}" for size, name, *_ in rows])
    axes.set(ylim=(len(rows) - 0.5, -0.5), xlim=(0, 116), xlabel="distinct placements, powers of ten")
    axes.plot([], [], "o", color="#4c78a8", label="exact upper bound")
    axes.plot([], [], "|", color="black", markersize=11, markeredgewidth=1.5, label="figures of others")
    axes.legend(loc="upper right", frameon=False)
    return figure


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
    """Return a report as plain data. The counts by material are included only for the paper's rules."""
    left_out = ["digest", "counts"] if report.findings else ["digest", "counts", "material"]
    exclude: dict[str, Any] = dict.fromkeys(left_out, True) | {"terms": {"__all__": {"formula", "latex"}}}
    return report.model_dump(mode="json", exclude=exclude)


def _spaces_data(report: BoundsReport) -> list[list[Any]]:
    """Return rows with a label, the exact and the published value as strings, and whether they agree.

    The last two items are None if no value was published.
    """
    rows: list[list[Any]] = [
        [f"{term.equation} {term.description}", str(term.exact), term.published, term.agrees] for term in report.terms
    ]
    for name, counts in (("corrected", report.corrected), ("tightened", report.tightened)):
        rows.append([f"{name}: labelled states", str(counts.total), None, None])
        rows.append([f"{name}: distinct placements", str(counts.distinct), None, None])
    rows.append(["tightened: distinct, up to symmetry", str(report.classes_tightened.distinct), None, None])
    return rows


def _draw_spaces(rows: list[list[Any]]) -> Figure:
    """Draw all sizes on a logarithmic scale. The totals coincide there, so they are also drawn on a linear scale."""
    colours = ["#4c78a8" if agrees is None else "#54803c" if agrees else "#c0392b" for *_, agrees in rows]
    figure, (whole, near) = axes_of(7.6, 8.6, 2, 1, height_ratios=[2.6, 1], gridspec_kw={"hspace": 0.28})
    for place, ((_, exact, published, _), colour) in enumerate(zip(rows, colours, strict=True)):
        size = log10(int(exact))
        whole.plot([0, size], [place, place], color=colour, linewidth=1.2, alpha=0.45)
        whole.plot(size, place, "o", color=colour, markersize=5.5)
        if published is not None:
            whole.plot(log10(float(published)), place, "|", color="black", markersize=13, markeredgewidth=1.4)
        whole.text(size + 0.8, place, scientific(int(exact), 4), va="center", fontsize=7.5)
    whole.set_yticks(range(len(rows)), [row[0] for row in rows])
    whole.invert_yaxis()
    whole.set(xlim=(0, 50), xlabel="number of placements, powers of ten")
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
    near.set(ylim=(len(totals) - 0.5, -0.8), xlim=(least / 1e27, most / 1e27))
    near.set_xlabel("number of placements, units of 10\u00b2\u2077")
    near.set_title("The totals, near to each other", loc="left", fontsize=9, fontweight="bold")
    near.grid(axis="x", color="#dddddd", linewidth=0.6)
    near.set_axisbelow(True)
    return figure


def _material_data(report: BoundsReport) -> list[list[str]]:
    attackers = max(pair.attackers for pair in report.material)
    rows = [["0"] * (max(pair.defenders for pair in report.material) + 1) for _ in range(attackers + 1)]
    for pair in report.material:
        rows[pair.attackers][pair.defenders] = str(pair.total)
    return rows


def _draw_material(rows: list[list[str]]) -> Figure:
    """Draw the number of labelled states by material as a heat map, labelled with the shares above 0.1 %."""
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
    axes.set(xticks=range(len(values[0])), xlabel="defenders on the board")
    axes.set(yticks=range(len(values)), ylabel="attackers on the board")
    figure.colorbar(image, label="labelled states, powers of ten")
    return figure
