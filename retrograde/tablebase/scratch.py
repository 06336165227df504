"""Arrays in files of a scratch folder, so that the system may drop them from memory.

The disk's room is taken before an array is used: a page of a mapped file that finds none
would end the process without a word. The name goes at once where the system allows it, so that
nothing is left behind however the process ends.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tablut.errors import output_failure
from tablut.store.files import reserve

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray


def mapped_array(path: Path, size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros that is mapped from a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        reserve(path, max(size, 1) * np.dtype(dtype).itemsize)
        found = np.memmap(path, dtype=dtype, mode="r+", shape=(max(size, 1),)).view(np.ndarray)
        if os.name == "posix":
            path.unlink()
    except OSError as error:
        if isinstance(error.errno, int):
            raise output_failure(f"scratch file {str(path)!r}: {error.strerror}", error) from error
        raise
    return found[:size]
