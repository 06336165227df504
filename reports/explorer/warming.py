"""What is loaded when the explorer starts, so that the first visitor does not wait for it."""

from __future__ import annotations

import gc
import logging
from typing import TYPE_CHECKING

from reports.explorer.facts import position_facts
from reports.explorer.layers import layers_of
from reports.explorer.pages import headline
from reports.explorer.searching import get_ready
from reports.explorer.workers import Errand, Job
from tablut.board import Board
from tablut.errors import TablutError

if TYPE_CHECKING:
    from reports.explorer.tables import Tables
    from reports.explorer.workers import Workers

_LOG = logging.getLogger("tablut.explorer")


def warm(tables: Tables, workers: Workers) -> None:
    """Load kernels and tables, solve the small boards, and start a worker."""
    try:
        board = Board("ashton")
        headline()
        layers_of(board.variant)
        position_facts(board, tables)
        tables.prepare()
        Errand(workers, Job(get_ready)).run()
    except TablutError as error:
        # Without it the explorer works, only its first answers take longer; one that ends needs nothing more.
        if not workers.closed:
            _LOG.warning("tablut: not all could be loaded beforehand: %s", error)
    # What is loaded by now stays. A collection that looks through all of it takes a tenth of a second, and nobody is
    # answered meanwhile: none does from now on.
    gc.collect()
    gc.freeze()
