"""What the files of a ply add up to: the sums of what they say, and digests of what lies in their leaves."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counting.census.row_head import RowFile


def part_sums(stats: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of what the parts of a ply say, as `PlyRecord` has them."""
    found = list(stats)
    material = np.sum([np.array(part["material"], dtype=np.int64) for part in found], axis=0)
    return {
        "counters": {name: sum(part["counters"][name] for part in found) for name in found[0]["counters"]},
        "material": tuple(tuple(tuple(row) for row in kind) for kind in material.tolist()),
        "children": sum(part["children"] for part in found),
        "next_children": sum(part["next_children"] for part in found),
    }


def rows_digest(files: Iterable[RowFile]) -> str:
    """Return the digest of the rows of a ply in the order of leaves, however they are cut into parts."""
    found = list(files)
    counts = np.sum([file.counts for file in found], axis=0, dtype=np.int64)
    content = hashlib.sha256(counts.astype("<i8").tobytes())
    for file in found:
        content.update(file.leaves)
    return content.hexdigest()


def leaves_digest(files: Iterable[RowFile]) -> str:
    """Return the digest of how many rows each leaf has in all of the files, and of their hash sums."""
    found = list(files)
    counts = np.sum([file.counts for file in found], axis=0, dtype=np.int64)
    sums = np.sum([file.sums for file in found], axis=0, dtype=np.uint64)
    return hashlib.sha256(counts.astype("<i8").tobytes() + sums.astype("<u8").tobytes()).hexdigest()
