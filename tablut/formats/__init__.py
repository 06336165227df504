"""Positions, moves and games in the notations of other programs; `tablut.formats.reading` recognises any of them."""

from tablut.formats import bologna, opentafl

__all__ = ["bologna", "opentafl"]
