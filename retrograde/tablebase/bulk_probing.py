"""Probing arrays of positions.

If only a few positions in a tier are probed, they are looked up in single chunks, in plain Python. If many positions
are probed, kernels look them up in the unpacked tier.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from retrograde.tablebase.store import Store, slices, tier_name
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.layout import is_wide
from tablut.engine.packing import board_bits, cells_of, field, king_width, soldier_counts
from tablut.engine.tables import Tables, build_tables
from tablut.errors import InputError, output_failure
from tablut.indexing.tier_kernels import SCRATCH, entry_of
from tablut.indexing.tier_tables import ADDRESS, WIDE, TierTables, TierValues, code_at, tier_tables
from tablut.indexing.tiers import tier_index
from tablut.indexing.values import ALIAS_CODE, plies_of, value_of_code
from tablut.position import SIDES, SideName
from tablut.work.files import reserve

_STEP: Final = 1 << 20
FEW: Final = 1 << 14
"""Number of positions of a tier, over all calls, that are looked up one by one.

Looking up this number of positions takes as long as unpacking the tier.
"""

Material = tuple[int, int]


class BatchProber:
    """Prober for arrays of positions that are packed as words.

    As long as only a few positions in a tier have been probed, the tier is read chunk by chunk. After that, the tier's
    index is built and its codes are unpacked, and both stay in memory.
    """

    def __init__(self, store: Store, code: Callable[[Material, str, SideName], int | None]) -> None:
        self._store, self._variant, self._code = store, store.variant, code
        self._tables = build_tables(store.variant)
        self._unpacked: dict[Material, UnpackedTiers] = {}
        self._probed: dict[Material, int] = {}
        self._lock = Lock()
        self._values = value_table(store.variant.rules.move_limit)

    def probe(self, words: NDArray[np.uint64], missing: int) -> NDArray[np.int16]:
        """Return the values of n positions of W words each. A value is ``missing`` if it is not in the store."""
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != self._tables.words:
            raise InputError(
                f"positions of {self._variant.name!r} must be uint64 of shape (n, {self._tables.words}), "
                f"not {words.dtype} of shape {words.shape}"
            )
        results = np.full(len(words), missing, dtype=np.int16)
        for start, stop in slices(len(words), _STEP):
            part = np.ascontiguousarray(words[start:stop])
            cells = self._variant.size**2
            attackers, defenders = soldier_counts(part, cells)
            # Combine the numbers of attackers and defenders into one number.
            kinds = attackers * (cells + 1) + defenders
            for kind in np.flatnonzero(np.bincount(kinds)):
                material = divmod(int(kind), cells + 1)
                if not self._store.has(*material):
                    continue
                chosen = np.flatnonzero(kinds == kind)
                results[start + chosen] = self._of_material(material, part[chosen], missing)
        return results

    def _of_material(self, material: Material, words: NDArray[np.uint64], missing: int) -> NDArray[np.int16]:
        """Return the values of packed positions of one tier."""
        with self._lock:
            probed = self._probed[material] = self._probed.get(material, 0) + len(words)
            unpacked = self._unpacked.get(material)
            if unpacked is None and probed > FEW:
                unpacked = UnpackedTiers(self._store, [material])
                unpacked.load(material)
                self._unpacked[material] = unpacked
        if unpacked is None:
            return np.array([self._of_one(material, word, missing) for word in words], dtype=np.int16)
        results = np.empty(len(words), dtype=np.int16)
        look_up(self._tables, unpacked.tables, unpacked.places, self._values, words, results, missing)
        return results

    def _of_one(self, material: Material, word: NDArray[np.uint64], missing: int) -> int:
        placed = cells_of(word, self._variant.size**2)
        if placed is None:
            return missing
        code = self._code(material, placed[0], "white" if placed[1] == "w" else "black")
        return missing if code is None else int(self._values[code])


def value_table(move_limit: int | None) -> NDArray[np.int16]:
    """Return the value of each code (`tablut.indexing.values`) under a move limit, which may be None."""
    codes = np.arange(ALIAS_CODE + 1)
    values: NDArray[np.int16] = value_of_code(codes).astype(np.int16)
    if move_limit is not None:
        values[plies_of(codes) > move_limit] = 0
    return values


# -- looking up many positions: from words to men, to the entry, to the code in memory ----


_BITS = 62
"""Number of cells of a wide board that are read together, into an int64. A narrow board fits into two words."""


@inlined
def _cells(rules: Tables, word: NDArray[np.uint64], start: int, cells: NDArray[np.uint8]) -> None:
    """Write the cells of a position's attackers or defenders. Their bits begin at ``start``."""
    count = I64(0)
    if is_wide(rules.exposed):
        for first in range(0, rules.cells, _BITS):
            bits = field(word, start + first, min(rules.cells - first, _BITS))
            while bits:
                cells[count] = first + trailing_zeros(bits)
                bits &= bits - 1
                count += 1
        return
    low, high = board_bits(word, rules.words, start, rules.cells)
    while low != U64(0):
        cells[count] = trailing_zeros(low)
        low &= low - U64(1)
        count += 1
    while high != U64(0):
        cells[count] = 64 + trailing_zeros(high)
        high &= high - U64(1)
        count += 1


@kernel
def look_up(
    tables: Tables,
    numbering: TierTables,
    places: NDArray[np.int64],
    values: NDArray[np.int16],
    words: NDArray[np.uint64],
    results: NDArray[np.int16],
    missing: int,
) -> None:
    """Write the values of positions in an index's first tier, or ``missing`` for positions without an entry."""
    rules, index = flat(tables), flat(numbering)
    soldiers, numbers = np.empty(2 * rules.cells, dtype=numbering.square.spot.dtype), np.empty(SCRATCH, dtype=np.int64)
    black, scratch, at = pointer(soldiers), pointer(numbers), pointer(places)
    white = advance(black, rules.cells)
    width = king_width(rules)
    for number in range(len(words)):
        results[number] = missing
        word = advance(pointer(words), number * rules.words)
        _cells(rules, word, 0, black)
        _cells(rules, word, rules.cells, white)
        king = field(word, 2 * rules.cells, width)
        entry = I64(-1)
        if king < rules.cells:
            entry = entry_of(index, I64(0), king, black, white, scratch)
        if entry >= 0:
            side = field(word, 2 * rules.cells + width, 1)
            results[number] = values[code_at(at, side, entry)]
    keep(soldiers)
    keep(numbers)


# -- tiers unpacked for kernels ----------------------------------------------------------
# A tier is kept in its stored form: an array of codes for each side to move. The compiled index takes up to ten bytes
# for each combination of row soldiers and king's cell.


_INDEX_BYTES = 10
"""Maximum number of bytes that the index takes for one combination of a king's cell and row soldiers."""


class UnpackedTiers:
    """The unpacked codes and the compiled index of several tiers, for use by kernels."""

    def __init__(self, store: Store, materials: Sequence[tuple[int, int]], scratch: Path | None = None) -> None:
        self.store, self.materials, self.scratch = store, list(materials), scratch
        self.tables: TierTables = tier_tables(store.variant, self.materials)
        self.places: NDArray[np.int64] = np.zeros(4 * len(self.materials), dtype=np.int64)
        self.arrays: dict[tuple[int, int], tuple[NDArray[np.unsignedinteger], NDArray[np.unsignedinteger]]] = {}

    def number(self, material: tuple[int, int]) -> int:
        """Return the number that a tier has in the tables."""
        return self.materials.index(material)

    def load(self, material: tuple[int, int]) -> None:
        """Unpack a tier and verify its checksums, unless it is already unpacked."""
        if material in self.arrays:
            return
        tier = self.store.tier(*material)
        tier.check_entries(int(self.tables.tier.size[self.number(material)]))
        arrays = []
        for side in SIDES:
            dtype = np.dtype(getattr(tier.record, side).dtype)
            out = None
            if self.scratch is not None:
                out = mapped_array(self.scratch / f"{tier.record.name}-{side}.codes", tier.entries, dtype)
            arrays.append(tier.codes(side, out))
        for side_number, codes in enumerate(arrays):
            at = 2 * (2 * self.number(material) + side_number)
            self.places[at + ADDRESS] = codes.ctypes.data
            self.places[at + WIDE] = codes.dtype.itemsize == 2
        self.arrays[material] = (arrays[0], arrays[1])

    def drop(self, material: tuple[int, int]) -> None:
        """Free a tier's codes."""
        at = 4 * self.number(material)
        self.places[at : at + 4] = 0
        self.arrays.pop(material, None)
        if self.scratch is not None:
            for side in SIDES:
                (self.scratch / f"{tier_name(material)}-{side}.codes").unlink(missing_ok=True)


def tiers_within(store: Store, memory: int) -> TierValues | None:
    """Load the values of as many tiers as fit into ``memory`` bytes, beginning with the fewest men.

    Return None if no tier fits.
    """
    needs = sorted((sum(material), _bytes_of(store, material), material) for material in store.tiers())
    chosen = []
    for _, need, material in needs:
        if need <= memory:
            memory -= need
            chosen.append(material)
    if not chosen:
        return None
    unpacked = UnpackedTiers(store, chosen)
    for material in chosen:
        unpacked.load(material)
    arrays = tuple(codes for both in unpacked.arrays.values() for codes in both)
    values = value_table(store.variant.rules.move_limit)
    return TierValues(unpacked.tables, unpacked.places, values, arrays)


def _bytes_of(store: Store, material: tuple[int, int]) -> int:
    """Return an upper bound on the number of bytes that a tier takes in memory, including its index."""
    tier, plain = store.tier(*material), tier_index(store.variant, *material)
    width: int = sum(np.dtype(getattr(tier.record, side).dtype).itemsize for side in SIDES)
    return width * tier.entries + _INDEX_BYTES * plain.combinations


# -- arrays in files of a scratch folder -------------------------------------------------
# Disk space is reserved before an array is used, because writing a page of a mapped file to a full disk would kill the
# process without a message. Where the system allows it, the file is unlinked immediately. No file is then left behind,
# however the process ends.


def mapped_array(path: Path, size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros that is mapped from a new file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        reserve(path, max(size, 1) * np.dtype(dtype).itemsize)
        array = np.memmap(path, dtype=dtype, mode="r+", shape=(max(size, 1),)).view(np.ndarray)
        if os.name == "posix":
            path.unlink()
    except OSError as error:
        if isinstance(error.errno, int):
            raise output_failure(f"scratch file {str(path)!r}", error) from error
        raise
    return array[:size]
