"""How large the tasks of a census may be, and the error where something does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tablut.errors import InputError
from tablut.results import scientific

_INTERPRETER_BYTES: Final = 384 << 20
_TASK_BYTES: Final = 96 << 20


class TooLargeError(InputError):
    """A census that does not fit into the memory or the disk it may use; what is done is kept."""


@dataclass(frozen=True)
class CensusLimits:
    """How large a task may be."""

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
        """Return the memory with which a task of a ply that is counted may have so many children."""
        share = children * _tally_bytes(words) + _TASK_BYTES
        return -(-(workers * share + _INTERPRETER_BYTES) // (1 << 20)) << 20


def _tally_bytes(words: int) -> int:
    return 16 * words + 16


def size_text(count: int) -> str:
    """Return a number of bytes as people read it."""
    if count >= 10**15:
        return f"{scientific(count, 2)} bytes"
    for exponent, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**exponent:
            return f"{count / 1000**exponent:.1f} {unit}"
    return f"{count} bytes"
