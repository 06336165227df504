"""Writing a tablebase: tiers whole or not at all, one writer at a time, equal bytes for equal input."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retrograde.tablebase.encoding import code_histogram, fill_aliases, pack_bits, slices
from retrograde.tablebase.errors import TablebaseError
from retrograde.tablebase.schema import (
    FileRecord,
    GameRecord,
    RootRecord,
    SideRecord,
    TierRecord,
    write_record,
)
from retrograde.tablebase.store import Store, open_store, sha256_of
from tablut.errors import InputError, OutputError
from tablut.files import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tablut.indexing.tiers import TierIndex
    from tablut.variants import Variant

__all__ = ["CHUNK", "SHARD", "create", "write_tier", "writing"]

CHUNK: Final = 1 << 20
"""Entries of a chunk: what is unpacked to read one of them."""
SHARD: Final = 32 * CHUNK
"""Entries of a shard: what is written at once."""
_LEVEL: Final = 15
"""Of Zstandard: 19 would take four times as long and save a fifth."""


def create(root: Path | str, variant: Variant, tiers: Sequence[tuple[int, int]]) -> Store:
    """Make a store for a game, or open the one that is there and add to what it is to have.

    Parameters
    ----------
    root : Path or str
        The folder; made if it is missing.
    variant : Variant
        The game.
    tiers : sequence of (attackers, defenders)
        The tiers that the store is to have; those planned before stay.

    Raises
    ------
    TablebaseError
        If the folder holds something else: another game, another format, other files.
    OutputError
        If it cannot be written.
    """
    root = Path(root)
    planned = set(tiers)
    if (root / "zarr.json").exists():
        store = open_store(root)
        if not store.variant.same_game(variant):
            raise TablebaseError(
                f"tablebase {str(root)!r}: is of {store.variant.name!r}, another game than {variant.name!r}; "
                "choose another folder"
            )
        planned |= set(store.planned)
        if planned == set(store.planned):
            return store
        game = store.record.variant
    else:
        try:
            occupied = root.exists() and any(root.iterdir())
        except OSError as error:
            raise TablebaseError(f"tablebase {str(root)!r}: {error.strerror}; choose another folder") from error
        if occupied:
            raise TablebaseError(f"tablebase {str(root)!r}: holds other files; choose another folder")
        game = GameRecord.of(variant)
    record = RootRecord(variant=game, tiers=tuple(sorted(planned)))
    write_record(root, record)
    return Store(root, record)


@contextmanager
def writing(root: Path | str) -> Iterator[None]:
    """Keep other writers away from a store for as long as the context lasts.

    Raises
    ------
    InputError
        If another one is writing.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system: two writers are not kept apart
        yield
        return
    path = Path(root) / "lock"
    try:
        file = path.open("w")
    except OSError as error:
        raise OutputError(f"tablebase file {str(path)!r}: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"tablebase {str(root)!r}: another program is writing there; wait for it") from error
        yield


def write_tier(
    root: Path | str,
    index: TierIndex,
    white: NDArray[np.uint16],
    black: NDArray[np.uint16],
    statistics: Mapping[str, Any] | None = None,
    *,
    threads: int = 1,
) -> TierRecord:
    """Write a tier, whole or not at all.

    Parameters
    ----------
    root : Path or str
        A store that plans the tier.
    index : TierIndex
        The tier, under all symmetries.
    white, black : ndarray of uint16, shape (index.size,)
        Codes (see `retrograde.tablebase.encoding`) by entry; aliases are `ALIAS_CODE`.
        Read part by part, so they may be mapped from files.
    statistics : mapping, optional
        Provenance for people, such as seconds and program version; kept beside the data.
    threads : int
        With two or more, both sides to move are packed at once.

    Returns
    -------
    TierRecord
        What was written.

    Raises
    ------
    ValueError
        If the arrays do not fit the index, or disagree on what is an alias.
    TablebaseError
        If the store does not plan the tier.
    OutputError
        If it cannot be written.
    """
    store = open_store(root)
    material = (index.attackers, index.defenders)
    name = f"{index.attackers}v{index.defenders}"
    if material not in store.planned:
        raise TablebaseError(f"tablebase {str(root)!r}: does not plan tier {name}")
    sides = {"white": white, "black": black}
    for codes in sides.values():
        if codes.shape != (index.size,) or codes.dtype != np.uint16:
            raise ValueError(f"tier {name}: codes are uint16 of shape ({index.size},), not {codes.dtype} {codes.shape}")
    with ThreadPoolExecutor(max_workers=min(threads, 2)) as pool:
        histograms = dict(zip(sides, pool.map(code_histogram, sides.values()), strict=True))
    classes = sum(histograms["white"].values())
    if classes != sum(histograms["black"].values()):
        raise ValueError(f"tier {name}: the two sides to move have different numbers of aliases")

    target, folder = store.root / name, store.root / f".{name}.tmp"
    try:
        # What a killed writer left is of no use.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            dtypes = {
                side: "uint8" if max(found, default=0) <= 0xFF else "uint16" for side, found in histograms.items()
            }
            with ThreadPoolExecutor(max_workers=min(threads, 2)) as pool:
                list(pool.map(lambda side: _write_array(folder / side, sides[side], dtypes[side]), sides))
            _write_array(folder / "representatives", pack_bits(index.representatives).ravel(), "uint8")
            record = TierRecord(
                game=index.variant.digest,
                attackers=index.attackers,
                defenders=index.defenders,
                placements=index.positions,
                entries=index.size,
                classes=classes,
                chunk=CHUNK,
                shard=SHARD,
                white=SideRecord(dtype=dtypes["white"], classes=histograms["white"]),
                black=SideRecord(dtype=dtypes["black"], classes=histograms["black"]),
                files={
                    path.relative_to(folder).as_posix(): FileRecord(bytes=path.stat().st_size, sha256=sha256_of(path))
                    for path in sorted(folder.rglob("*"))
                    if path.is_file()
                },
            )
            write_record(folder, record)
            if target.exists():
                shutil.rmtree(target)
            folder.rename(target)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"tablebase folder {str(target)!r}: {error.strerror}; choose another folder") from error
    if statistics is not None:
        write_text(store.root / "provenance" / f"{name}.json", json.dumps(dict(statistics), indent=1) + "\n")
    return record


def _write_array(folder: Path, content: NDArray[Any], dtype: str) -> None:
    import zarr
    from zarr.codecs import Crc32cCodec, ZstdCodec

    length = len(content)
    # Chunks and shards are no longer than the array, so that a small one has no empty rest.
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
    for start, stop in slices(length, SHARD):
        part = np.empty(stop - start, dtype=dtype)
        for first, last in slices(stop - start, CHUNK):
            codes = content[start + first : start + last]
            part[first:last] = fill_aliases(codes) if codes.dtype == np.uint16 else codes
        array[start:stop] = part
