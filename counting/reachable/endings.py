"""Final placements: their possible last plies, and whether a game can end in them.

A final placement is *reached* if a legal ply from a reached position leads to it and ends the game in the right way.
Samples are drawn from all final placements (`tablut.indexing.EndingIndex`). For each sample, the positions before the
last ply are listed. Then either a game to one of them is found, or lemmas or whole backward trees exclude them all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counting.reachable.certificates import PositionCertificate, encode_moves, lines_digest
from counting.reachable.checker import ENDED_AS
from counting.reachable.drawing import draw_number
from counting.reachable.games import EFFORTS, ProofGame, Settled, backward_tree, finder_for, pocket
from counting.reachable.lemmas import lemmas_for
from tablut.engine import engine_for
from tablut.engine.jit import I64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import (
    board_items,
    cell_on_cross,
    coordinates,
    count_of,
    direction_on_cross,
    king_of,
    line_of,
    move_of,
    own_pieces,
    side_of,
)
from tablut.engine.records import flat
from tablut.engine.tables import Tables
from tablut.engine.unmoves import MOST_UNMOVES, OriginTables, add_unmoves, line_origins, open_sides
from tablut.indexing import ENDINGS, Ending, EndingIndex
from tablut.position import Move
from tablut.rules.outcome import KING_CAPTURED, KING_ESCAPED, OUTCOMES
from tablut.variants import Variant

OUTCOME_OF: Final[dict[Ending, int]] = {ending: OUTCOMES.index(outcome) for ending, outcome in ENDED_AS.items()}
"""The outcome of the ply that leads to a final placement, for each kind of ending."""

EXCLUSIONS: Final = ("no_last_ply", "predecessors")
"""Reasons why a final placement is unreachable: no ply leads to it, or lemmas exclude every previous position."""

_FIRST_EFFORTS: Final = 3
_MOVE: Final = (1 << 14) - 1
"""The bits of an undo record that contain its move."""


class LastPlies(NamedTuple):
    """The plies that can have led to final placements.

    Attributes
    ----------
    boards : ndarray of uint32, shape (m, 2N + 4)
        The counted positions before the plies.
    sources : ndarray of int64, shape (m,)
        The row of the final placement to which each ply leads, in ascending order.
    moves : ndarray of int32, shape (m,)
        The plies.
    """

    boards: NDArray[np.uint32]
    sources: NDArray[np.int64]
    moves: NDArray[np.int32]


@lru_cache(maxsize=16)
def ending_index(variant: Variant) -> EndingIndex:
    """Return the index of a variant's final placements. Equal variants share one object."""
    return EndingIndex(variant)


@inlined
def _beside(t: Tables, cell: int, other: int) -> bool:
    """Return whether two cells share an edge."""
    return bool(t.facing[cell * t.cells + other] != 0)


@inlined
def _leads(
    t: Tables,
    board: NDArray[np.uint32],
    record: int,
    outcome: int,
    before: NDArray[np.uint32],
    after: NDArray[np.uint32],
) -> bool:
    """Write the position before an un-move.

    Return whether the ply leads to the final placement and has the given outcome.
    """
    for place in range(board_items(t.size)):
        before[place] = board[place]
    unmake(t, before, record)
    if count_of(t, before, 1) == 0:
        return False
    for place in range(board_items(t.size)):
        after[place] = before[place]
    undo, ended = make(t, after, record & _MOVE)
    return bool(undo == record and ended == outcome)


@inlined
def _un_moves_to(
    t: Tables, r: OriginTables, board: NDArray[np.uint32], cell: int, kind: int, records: NDArray[np.int32]
) -> int:
    """Write all un-moves of the piece on a cell, with any captures; return their number."""
    side, centre = I64(kind == 0), coordinates(t, cell)
    missing = (r.defenders if side == 1 else r.attackers) - count_of(t, board, side ^ 1)
    sides = open_sides(t, r, board, side, cell)
    origins = line_origins(t, r, board, cell, kind)
    count = I64(0)
    while origins:
        place = trailing_zeros(origins)
        origins &= origins - 1
        move = move_of(t, cell_on_cross(t, centre, place), cell)
        count = add_unmoves(records, count, move, sides & ~direction_on_cross(centre, place), missing)
    return count


@kernel
def _last_plies(
    tables: Tables,
    origins: OriginTables,
    boards: NDArray[np.uint32],
    outcomes: NDArray[np.int64],
    before: NDArray[np.uint32],
    sources: NDArray[np.int64],
    moves: NDArray[np.int32],
) -> int:
    """Write the plies that lead to final placements, shape (n, 2N + 4), and return their number.

    If ``sources`` is empty, the plies are only counted.
    """
    t, r = flat(tables), flat(origins)
    stride = board_items(t.size)
    scratch, room = np.empty(2 * stride, dtype=np.uint32), np.empty(MOST_UNMOVES * t.size, dtype=np.int32)
    one, other, records = pointer(scratch), advance(pointer(scratch), stride), pointer(room)
    total = 0
    for index in range(len(boards)):
        board, outcome = advance(pointer(boards), index * stride), I64(outcomes[index])
        side, king = side_of(t, board) ^ 1, king_of(t, board)
        for cell in range(t.cells):
            rank, file = coordinates(t, cell)
            if (own_pieces(line_of(board, rank), side) >> file) & 1 == 0:
                continue
            royal = side == 0 and cell == king
            # Only a move of the king is an escape, and only an attacker next to the king can have captured it.
            if (outcome == KING_ESCAPED and not royal) or (outcome == KING_CAPTURED and not _beside(t, king, cell)):
                continue
            for number in range(_un_moves_to(t, r, board, cell, I64(2) if royal else 1 - side, records)):
                record = I64(records[number])
                if not _leads(t, board, record, outcome, one, other):
                    continue
                if len(sources) != 0:
                    kept = advance(pointer(before), total * stride)
                    for item in range(stride):
                        kept[item] = one[item]
                    sources[total], moves[total] = index, np.int32(record & _MOVE)
                total += 1
    keep(scratch)
    keep(room)
    return total


def last_plies(variant: Variant, boards: NDArray[np.uint32], outcomes: NDArray[np.int64]) -> LastPlies:
    """Return every ply from a counted position that leads to a final placement with the given outcome."""
    tables = lemmas_for(variant).tables
    boards = np.ascontiguousarray(boards)
    stride = boards.shape[1]
    none = np.empty((0, stride), np.uint32), np.empty(0, np.int64), np.empty(0, np.int32)
    total = int(_last_plies(tables.rules, tables.origins, boards, outcomes, *none))
    found = LastPlies(np.empty((total, stride), np.uint32), np.empty(total, np.int64), np.empty(total, np.int32))
    if total:
        _last_plies(tables.rules, tables.origins, boards, outcomes, *found)
    return found


def settle_endings(variant: Variant, seed: int, first: int, count: int) -> Settled:
    """Decide ``count`` samples of final placements from ``first`` on, by game, lemma or backward tree."""
    engine, index = engine_for(variant), ending_index(variant)
    numbers = [draw_number(index.size, seed, first + place) for place in range(count)]
    finals = [index.unrank(number) for number in numbers]
    boards = np.array([engine.board(final.position.cells, final.position.side) for final in finals])
    plies = last_plies(variant, boards, np.array([OUTCOME_OF[final.ending] for final in finals], dtype=np.int64))
    passed = np.flatnonzero(lemmas_for(variant).of_boards(plies.boards) == 0)
    rows: dict[int, list[int]] = {}
    for row in passed.tolist():
        rows.setdefault(int(plies.sources[row]), []).append(row)
    games = _games_before(variant, plies, rows, first + 1)

    certificates, lengths, unknown = [], [], 0
    endings: dict[str, list[int]] = {ending: [0, 0] for ending in ENDINGS}
    for place, number in enumerate(numbers):
        claim: dict[str, Any] = {}
        if place in games:
            row, game = games[place]
            last = Move.from_code(int(plies.moves[row]), variant.size)
            moves = (*game.moves, (last.start, last.target))
            claim["game"] = encode_moves(moves)
            lengths.append(len(moves))
        elif place not in rows:
            claim["tree"] = 1
        elif (tree := backward_tree(variant, engine.words(plies.boards[rows[place]]))) is not None:
            claim["tree"] = 1 + len(tree)
        elif all(pocket(variant, plies.boards[row]) for row in rows[place]):
            claim["tree"] = 1
        else:
            claim["unknown"] = True
            unknown += 1
        endings[finals[place].ending][0] += 1
        endings[finals[place].ending][1] += place in games
        certificates.append(PositionCertificate(i=first + place, n=str(number), **claim))
    made = len(np.unique(plies.sources))
    result = {
        "lemmas": [len(rows), count - made, made - len(rows)],
        "outside": 0,
        "found": len(games),
        "exhausted": len(rows) - len(games) - unknown,
        "unknown": unknown,
        "plies": lengths,
        "digest": lines_digest(certificates),
        "endings": endings,
    }
    return result, certificates


def _games_before(
    variant: Variant, plies: LastPlies, rows: dict[int, list[int]], seed: int
) -> dict[int, tuple[int, ProofGame]]:
    """Return, for each final placement, a last ply with a game to the position before it, if one is found.

    First all last plies are tried with little effort, then all of them with more effort.
    """
    finder, games = finder_for(variant), dict[int, tuple[int, "ProofGame"]]()
    hopeless: set[int] = set()
    for efforts in (EFFORTS[:_FIRST_EFFORTS], EFFORTS):
        for turn in range(max(map(len, rows.values()), default=0)):
            tried = [
                (place, own[turn])
                for place, own in rows.items()
                if place not in games and turn < len(own) and own[turn] not in hopeless
            ]
            if not tried:
                continue
            boards = plies.boards[[row for _, row in tried]]
            for (place, row), game in zip(tried, finder.find(boards, seed=seed, efforts=efforts), strict=True):
                if game.status == "game":
                    games[place] = row, game
                elif game.status == "exhausted":
                    hopeless.add(row)
    return games
