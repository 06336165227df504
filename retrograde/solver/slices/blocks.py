"""A section of a slice's file: items in blocks, each packed by LZ4 and bound by a digest, packed as they come."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BLOCK", "PackedSection", "block_codec", "block_digest"]

BLOCK: Final = 1 << 16
"""Items of a block: what is unpacked to read one of them."""
_DIGEST: Final = 16
"""Bytes of a block's digest."""


class PackedSection:
    """Items that are packed block by block, so that few of them are in memory as they are.

    Parameters
    ----------
    dtype : str
        Of the items: ``uint8``, ``uint16`` or ``uint32``.

    Examples
    --------
    >>> section = PackedSection("uint8")
    >>> for _ in range(3):
    ...     section.add(np.zeros(BLOCK // 2, dtype=np.uint8))
    >>> section.items == 3 * BLOCK // 2, len(section.blocks()), len(section.blocks()[0]) < 500
    (True, 2, True)
    """

    def __init__(self, dtype: str) -> None:
        self.dtype, self.items = dtype, 0
        self._codec = block_codec()
        self._blocks: list[bytes] = []
        self._rest: list[NDArray[Any]] = []
        self._held = 0

    def add(self, items: NDArray[Any]) -> None:
        """Append items.

        Parameters
        ----------
        items : ndarray, shape (n,)
            Of the section's type.
        """
        self.items += len(items)
        self._held += len(items)
        self._rest.append(items)
        if self._held >= BLOCK:
            held = self._rest[0] if len(self._rest) == 1 else np.concatenate(self._rest)
            whole = self._held - self._held % BLOCK
            self._blocks += [self._packed(held[at : at + BLOCK]) for at in range(0, whole, BLOCK)]
            # A copy, or the rest would keep all of it.
            self._rest, self._held = [held[whole:].copy()], self._held - whole

    def blocks(self) -> list[bytes]:
        """Return the packed blocks; all but the last are of `BLOCK` items.

        Returns
        -------
        list of bytes
            Together all items that were added.
        """
        return [*self._blocks, self._packed(np.concatenate(self._rest))] if self._held else [*self._blocks]

    def _packed(self, items: NDArray[Any]) -> bytes:
        return bytes(self._codec.encode(np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<"))))


def block_codec() -> Any:
    """Return what packs and unpacks a block.

    Returns
    -------
    numcodecs.lz4.LZ4
        A codec of numcodecs.
    """
    from numcodecs.lz4 import LZ4

    return LZ4(1)


def block_digest(packed: bytes) -> str:
    """Return the digest that a head has of a packed block.

    Parameters
    ----------
    packed : bytes
        The block.

    Returns
    -------
    str
        Hexadecimal.
    """
    return hashlib.sha256(packed).hexdigest()[: 2 * _DIGEST]
