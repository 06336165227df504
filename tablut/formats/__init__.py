"""Positions and moves as others write them: `opentafl`, `fen`, `bologna`, `berkeley`, `mcgill`, `htp`."""

from tablut.formats import berkeley, bologna, fen, htp, mcgill, opentafl

__all__ = ["berkeley", "bologna", "fen", "htp", "mcgill", "opentafl"]
