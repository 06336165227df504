"""What is loaded when the explorer starts, so that the first visitor does not wait for it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from reports.explorer.facts import position_facts
from reports.explorer.layers import layers_of
from reports.explorer.pages import headline
from tablut.board import Board
from tablut.errors import TablutError
from tablut.play.players import PlayerOptions
from tablut.play.ready import ready_player

if TYPE_CHECKING:
    from reports.explorer.tables import Tables

__all__ = ["warm"]

_LOG = logging.getLogger("tablut.explorer")


def warm(tables: Tables) -> None:
    """Load kernels and tables, and solve the small boards.

    Parameters
    ----------
    tables : Tables
        The tablebases.
    """
    try:
        board = Board("ashton")
        headline()
        layers_of(board.variant)
        position_facts(board, tables)
        tables.prepare()
        ready_player("alphabeta", board.variant, PlayerOptions(hash_mib=1))
    except TablutError as error:
        # Without it the explorer works, only its first answers take longer.
        _LOG.warning("tablut: not all could be loaded beforehand: %s", error)
