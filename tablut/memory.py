"""How much memory there is, so that a request for more is refused before anything is allocated.

The system hands out memory as it is written: an array that is too large is given, and
the process killed much later. So a size that a user asks for is held against what is
there first.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tablut.errors import InputError

__all__ = ["available_bytes", "memory_option"]

_MEBIBYTE: Final = 1 << 20


def available_bytes() -> int | None:
    """Return how many bytes could be allocated without pushing others out; None where the system does not say.

    Examples
    --------
    >>> available = available_bytes()
    >>> available is None or available > 0
    True
    """
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass  # not Linux: its own way is below
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def memory_option(option: str, mebibytes: int) -> int:
    """Return the bytes that an option asks for.

    Parameters
    ----------
    option : str
        Its name, for the message.
    mebibytes : int
        What the user said.

    Raises
    ------
    InputError
        If the machine does not have as much.

    Examples
    --------
    >>> memory_option("--memory", 1)
    1048576
    """
    wanted, available = mebibytes * _MEBIBYTE, available_bytes()
    if available is not None and wanted > available:
        raise InputError(
            f"{option} {mebibytes}: this machine has {available // _MEBIBYTE:,} MiB available; ask for less"
        )
    return wanted
