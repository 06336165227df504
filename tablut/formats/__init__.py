"""Positions, moves and games in the notations of other programs. `reading` recognises each notation automatically."""

from tablut.formats import bologna, opentafl, reading

__all__ = ["bologna", "opentafl", "reading"]
