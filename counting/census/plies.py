"""The plies of a census that are stored: what they say, and whether it is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from counting.census.extent import ended, excess
from counting.census.files import read_rows
from counting.census.limits import TooLargeError
from counting.census.row_head import LEAF_BITS, damaged
from counting.census.toolbox import start_rows, toolbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counting.census.count_record import CountRecord
    from counting.census.records import PlyRecord
    from counting.census.stored import StoredCensus
    from tablut.variants import Variant

__all__ = ["Plies"]


class Plies:
    """The plies of one census."""

    def __init__(self, variant: Variant, *, full: bool, store: StoredCensus) -> None:
        self.variant, self.full, self.store = variant, full, store
        self.words = toolbox(variant, full).tables.words
        self.records = store.records()
        # A file of an earlier run may have been changed since; a file of this run has not.
        self._found = len(self.records)
        self.passes = 1

    @property
    def complete(self) -> bool:
        """Whether the last ply found nothing undecided that is new, or is the last of a game."""
        return ended(self.variant, self.records)

    def check_found(self) -> None:
        """Find the plies that an earlier run has made whole, and possible."""
        tools = toolbox(self.variant, self.full)
        for record in self.records:
            files = self.store.check_parts(record)
            if np.array(record.material, dtype=object).shape != tools.material:
                self.contradict(record.ply, "its material is that of another board")
            for file in files:
                codes = None if file.header.codes is None else file.header.codes[:3]
                if (file.header.words, codes) != (self.words, tools.codes):
                    raise damaged(file.path, "its rows are those of another board")
            if not record.ply and not np.array_equal(
                read_rows(files[0], 0, 1 << LEAF_BITS), start_rows(self.variant, self.full)
            ):
                raise damaged(files[0].path, "it does not hold the start")
        self.check_bound(self.records)

    def check_bound(self, records: Sequence[PlyRecord | CountRecord]) -> None:
        """Find that no more positions of any material and side to move were reached than the board has."""
        if (fault := excess(self.variant, records)) is not None:
            self.contradict(records[-1].ply, fault)

    def contradict(self, ply: int, what: str) -> NoReturn:
        """Raise the error for impossible counts."""
        if self._found:
            raise TooLargeError(
                f"--store {str(self.store.root)!r}: ply {ply}: {what}; a file of the store has been changed: "
                "`tablut census verify` with that folder says which; or count again into another folder"
            )
        raise ArithmeticError(f"{self.variant.name}: ply {ply}: {what}")

    def space_needed(self, last: PlyRecord | CountRecord | None = None) -> tuple[int, int]:
        """Return how many bytes the next ply needs: for children, and an estimate for its positions.

        The number of children is exact. What part of them is new is taken from the last
        ply, which overestimates it where the search slows down.
        """
        last = self.records[-1] if last is None else last
        children = last.next_children
        kept = last.counters["new_classes"] + last.counters["decided_classes"]
        ratio = kept / last.children if last.children else 1.0
        bytes_each = toolbox(self.variant, self.full).row_bytes
        return children * 8 * self.words, int(children * ratio) * bytes_each

    def stored_bytes(self) -> int:
        """Return how many bytes the store takes."""
        return self.store.taken_bytes(self.records)
