"""Outline of a proof: the winner's moves in long wins. From them, a search can reproduce the rest in minutes.

Only a few per cent of a certificate's lines are needed. Their positions are not stored, because the moves lead to them
ply by ply from the proof's root. The outline of an unfinished search begins at the positions proved so far. An outline
is not a proof: everything derived from it is searched and extracted as usual, and checked under the plain rules.
"""

from __future__ import annotations

import lzma
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from retrograde.proofs.strategy import PackedStrategy, after_replies, first_positions, joined, text_of
from retrograde.proofs.table import LONGEST
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from tablut.board import Board
from tablut.engine.engine import position_keys
from tablut.errors import InputError
from tablut.work.files import read_bytes, write_bytes
from tablut.work.sealed_records import Count, DataFile, Digest, Record, check_data, data_file, read_record, write_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from retrograde.proofs.proof_tree import Node
    from retrograde.proofs.proving import ProofRun
    from tablut.engine import Engine

LEAST: Final = 7
"""Default minimum length, in plies, of the wins in an outline. Shorter wins are found immediately."""
_SEEN: Final = 3
"""Maximum length, in plies, of wins that are found without a search."""
_BATCH: Final = 100_000
_MOST: Final = 64 << 20
"""Maximum size of an uncompressed outline in bytes."""
_FILES: Final = 2
"""Maximum number of data files of an outline."""
_AGAIN: Final = "make it again with `outline`"


class OutlineRecord(Record):
    """The file ``NAME.outline.json``, which describes an outline.

    The compressed data are in ``NAME.outline-1.xz`` and, if needed, ``NAME.outline-2.xz``. They begin with one byte for
    each of the ``positions`` where the win takes more than three plies, in the order in which the moves reach them. The
    byte is the number, from 1, of the winner's move among all moves in ascending order, or 0 if the outline has no move
    for the position. The ``lines`` are the positions with a move. For each of them, the remaining plies minus the win's
    length is stored after these bytes: first the low bytes of all lines, then the high bytes.
    """

    FORMAT: ClassVar[str] = "tablut proof outline"

    game: Digest
    position: str
    winner: str
    starts: tuple[str, ...]
    plies: Count
    positions: Count
    lines: Count
    data: tuple[DataFile, ...]


def write_outline(path: Path, run: ProofRun, least: int, most: int) -> OutlineRecord:
    """Write the outline of a run's proof: a record at ``path``, and at most two data files of ``most`` bytes each."""
    tops, strategy = _tops(run), run.whole
    if strategy is None:
        strategy = joined(run.engine, [run.own_moves(run.tree.strategy(*tops, holds=False)[0]), *run.strategies])
    keys = position_keys(strategy.words)
    words = np.frombuffer(b"".join(top.words for top in tops), dtype=np.uint64).reshape(len(tops), -1)
    starts = tuple(text_of(run.engine, board) for board in run.engine.boards(words))
    numbers, shorter = list[NDArray[np.uint8]](), [np.empty(0, dtype=np.int64)]

    def chosen(fresh: PackedStrategy) -> PackedStrategy:
        places, found = _places(keys, fresh.words)
        on = found & (strategy.plies[places] >= least)
        lines = strategy.chosen(places[on])
        moves, first, counts = _moves(strategy.engine, lines.words)
        which = np.flatnonzero(moves == np.repeat(lines.moves, counts))
        numbers.append(np.zeros(len(fresh), dtype=np.uint8))
        numbers[-1][on] = 1 + which - first
        shorter.append(fresh.plies[on] - lines.plies)
        return lines

    plies = int(strategy.plies.max(initial=0)) + 1
    _walk(run, starts, plies, chosen)
    halves = np.divmod(np.concatenate(shorter), 256)[::-1]
    columns = (*numbers, *(half.astype(np.uint8) for half in halves))
    content, limit = lzma.compress(b"".join(column.tobytes() for column in columns)), _FILES * most
    if len(content) > limit:
        raise InputError(
            f"gives {len(content):,} bytes, but {limit:,} are allowed", subject=f"--least {least}", remedy="increase it"
        )
    pieces = [content[start : start + most] for start in range(0, len(content), most)]
    for number, piece in enumerate(pieces, 1):
        write_bytes(_data(path, number), piece)
    for number in range(len(pieces) + 1, _FILES + 1):
        _data(path, number).unlink(missing_ok=True)
    record = OutlineRecord(
        game=run.variant.digest,
        position=run.about.position,
        winner=run.winner,
        starts=starts,
        plies=plies,
        positions=sum(map(len, numbers)),
        lines=sum(map(len, shorter)),
        data=tuple(data_file(_data(path, number)) for number in range(1, len(pieces) + 1)),
    )
    write_record(path, record)
    return record


def read_outline(path: Path, run: ProofRun) -> PackedStrategy:
    """Return an outline's lines. The outline must belong to the run's position."""
    what = f"outline {str(path)!r}"
    record = read_record(path, OutlineRecord, "outline", _AGAIN)
    if record is None:
        raise InputError("does not exist", subject=what, remedy=_AGAIN)
    if (record.game, record.position, record.winner) != (run.variant.digest, run.about.position, run.winner):
        raise InputError("belongs to another position, game or winner", subject=what, remedy=_AGAIN)
    try:
        over = any(Board(run.variant, text).is_game_over() for text in record.starts)
    except InputError as error:
        raise InputError(str(error), subject=what, remedy=_AGAIN) from error
    if over:
        raise InputError("begins in a position where the game is over", subject=what, remedy=_AGAIN)
    length = record.positions + 2 * record.lines
    if length > _MOST or record.plies > LONGEST or len(record.data) > _FILES:
        raise InputError(
            f"gives {length:,} bytes and {record.plies:,} plies, more than is allowed", subject=what, remedy=_AGAIN
        )
    packed = b""
    for number, part in enumerate(record.data, 1):
        check_data(_data(path, number), part, "outline", _AGAIN)
        packed += read_bytes(_data(path, number), "outline")
    try:
        unpacked = lzma.LZMADecompressor().decompress(packed, length)
    except lzma.LZMAError as error:
        raise InputError(f"cannot be read: {error}", subject=what, remedy=_AGAIN) from error
    content = np.frombuffer(unpacked, dtype=np.uint8)
    if len(content) != length:
        raise InputError(f"has {len(content):,} bytes, but its record gives {length:,}", subject=what, remedy=_AGAIN)
    low, high = content[record.positions :].reshape(2, record.lines).astype(np.int64)
    at, shorter, lines = 0, low + 256 * high, list[PackedStrategy]()

    def chosen(fresh: PackedStrategy) -> PackedStrategy:
        nonlocal at, shorter
        numbers = content[at : min(at + len(fresh), record.positions)].astype(np.int64)
        on = np.flatnonzero(numbers)
        moves, first, counts = _moves(run.engine, fresh.words[on])
        if len(numbers) < len(fresh) or len(on) > len(shorter) or (numbers[on] > counts).any():
            raise InputError("has moves that do not fit its positions", subject=what, remedy=_AGAIN)
        at, plies, shorter = at + len(fresh), fresh.plies[on] - shorter[: len(on)], shorter[len(on) :]
        if (plies <= _SEEN).any():
            raise InputError(f"has a win within {plies.min()} plies, too short for a line", subject=what, remedy=_AGAIN)
        lines.append(PackedStrategy(run.engine, fresh.words[on], plies, moves[first + numbers[on] - 1]))
        return lines[-1]

    _walk(run, record.starts, record.plies, chosen)
    return joined(run.engine, lines)


def _data(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}-{number}.xz")


def _tops(run: ProofRun) -> list[Node]:
    """Return the root of a run's tree if it is proved; otherwise the topmost proved positions."""
    nodes = [run.tree.root] if run.tree.root.proof == 0 else run.tree.nodes.values()
    return [one for one in nodes if one.proof == 0 and (not one.parents or any(above.proof for above in one.parents))]


def _walk(run: ProofRun, starts: Iterable[str], plies: int, chosen: Callable[[PackedStrategy], PackedStrategy]) -> None:
    """Follow the chosen moves from the start positions, and call ``chosen`` with each batch of new positions.

    Each position is visited once, with the number of remaining plies. Positions with a win within three plies are
    skipped.
    """
    engine, group = run.engine, run.variant.symmetries
    none = WinSearch(engine, run.prover, 1 << 20, ProofBudget(ProofLimits(nodes=0)))

    seen: list[tuple[PackedStrategy, NDArray[Any]]] = []

    def slow(part: PackedStrategy) -> PackedStrategy:
        for _, keys in seen:
            part = part.chosen(~_places(keys, part.words)[1])
        return part.chosen(none.winning_moves(part.words, np.full(len(part), _SEEN))[:, 1] < 0)

    begun = [Board(run.variant, text) for text in starts]
    boards = (engine.board(one.position.cells, one.position.side) for one in begun)
    waiting = iter([first_positions(engine, run.prover, board, plies, group) for board in boards])
    while parts := [slow(part) for part in waiting]:
        fresh = joined(engine, parts)
        lines = chosen(fresh)
        while seen and len(seen[-1][0]) < 4 * len(fresh):
            fresh = joined(engine, [seen.pop()[0], fresh])
        seen.append((fresh, position_keys(fresh.words)))
        waiting = after_replies(engine, lines, group)


def _places(keys: NDArray[Any], words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the indices of positions among sorted keys, and whether each position is among them."""
    wanted = position_keys(words)
    places = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    return places, keys[places] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)


def _moves(engine: Engine, words: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the moves of all positions in one array, and each position's first index and number of moves.

    A position's moves are in ascending order.
    """
    moves, counts = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int64)]
    for start in range(0, len(words), _BATCH):
        children = engine.expand(words[start : start + _BATCH])
        moves.append(children.moves[np.lexsort((children.moves, children.parents))])
        counts.append(np.bincount(children.parents, minlength=len(words[start : start + _BATCH])))
    count = np.concatenate(counts)
    return np.concatenate(moves), np.cumsum(count) - count, count
