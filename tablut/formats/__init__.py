"""Positions and moves as other programs write them, a module a program: `opentafl`, `bologna`, `berkeley`, `mcgill`."""

from tablut.formats import berkeley, bologna, mcgill, opentafl

__all__ = ["berkeley", "bologna", "mcgill", "opentafl"]
