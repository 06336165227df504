"""The page on symmetry: the images of one position, and how much the counts shrink up to symmetry."""

from __future__ import annotations

from typing import Final

from counting.complexity import bounds
from reports.census import results as counted
from reports.rendering import Artefact, drawing, page
from tablut import svg
from tablut.position import Position
from tablut.strip import draw_sheet
from tablut.variants import load_variant, shipped_variants

_PIXELS: Final = 200
_SHOWN: Final = "3b1b3/9/4w1b2/b4w2b/b3K2wb/b2w5/9/4b1w2/3b5 w"
"""A position without a symmetry of its own: it has eight images."""


def artefacts() -> list[Artefact]:
    """Return the files of the page on symmetry."""
    variant = load_variant("ashton")
    position = Position.parse(_SHOWN, variant.size)
    boards = [
        svg.board(variant, position.transformed(element), caption=element.name.replace("_", " "), pixels=_PIXELS)
        for element in variant.symmetries
    ]
    return [
        page(
            "symmetry.md",
            "symmetry.md.j2",
            every=[bounds(one) for one in shipped_variants()],
            counted=counted(),
        ),
        drawing("figures/symmetry-orbit.svg", draw_sheet(boards, 4, _PIXELS, "The eight images of a position")),
    ]
