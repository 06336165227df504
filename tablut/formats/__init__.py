"""Positions and moves as others write them, a module each: `opentafl`, `fen`, `bologna`, `berkeley`, `mcgill`."""

from tablut.formats import berkeley, bologna, fen, mcgill, opentafl

__all__ = ["berkeley", "bologna", "fen", "mcgill", "opentafl"]
