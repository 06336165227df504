"""Asking a tablebase: one position, the moves of a board, or arrays of positions.

>>> from tablut.position import Position
>>> from tablut.variants import load_variant
>>> tablebase = prober_for(load_variant("ashton"))
>>> position = Position.parse("9/9/9/4w4/2K6/9/9/9/4b4 b", 9)
>>> tablebase.probe_wdl(position), tablebase.probe_dtm(position), tablebase.max_men
('loss', 2, 5)
>>> board = Board("ashton", position)
>>> board.push(tablebase.best_moves(board)[0].move)
>>> [(str(best.move), best.wdl, best.dtm) for best in tablebase.best_moves(board)[:1]]
[('c5-c1', 'win', 1)]

Values are exact and without history: those of a position that is the first of its game.
What is neither won nor lost is a draw, or unresolved where a repetition loses the
game for the mover; so is a win or loss that a move limit leaves no room for. A `Board` knows how
many plies were made; a `Position`, and each of an array, is the first of its game, with all
plies left. Likewise only a board knows which of its moves repeat. The tables themselves hold
distances without the limit: it is applied here.

A position in which the side to move cannot move is lost in 0 plies. Under
``no_moves = either_after_ply`` a position whose other side cannot move counts as undecided too
(as in the index): the side to move still makes a ply, after which the rules judge.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from cachetools import LRUCache

from retrograde.tablebase.records import TablebaseError
from retrograde.tablebase.store import Store, StoredTier, open_store
from tablut.board import Board
from tablut.errors import InputError
from tablut.formats.reading import PositionLike, as_position
from tablut.indexing.values import (
    MISSING,
    Verdict,
    Wdl,
    a_ply_earlier,
    unforced,
    value_of_code,
    verdict_of,
    within_limit,
)
from tablut.position import Move, Position, SideName
from tablut.prober import MissingTableError
from tablut.store.files import store_path
from tablut.variants import Variant, VariantLike, as_variant

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from retrograde.tablebase.batch import BatchProber
    from tablut.indexing.tier_tables import TierValues

__all__ = ["RatedMove", "Tablebase", "open_tablebase", "prober_for", "shipped_store"]

CACHE_BYTES: Final = 256 << 20
"""Most memory for chunks that single probes have unpacked; all of ashton up to five men takes 170 MiB."""

Default = TypeVar("Default")


class RatedMove(NamedTuple):
    """A move and what it is worth to the side that makes it.

    Attributes
    ----------
    move : Move
        The move.
    wdl : {'win', 'draw', 'loss', 'unresolved'}
        For the mover.
    dtm : int or None
        Plies to the end, the move itself included.
    """

    move: Move
    wdl: Wdl
    dtm: int | None


class Tablebase:
    """A tablebase to be probed, also from several threads; see `open_tablebase`.

    A copy, or what was pickled, opens the same folder again.

    Parameters
    ----------
    store : Store
        The files.
    cache_bytes : int
        Most memory for unpacked chunks; a chunk at least is kept.

    Attributes
    ----------
    store : Store
        The files.
    variant : Variant
        The game.
    """

    def __init__(self, store: Store, cache_bytes: int = CACHE_BYTES) -> None:
        self.store, self.variant = store, store.variant
        self._unforced = unforced(self.variant)
        self._cells = self.variant.size**2
        # By material, side and number.
        self._chunks: Any = LRUCache(cache_bytes, getsizeof=lambda chunk: chunk.nbytes)
        self._lock, self._batch_lock = Lock(), Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle a tablebase by its folder, which is opened again."""
        return open_tablebase, (self.store.root.resolve(), self._chunks.maxsize)

    # -- what is there -----------------------------------------------------------------

    def covers(self, attackers: int, defenders: int) -> bool:
        """Return whether the values of a material are there.

        Parameters
        ----------
        attackers, defenders : int
            The material.

        Returns
        -------
        bool
            Whether its tier is stored.

        Raises
        ------
        DamagedTableError
            If it has been deleted: a tier that is built out of it is there.
        """
        if self.store.has(attackers, defenders):
            return True
        self.store.check_not_gone((attackers, defenders))
        return False

    @cached_property
    def max_men(self) -> int:
        """The largest number of men, the king counted, up to which every tier is there; 1 if none is."""
        men = 1
        while True:
            tiers = [
                (attackers, men - attackers)
                for attackers in range(1, men + 1)
                if attackers <= self.variant.attackers and men - attackers <= self.variant.defenders
            ]
            if not tiers or not all(self.store.has(*tier) for tier in tiers):
                return men
            men += 1

    # -- one position ------------------------------------------------------------------

    def probe(self, position: PositionLike) -> Verdict:
        """Return the verdict on an undecided position.

        Parameters
        ----------
        position : Position, Board or str
            The history of a board counts for a move limit.

        Returns
        -------
        Verdict
            What it is worth to the side to move.

        Raises
        ------
        MissingTableError
            If its material is not covered.
        InputError
            If it is no undecided position of the variant, or the board of another one.
        TablebaseError
            If the tablebase is damaged.
        """
        return verdict_of(self.value(position), unforced=self._unforced)

    def probe_wdl(self, position: PositionLike) -> Wdl:
        """Return ``win``, ``draw``, ``loss`` or ``unresolved`` for the side to move; raises as `probe`.

        Parameters
        ----------
        position : Position, Board or str
            The position; the history of a board counts for a move limit.

        Returns
        -------
        str
            One of the four.
        """
        value = self.value(position)
        return "win" if value > 0 else "loss" if value < 0 else self._unforced

    def probe_dtm(self, position: PositionLike) -> int | None:
        """Return the plies to the end under best play; None unless a side can force a win; raises as `probe`.

        Parameters
        ----------
        position : Position, Board or str
            The position; the history of a board counts for a move limit.

        Returns
        -------
        int or None
            The plies.
        """
        return self.probe(position).dtm

    def get_wdl(self, position: PositionLike, default: Default | None = None) -> Wdl | Default | None:
        """Return what `probe_wdl` does, or the default where the material is not covered.

        Parameters
        ----------
        position : Position, Board or str
            The position; the history of a board counts for a move limit.
        default : object
            What to return there.

        Returns
        -------
        str or object
            One of the four, or the default.
        """
        try:
            return self.probe_wdl(position)
        except MissingTableError:
            return default

    def get_dtm(self, position: PositionLike, default: Default | None = None) -> int | Default | None:
        """Return what `probe_dtm` does, or the default where the material is not covered.

        Parameters
        ----------
        position : Position, Board or str
            The position; the history of a board counts for a move limit.
        default : object
            What to return there.

        Returns
        -------
        int, None or object
            The plies, or the default.
        """
        try:
            return self.probe_dtm(position)
        except MissingTableError:
            return default

    def value(self, position: PositionLike) -> int:
        """Return the value of an undecided position; see `tablut.indexing.values.verdict_of`; raises as `probe`.

        Parameters
        ----------
        position : Position, Board or str
            The position; the history of a board counts for a move limit.

        Returns
        -------
        int
            Its value.
        """
        if isinstance(position, Board):
            if position.variant != self.variant and not position.variant.same_game(self.variant):
                raise InputError(
                    f"position '{position.position}': is of {position.variant.name}, the tablebase of another game, "
                    f"{self.variant.name}"
                )
            place, plies = position.position, position.ply
        else:
            place, plies = position if isinstance(position, Position) else as_position(position, self.variant), 0
        limit = self.variant.rules.move_limit
        return within_limit(self.stored_value(place), None if limit is None else limit - plies)

    def stored_value(self, position: PositionLike) -> int:
        """Return the value of an undecided position as the table has it, as if there was no move limit.

        Parameters
        ----------
        position : Position, Board or str
            The position.

        Returns
        -------
        int
            See `tablut.indexing.values.verdict_of`; raises as `probe`.
        """
        position = as_position(position, self.variant)
        cells, side = position.cells, position.side
        if len(cells) != self._cells or cells.count("K") != 1:
            raise InputError(f"position '{position}': is no position of {self.variant.name} with one king")
        material = (cells.count("b"), cells.count("w"))
        if not material[0]:
            raise InputError(f"position '{position}': is decided: black has no soldier left")
        try:
            code = self._code(material, cells, "white" if side == "w" else "black")
        except MissingTableError as error:
            raise MissingTableError(f"position '{position}': {error}") from None
        if code is None:
            raise InputError(f"position '{position}': is no undecided position of {self.variant.name}")
        value: int = value_of_code(code)
        return value

    def _code(self, material: tuple[int, int], cells: str, side: SideName) -> int | None:
        """Return the stored code of a placement; None if it is no undecided one."""
        tier = self.store.tier(*material)
        entry = tier.index.entry(cells)
        if entry is None:
            return None
        number, offset = divmod(entry, tier.record.chunk)
        return int(self._chunk(material, tier, side, number)[offset])

    def _chunk(self, material: tuple[int, int], tier: StoredTier, side: SideName, number: int) -> NDArray[Any]:
        key = (material, side, number)
        with self._lock:
            kept: NDArray[Any] | None = self._chunks.get(key)
        if kept is not None:
            return kept
        chunk = tier.chunk(side, number)
        if chunk.nbytes <= self._chunks.maxsize:
            with self._lock:
                self._chunks[key] = chunk
        return chunk

    # -- moves -------------------------------------------------------------------------

    def best_moves(self, board: Board) -> list[RatedMove]:
        """Return the legal moves of a board, the best first, each from the mover's side.

        The quickest win comes first, the longest defence first among losses. A move that
        ends the game is worth what the rules say, and so is one that repeats a
        position of this board or reaches its move limit.

        Parameters
        ----------
        board : Board
            Not changed.

        Returns
        -------
        list of RatedMove
            All legal moves.

        Raises
        ------
        MissingTableError
            If a move leads to a material that is not covered.
        InputError
            If the board is of another game.
        """
        self.value(board)
        return sorted(rated_moves(board, self.value), key=_merit)

    # -- many positions ----------------------------------------------------------------

    @cached_property
    def _batch(self) -> BatchProber:
        from retrograde.tablebase.batch import BatchProber

        return BatchProber(self.store, self._code)

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of packed undecided positions.

        A tier of which many are asked for, in one call or over all, is unpacked into memory, a byte an entry, and
        stays. Of the others only the chunks are read that the positions need.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            As `tablut.engine.Engine.words` packs them.

        Returns
        -------
        ndarray of int16, shape (n,)
            See `tablut.indexing.values.verdict_of`; `tablut.indexing.values.MISSING` where no table
            knows, or the words are no undecided position.
        """
        with self._batch_lock:
            batch = self._batch
        return batch.probe(words, MISSING)

    def load_tiers(self, memory: int) -> TierValues | None:
        """Return the values of the tiers that fit into so many bytes, for compiled code.

        Those of the fewest men come first. Nothing that was returned before is shared.

        Parameters
        ----------
        memory : int
            Bytes, for codes and index.

        Returns
        -------
        TierValues or None
            None if no tier fits.

        Raises
        ------
        TablebaseError
            If a tier that fits is damaged.
        """
        from retrograde.tablebase.batch import tiers_within

        return tiers_within(self.store, memory)


def rated_moves(board: Board, value: Callable[[Board], int]) -> list[RatedMove]:
    """Return the legal moves of a board, each from the mover's side, by the values of the boards that they lead to."""
    board, word = board.copy(), unforced(board.variant)
    rated = []
    for move in list(board.legal_moves):
        mover = board.turn
        board.push(move)
        outcome = board.outcome()
        if outcome is None:
            verdict = verdict_of(a_ply_earlier(value(board)), unforced=word)
        elif outcome.winner is None:
            verdict = Verdict("draw", None)
        else:
            verdict = Verdict("win" if outcome.winner == mover else "loss", 1)
        board.pop()
        rated.append(RatedMove(move, *verdict))
    return rated


def best_line(board: Board, value: Callable[[Board], int]) -> tuple[Move, ...]:
    """Return best play by both sides from a board to the end of the game; nothing if neither side can force it."""
    board, line = board.copy(), []
    while board.outcome() is None and value(board):
        line.append(min(rated_moves(board, value), key=_merit).move)
        board.push(line[-1])
    return tuple(line)


def unlimited_board(variant: Variant, position: Position) -> Board:
    """Return a board without a move limit, for values of positions that are each the first of their game."""
    return Board(replace(variant, rules=variant.rules.model_copy(update={"move_limit": None})), position)


def _merit(rated: RatedMove) -> tuple[int, int]:
    if rated.wdl == "win":
        return 0, rated.dtm or 0
    return (2, -(rated.dtm or 0)) if rated.wdl == "loss" else (1, 0)


def open_tablebase(path: Path | str, cache_bytes: int = CACHE_BYTES) -> Tablebase:
    """Open a tablebase.

    Parameters
    ----------
    path : Path or str
        Its folder.
    cache_bytes : int
        Most memory for chunks that single probes have unpacked.

    Returns
    -------
    Tablebase
        To be probed.

    Raises
    ------
    TablebaseError
        If there is none that this program can read.
    """
    return Tablebase(open_store(path), cache_bytes)


@cache
def _shipped(data: Path) -> tuple[tuple[Path, Variant], ...]:
    """Return the tablebases in a folder of the program's own, which does not change while it runs."""
    folders = [path.parent for path in sorted(data.glob("*/zarr.json"))]
    return tuple((folder, open_store(folder).variant) for folder in folders)


def shipped_store(variant: VariantLike) -> Path | None:
    """Return the folder of the tablebase that ships for a variant's game, or None."""
    variant = as_variant(variant)
    data = Path(str(resources.files("retrograde"))) / "data"
    return next((folder for folder, game in _shipped(data) if game.same_game(variant)), None)


_probers: LRUCache[str, Tablebase] = LRUCache(16)
_probers_lock = Lock()


def _kept(place: str) -> Tablebase:
    """Return the open tablebase of a place, the same one as long as its records are what they were."""
    with _probers_lock:
        kept = _probers.get(place)
    if kept is not None and kept.store.is_current():
        return kept
    opened = open_tablebase(place)
    with _probers_lock:
        _probers[place] = opened
    return opened


def prober_for(variant: VariantLike, store: Path | str | None = None) -> Tablebase | None:
    """Return the tablebase of a variant: a store, or what ships; None if nothing does.

    Who asks again gets the same object, with all that it has read, unless the store has been changed meanwhile.
    It may be asked from several threads.
    """
    variant = as_variant(variant)
    found = store if store is not None else shipped_store(variant)
    if found is None:
        return None
    tablebase = _kept(str(store_path(found).resolve()))
    if not tablebase.variant.same_game(variant):
        raise TablebaseError(
            f"tablebase {str(found)!r}: is of {tablebase.variant.name!r}, another game than {variant.name!r}"
        )
    return tablebase
