"""Positions, moves and games in the notations of other programs: `reading` recognises any of them."""

from tablut.formats import bologna, opentafl, reading

__all__ = ["bologna", "opentafl", "reading"]
