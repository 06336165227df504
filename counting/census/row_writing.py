"""Row files as they are written: under a temporary name, which is replaced when all of it is there."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counting.census.memory import PAGE, write_span
from counting.census.row_bytes import RowHasher, row_pieces, row_size
from counting.census.row_head import FORMAT_VERSION, HEAD, MAGIC, Source, reported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.census.row_head import Owner


def write_rows(
    path: Path,
    rows: NDArray[np.uint64],
    index: tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]],
    owner: Owner,
    stats: dict[str, Any],
    *,
    cpu: float,
    codes: tuple[int, int, int, int] | None = None,
    kind: str = "children",
) -> Source:
    """Write a row file."""
    arrays = b"".join(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes() for array in index)
    header = {
        "kind": kind,
        **owner._asdict(),
        "words": rows.shape[1],
        "leaf_bits": len(index[0]).bit_length() - 1,
        "rows": int(index[0].sum()),
        "codes": codes,
        "stats": stats,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    hasher = RowHasher(index[0], row_size(rows.shape[1], codes)) if kind == "part" else None
    digests = 0 if hasher is None else 32 * int(np.count_nonzero(index[0]))
    text += b" " * (-(HEAD.size + len(text) + len(arrays) + digests) % PAGE)
    begin = HEAD.size + len(text) + len(arrays) + digests
    rows = np.ascontiguousarray(rows)
    with reported(path, "write it"):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                # The digests are known when the rows are.
                write_span(file, np.zeros(begin, dtype=np.uint8))
                for piece in row_pieces(rows, codes):
                    if hasher is not None:
                        hasher.feed(piece.data)
                    write_span(file, piece)
                content = text + arrays + (b"" if hasher is None else b"".join(hasher.digests))
                digest = hashlib.sha256(content).digest()
                head = HEAD.pack(MAGIC, FORMAT_VERSION, len(text), cpu, digest, 0)
                head = head[:-4] + struct.pack("<I", zlib.crc32(head[:-4]))
                file.seek(0)
                write_span(file, np.frombuffer(head + content, dtype=np.uint8))
                if kind in ("part", "tally"):
                    os.fsync(file)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    return Source(path, digest.hex())
