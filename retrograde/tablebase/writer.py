"""Writing a tablebase. Each tier is written atomically, by one writer at a time, and equal input produces equal bytes.

Codes (`tablut.indexing.values`) are stored unchanged, in index order. If every code in an array fits into one byte,
each code is stored in one byte. These alternatives all compress worse: other orders, differences between neighbours,
and predicting the codes for one side to move from the codes for the other (see ``docs/notes/solving.md``). An alias
is an entry that is not the rank of any position. Each alias repeats the previous code, so that aliases take almost no
space.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from retrograde.tablebase.store import (
    RootRecord,
    RulesRecord,
    SideRecord,
    Store,
    TablebaseError,
    TierPart,
    TierRecord,
    little_endian,
    open_store,
    slices,
    tier_name,
    write_record,
)
from tablut.indexing.tiers import TierIndex
from tablut.indexing.values import ALIAS_CODE
from tablut.position import SideName
from tablut.variants import Variant
from tablut.work import files, ledger
from tablut.work.files import lock_folder, store_path, sync_names, write_text
from tablut.work.sealed_records import data_file

CHUNK: Final = 1 << 20
"""Number of entries in a chunk. A chunk is always unpacked as a whole."""
SHARD: Final = 32 * CHUNK
"""Number of entries in a shard. A shard is always written as a whole."""
_UNFINISHED: Final = re.compile(r"\.\d+v\d+\.(tmp|scratch)")
"""Names of the folders of unfinished tiers."""
_KIND: Final = ledger.Kind("tablebase", "zarr.json")
_COUNTED: Final = 1 << 18
"""Number of codes that are counted together."""
_LEVEL: Final = 15
"""Compression level for Zstandard. Level 19 would take four times as long and save a fifth of the space."""


class Codes(Protocol):
    """Each entry's code: an array, or an object that returns an array for each range of entries."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the codes: ``uint16``."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> NDArray[np.uint16]: ...


def create(root: Path | str, variant: Variant, tiers: Sequence[tuple[int, int]]) -> Store:
    """Create a store for a game, or open the existing store and add tiers to its plan."""
    root = store_path(root)
    if root.exists() and not root.is_dir():
        raise TablebaseError("is not a folder", subject=f"tablebase {str(root)!r}", remedy="choose another name")
    head = RootRecord(variant=RulesRecord.of(variant), tiers=tuple(sorted(set(tiers))))
    with ledger.claim(root, _KIND, head, other=lambda stored: _other_game(stored, variant)) as stored:
        record = RootRecord(variant=stored.variant, tiers=tuple(sorted({*stored.tiers, *tiers})))
        if record.tiers != stored.tiers:
            write_record(root, record)
            sync_names(root)
        # The caller's variant already has its regions and symmetries. Share it if it equals the stored one.
        return Store(root, record, variant if record.variant == head.variant else None)


def _other_game(stored: RootRecord, variant: Variant) -> str | None:
    if stored.variant.variant().same_game(variant):
        return None
    return f"belongs to {stored.variant.name!r}, a different game from {variant.name!r}"


@contextmanager
def writing(root: Path | str) -> Iterator[None]:
    """Lock a store against other writers, and remove the files that a killed writer left behind.

    This is a context manager. The lock is released at its end.
    """
    root = Path(root)
    with lock_folder(root, "tablebase"):
        sweep(root)
        yield


def sweep(root: Path) -> None:
    """Remove the files that an interrupted writer left behind in a store. The caller must have locked the store."""
    for folder in (root, root / "provenance"):
        ledger.sweep(folder, "tablebase")
    with files.writing(f"tablebase {str(root)!r}"):
        for path in root.iterdir():
            if _UNFINISHED.fullmatch(path.name):
                ledger.drop(path)


def write_tier(
    root: Path | str,
    index: TierIndex,
    white: Codes,
    black: Codes,
    statistics: Mapping[str, Any] | None = None,
    *,
    threads: int = 1,
) -> TierRecord:
    """Write a tier atomically, and return its record."""
    store = open_store(root)
    material = (index.attackers, index.defenders)
    name = tier_name(material)
    if material not in store.planned:
        raise TablebaseError(f"does not plan tier {name}", subject=str(store))
    sides: dict[SideName, Codes] = {"white": white, "black": black}
    place = Path(root)
    target, folder = place / name, place / f".{name}.tmp"
    with files.writing(f"tablebase folder {str(target)!r}", "finished tiers are kept"):
        # Remove the folder that a killed writer may have left behind.
        ledger.drop(folder)
        folder.mkdir()
        try:
            record = _fill(folder, index, sides, min(threads, 2))
            if statistics is not None:
                # Write this file before the tier. A build that is killed in between rewrites both files later.
                write_text(place / "provenance" / f"{name}.json", json.dumps(dict(statistics), indent=1) + "\n")
            if target.exists():
                shutil.rmtree(target)
            folder.rename(target)
            sync_names(place)
        except BaseException:
            ledger.drop(folder)
            raise
    return record


def _fill(folder: Path, index: TierIndex, sides: Mapping[SideName, Codes], threads: int) -> TierRecord:
    """Write a tier's arrays and record to its folder."""
    values: dict[TierPart, str] = {}
    with ThreadPoolExecutor(max_workers=threads) as pool:
        histograms = dict(zip(sides, pool.map(code_histogram, sides.values()), strict=True))
        dtypes: dict[SideName, Literal["uint8", "uint16"]] = {
            side: "uint8" if max(histogram, default=0) <= 0xFF else "uint16" for side, histogram in histograms.items()
        }
        digests = pool.map(lambda side: _write_array(folder / side, sides[side], dtypes[side]), sides)
        values.update(zip(sides, digests, strict=True))
    values["representatives"] = _write_array(folder / "representatives", index.packed.ravel(), "uint8")
    record = TierRecord(
        game=index.variant.digest,
        attackers=index.attackers,
        defenders=index.defenders,
        placements=index.positions,
        entries=index.size,
        classes=sum(histograms["white"].values()),
        chunk=CHUNK,
        shard=SHARD,
        white=SideRecord(dtype=dtypes["white"], classes=histograms["white"]),
        black=SideRecord(dtype=dtypes["black"], classes=histograms["black"]),
        values=values,
        files={
            path.relative_to(folder).as_posix(): data_file(path) for path in sorted(folder.rglob("*")) if path.is_file()
        },
    )
    write_record(folder, record)
    _sync(folder)
    return record


def _sync(folder: Path) -> None:
    """Flush the files in a folder to disk, and then their names.

    After a power failure, either the complete folder exists or no folder does.
    """
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            sync_names(path)
            continue
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    sync_names(folder)


def _write_array(folder: Path, content: Codes | NDArray[Any], dtype: str) -> str:
    """Write an array, and return the digest of its items (see `retrograde.tablebase.store.TierRecord`)."""
    import zarr
    from zarr.codecs import Crc32cCodec, ZstdCodec

    length = len(content)
    # Chunks and shards are no longer than the array, which avoids padding a small array.
    chunk = min(CHUNK, length)
    array = zarr.create_array(
        folder,
        shape=(length,),
        chunks=(chunk,),
        shards=(min(SHARD, -(-length // chunk) * chunk),),
        dtype=dtype,
        compressors=[ZstdCodec(level=_LEVEL), Crc32cCodec()],
        fill_value=0,
        config={"write_empty_chunks": True},
    )
    digest = hashlib.sha256()
    for start, stop in slices(length, SHARD):
        part = np.empty(stop - start, dtype=dtype)
        for first, last in slices(stop - start, CHUNK):
            codes = content[start + first : start + last]
            part[first:last] = fill_aliases(codes) if codes.dtype == np.uint16 else codes
        array[start:stop] = part
        digest.update(little_endian(part))
    return digest.hexdigest()


def code_histogram(codes: Codes) -> dict[int, int]:
    """Return the number of occurrences of each code, excluding aliases."""
    counts = np.zeros(ALIAS_CODE + 1, dtype=np.int64)
    for start, stop in slices(len(codes), _COUNTED):
        part = np.bincount(codes[start:stop])
        counts[: len(part)] += part
    return {int(code): int(counts[code]) for code in np.flatnonzero(counts[:ALIAS_CODE])}


def fill_aliases(codes: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Replace each alias's code by the previous code. Aliases at the start get the first real code."""
    own = codes != ALIAS_CODE
    if own.all():
        return codes
    kept = np.flatnonzero(own)
    if not len(kept):
        return np.zeros_like(codes)
    source = np.zeros(len(codes), dtype=np.int64)
    source[kept] = kept
    np.maximum.accumulate(source, out=source)
    source[: kept[0]] = kept[0]
    return codes[source]
