"""Notations of other programs for positions and moves: `opentafl`, `fen`, `bologna`, `berkeley`, `mcgill`, `htp`."""

from tablut.formats import berkeley, bologna, fen, htp, mcgill, opentafl

__all__ = ["berkeley", "bologna", "fen", "htp", "mcgill", "opentafl"]
