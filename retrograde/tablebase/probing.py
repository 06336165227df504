"""Probing a tablebase for a position, for every legal move on a board, or for an array of positions.

>>> from tablut import Board
>>> from tablut.position import Position
>>> from tablut.variants import load_variant
>>> tablebase = prober_for(load_variant("ashton"))
>>> position = Position.parse("9/9/9/4w4/2K6/9/9/9/4b4 b", 9)
>>> tablebase.probe(position), tablebase.max_men
(Verdict(wdl='loss', dtm=2), 5)
>>> board = Board("ashton", position)
>>> board.push(tablebase.best_moves(board)[0].move)
>>> [(str(best.move), best.wdl, best.dtm) for best in tablebase.best_moves(board)[:1]]
[('c5-c1', 'win', 1)]

Values are exact, and ignore history: each position is valued as if a game began with it. A position that is neither won
nor lost is a draw, or is unresolved if the rules make a player who repeats a position lose. A win or loss that takes
more plies than a move limit leaves also counts as a draw or as unresolved. A `Board` records the number of plies made.
A `Position`, and every position in an array, counts as the first position of a game, with all plies left. Only a board
records earlier positions, so only a board shows repetitions. The tables themselves store distances without the move
limit, and this module applies the limit.

A position is lost in 0 plies if the side to move has no legal move. Under ``no_moves = either_after_ply``, a position
where the other side has no legal move also counts as undecided, here and in the index. The side to move still makes a
ply, after which the rules decide the game.
"""

from __future__ import annotations

from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from cachetools import LRUCache

from retrograde.tablebase.store import Store, StoredTier, TablebaseError, open_store
from tablut.errors import InputError, numbers, whole_number
from tablut.indexing.values import MISSING, value_of_code
from tablut.position import Position, SideName
from tablut.prober import MissingTableError, TierProber
from tablut.variants import Variant, VariantLike, as_variant, variant_names
from tablut.work.files import store_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from retrograde.tablebase.bulk_probing import BatchProber
    from tablut.indexing.tier_tables import TierValues

__all__ = ["Tablebase", "open_tablebase", "prober_for", "shipped_store"]

CACHE_BYTES: Final = 256 << 20
"""Default limit on the memory for unpacked chunks, in bytes. The ashton tiers of up to five men take 170 MiB."""


class Tablebase(TierProber):
    """An open tablebase, which can be probed from several threads; see `open_tablebase`.

    A copied or unpickled tablebase opens the same folder again.

    Parameters
    ----------
    store : Store
        The files of the tablebase.
    cache_bytes : int
        Maximum memory for unpacked chunks, in bytes. A larger chunk is not cached.

    Attributes
    ----------
    store : Store
        The files of the tablebase.
    variant : Variant
        The game.
    """

    @numbers(cache_bytes=whole_number)
    def __init__(self, store: Store, cache_bytes: int = CACHE_BYTES) -> None:
        self.store, self.variant = store, store.variant
        self._cells = self.variant.size**2
        # Unpacked chunks, by material, side and number.
        self._chunks: Any = LRUCache(cache_bytes, getsizeof=lambda chunk: chunk.nbytes)
        self._lock, self._batch_lock = Lock(), Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle or copy a tablebase as its folder's path. The copy opens the folder again."""
        return open_tablebase, (self.store.root.resolve(), self._chunks.maxsize)

    # -- coverage ----------------------------------------------------------------------

    @numbers(attackers=whole_number, defenders=whole_number)
    def covers(self, attackers: int, defenders: int) -> bool:
        """Return whether the tablebase contains the tier with the given material.

        Parameters
        ----------
        attackers, defenders : int
            The material.

        Returns
        -------
        bool
            Whether the tier is stored.

        Raises
        ------
        DamagedTableError
            If the tier has been deleted while a tier that was built from it is still stored.
        """
        if self.store.has(attackers, defenders):
            return True
        self.store.check_not_deleted((attackers, defenders))
        return False

    @property
    def max_men(self) -> int:
        """Greatest n such that all tiers with up to n men, including the king, are stored; 1 if no tier is stored."""
        return self.store.max_men

    # -- one position ------------------------------------------------------------------

    def _stored(self, position: Position) -> int:
        """Return the stored value. Raise `TablebaseError` if the tablebase is damaged."""
        cells, side = position.cells, position.side
        if len(cells) != self._cells or cells.count("K") != 1:
            raise InputError(f"is not a {self.variant.name} position with one king", subject=f"position '{position}'")
        material = (cells.count("b"), cells.count("w"))
        if not material[0]:
            raise InputError("is decided: black has no soldier left", subject=f"position '{position}'")
        try:
            code = self._code(material, cells, "white" if side == "w" else "black")
        except MissingTableError as error:
            raise MissingTableError(str(error), subject=f"position '{position}'") from None
        if code is None:
            raise InputError(f"is not an undecided position of {self.variant.name}", subject=f"position '{position}'")
        value: int = value_of_code(code)
        return value

    def _code(self, material: tuple[int, int], cells: str, side: SideName) -> int | None:
        """Return a placement's stored code, or None if the placement is not an undecided position."""
        tier = self.store.tier(*material)
        entry = tier.index.entry(cells)
        if entry is None:
            return None
        number, offset = divmod(entry, tier.record.chunk)
        return int(self._chunk(material, tier, side, number)[offset])

    def _chunk(self, material: tuple[int, int], tier: StoredTier, side: SideName, number: int) -> NDArray[Any]:
        key = (material, side, number)
        with self._lock:
            cached: NDArray[Any] | None = self._chunks.get(key)
        if cached is not None:
            return cached
        chunk = tier.chunk(side, number)
        if chunk.nbytes <= self._chunks.maxsize:
            with self._lock:
                self._chunks[key] = chunk
        return chunk

    # -- many positions ----------------------------------------------------------------

    @cached_property
    def _batch(self) -> BatchProber:
        from retrograde.tablebase.bulk_probing import BatchProber

        return BatchProber(self.store, self._code)

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of packed undecided positions.

        Once many positions in a tier have been probed, in one call or several, the tier is unpacked and kept in memory,
        where it takes about one byte per entry. For other tiers, only the required chunks are read.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            Positions, packed by `tablut.engine.Engine.words`.

        Returns
        -------
        ndarray of int16, shape (n,)
            The values; see `tablut.indexing.values.verdict_of`. The value is `tablut.indexing.values.MISSING` if no
            table covers a position, or if its words do not represent an undecided position.
        """
        with self._batch_lock:
            batch = self._batch
        return batch.probe(words, MISSING)

    def load_tiers(self, memory: int) -> TierValues | None:
        """Load the values of as many tiers as fit into memory, for use by compiled code.

        Tiers with the fewest men are loaded first. Each call loads new arrays, which are not shared with earlier
        results.

        Parameters
        ----------
        memory : int
            Maximum memory for the codes and the index, in bytes.

        Returns
        -------
        TierValues or None
            The values, or None if no tier fits.

        Raises
        ------
        TablebaseError
            If a tier to be loaded is damaged.
        """
        from retrograde.tablebase.bulk_probing import tiers_within

        return tiers_within(self.store, memory)


def open_tablebase(path: Path | str, cache_bytes: int = CACHE_BYTES) -> Tablebase:
    """Open a tablebase.

    Parameters
    ----------
    path : Path or str
        Folder of the tablebase, or the name of a rule set whose tablebase is shipped.
    cache_bytes : int
        Maximum memory for the chunks that are unpacked for single probes, in bytes.

    Returns
    -------
    Tablebase
        The open tablebase.

    Raises
    ------
    TablebaseError
        If the folder is not a tablebase that this program can read.

    Examples
    --------
    >>> open_tablebase("brandubh").max_men
    5
    """
    if isinstance(path, str) and path in variant_names() and not Path(path).exists():
        path = shipped_store(path) or path
    return Tablebase(open_store(path), cache_bytes)


@cache
def _shipped(data: Path) -> tuple[tuple[Path, Variant], ...]:
    """Return the tablebases in a data folder. The folder must not change while the program is running."""
    folders = [path.parent for path in sorted(data.glob("*/zarr.json"))]
    return tuple((folder, open_store(folder).variant) for folder in folders)


def shipped_store(variant: VariantLike) -> Path | None:
    """Return the folder of the built-in tablebase for a variant's game, or None if there is none."""
    variant = as_variant(variant)
    data = Path(str(resources.files("retrograde"))) / "data"
    return next((folder for folder, game in _shipped(data) if game.same_game(variant)), None)


_probers: LRUCache[str, Tablebase] = LRUCache(16)
_probers_lock = Lock()


def _kept(place: str) -> Tablebase:
    """Open the tablebase in a folder, or return it from a cache if its records on disk have not changed."""
    with _probers_lock:
        cached = _probers.get(place)
    if cached is not None and cached.store.is_current():
        return cached
    opened = open_tablebase(place)
    with _probers_lock:
        _probers[place] = opened
    return opened


def prober_for(variant: VariantLike, store: Path | str | None = None) -> Tablebase | None:
    """Return a variant's tablebase from a given store, or the built-in one by default.

    The result is None if no store is given and no tablebase is built in for the variant. A later call returns the same
    object, with all data that it has read, unless the store has changed in the meantime. The tablebase may be used from
    several threads.
    """
    variant = as_variant(variant)
    folder = store if store is not None else shipped_store(variant)
    if folder is None:
        return None
    tablebase = _kept(str(store_path(folder).resolve()))
    if not tablebase.variant.same_game(variant):
        raise TablebaseError(
            f"belongs to {tablebase.variant.name!r}, a different game from {variant.name!r}",
            subject=f"tablebase {str(folder)!r}",
        )
    return tablebase
