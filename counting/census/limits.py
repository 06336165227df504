"""How large the tasks of a census may be, and the error where something does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tablut.errors import InputError
from tablut.results import scientific

__all__ = ["CensusLimits", "TooLargeError", "size_text"]

_INTERPRETER_BYTES: Final = 384 << 20
_TASK_BYTES: Final = 96 << 20


class TooLargeError(InputError):
    """A census that does not fit into the memory or the disk it may use; what is done is kept."""


@dataclass(frozen=True)
class CensusLimits:
    """How large a task may be.

    Attributes
    ----------
    expand_children, merge_children : int
        Most children of a task of each kind.
    disk_bytes : int or None
        Most bytes that the folder may take; None for what the disk has.
    tally_children, sort_rows : int
        Most children, and most rows, of a task of a ply that is counted and not stored.
    in_passes : bool
        Whether a ply whose children do not fit on the disk is made in passes, rather than refused.
    memory : int or None
        Bytes of all tasks of a process together; None if the limits were not made from them.
    """

    expand_children: int
    merge_children: int
    disk_bytes: int | None = None
    tally_children: int = 1 << 25
    sort_rows: int = 1 << 23
    in_passes: bool = False
    memory: int | None = None

    @classmethod
    def from_memory(cls, memory: int, workers: int, words: int, disk_bytes: int | None = None) -> CensusLimits:
        """Return the limits with which so many tasks at once stay within ``memory`` bytes.

        An expansion holds every child twice (as found, and in order); a merge holds it
        once, with at most twelve bytes for the table that finds it; a count of bins does both. A sort
        holds its rows five times at most, and as many children by capture.

        Parameters
        ----------
        memory : int
            Bytes of all tasks together.
        workers : int
            Tasks at once.
        words : int
            Words of a packed position.
        disk_bytes : int, optional
            Most bytes that the folder may take.

        Returns
        -------
        CensusLimits
            The same for an expansion and a merge of any ply.

        Raises
        ------
        InputError
            If there is no room for the least task.

        Examples
        --------
        >>> CensusLimits.from_memory(4 << 30, 2, 3).merge_children
        48565625
        """
        share = (memory - _INTERPRETER_BYTES) // workers - _TASK_BYTES
        if share < 32 << 20:
            least = (_INTERPRETER_BYTES + workers * (128 << 20)) >> 20
            raise InputError(f"--memory {memory >> 20}: {workers} tasks at once need at least {least} MiB")
        return cls(
            min(share // (20 * words), 1 << 21),
            share // (8 * words + 14),
            disk_bytes,
            min(share // _tally_bytes(words), 1 << 25),
            min(share // (80 * words), 1 << 23),
            memory=memory,
        )

    @staticmethod
    def memory_for(children: int, words: int, workers: int) -> int:
        """Return the memory with which a task of a ply that is counted may have so many children.

        Parameters
        ----------
        children : int
            Of the task.
        words : int
            Words of a packed position.
        workers : int
            Tasks at once.

        Returns
        -------
        int
            Bytes, a whole number of MiB; see `from_memory`.

        Examples
        --------
        >>> need = CensusLimits.memory_for(10_000_000, 3, 2)
        >>> need >> 20, CensusLimits.from_memory(need, 2, 3).tally_children >= 10_000_000
        (1797, True)
        """
        share = children * _tally_bytes(words) + _TASK_BYTES
        return -(-(workers * share + _INTERPRETER_BYTES) // (1 << 20)) << 20


def _tally_bytes(words: int) -> int:
    return 16 * words + 16


def size_text(count: int) -> str:
    """Return a number of bytes as people read it.

    Parameters
    ----------
    count : int
        Bytes.

    Returns
    -------
    str
        Two or three significant digits, with a unit.

    Examples
    --------
    >>> size_text(999), size_text(24_690_000_000), size_text(10**26)
    ('999 bytes', '24.7 GB', '1.0e26 bytes')
    """
    if count >= 10**15:
        return f"{scientific(count, 2)} bytes"
    for exponent, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**exponent:
            return f"{count / 1000**exponent:.1f} {unit}"
    return f"{count} bytes"
