"""How a shard is cut: its chunks, then the index that says where they begin, each a segment with a digest of its own.

The index of a Zarr shard stands at its end: two 64-bit numbers for each chunk, where it begins and how long it is, and
a CRC-32C. With the segments in a tier's record, one chunk can be read from afar and proved to be the one that was
written, without the rest of its shard.
"""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.tablebase.schema import FileRecord

if TYPE_CHECKING:
    from pathlib import Path

_EMPTY: Final = np.iinfo(np.uint64).max
"""Stands in the index for a chunk that was not written."""


def file_records(folder: Path) -> dict[str, FileRecord]:
    """Return the records of all files of a tier that has just been written, those of its shards with their segments."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            segments = None
            if path.name != "zarr.json":
                segments = _segments(content, _chunks_of_a_shard(path.parent.parent))
            name = path.relative_to(folder).as_posix()
            found[name] = FileRecord(bytes=len(content), sha256=hashlib.sha256(content).hexdigest(), segments=segments)
    return found


def _chunks_of_a_shard(array: Path) -> int:
    """Return how many chunks a shard of an array has, from its description."""
    body = json.loads((array / "zarr.json").read_text(encoding="utf-8"))
    shard: int = body["chunk_grid"]["configuration"]["chunk_shape"][0]
    chunk: int = body["codecs"][0]["configuration"]["chunk_shape"][0]
    return shard // chunk


def _segments(content: bytes, chunks: int) -> tuple[tuple[int, str], ...]:
    """Return the lengths and digests of a shard's segments."""
    index = len(content) - 16 * chunks - 4
    places = np.frombuffer(content, dtype="<u8", count=2 * chunks, offset=index).reshape(-1, 2)
    places = places[places[:, 0] != _EMPTY]
    cuts = sorted({0, index, len(content), *places[:, 0].tolist(), *places.sum(axis=1).tolist()})
    return tuple((stop - start, hashlib.sha256(content[start:stop]).hexdigest()) for start, stop in pairwise(cuts))
