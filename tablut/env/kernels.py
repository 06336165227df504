"""Many games at once, compiled: legal actions, plies with all that ends a game, planes; see `tablut.env.batch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.attacks import is_legal, slides_along, slides_of, winner_of
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount, scalar, trailing_zeros
from tablut.engine.kernels import can_move, count_moves, generate, key_change, line_content, make, unmake
from tablut.engine.layout import (
    board_items,
    coordinates,
    king_of,
    line_of,
    move_of,
    occupied,
    own_pieces,
    side_of,
    start_of,
    undo_captured,
)
from tablut.engine.records import flat
from tablut.env.encoding import BEFORE, PLANES, TO_MOVE, others, slides_a_cell
from tablut.play.players.montecarlo import random_below
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

UNCOUNTED, ENDS, ILLEGAL = range(3)
"""What a repetition does: nothing, it ends the game, or the move that makes it is illegal."""
_PLANES: Final = len(PLANES)


class Games(NamedTuple):
    """Games under way; G of them, N the size, A the number of actions.

    Attributes
    ----------
    rule, times, limit : int
        What a repetition does, the occurrence that counts, and the plies at which a game is drawn (-1: never).
    worth : ndarray of int8, shape (2,)
        What a repetition is worth to white if white, or black, made it.
    room : int
        Earlier positions that a game has room for.
    codes, numbers : ndarray of int32
        The engine's code of each action, and the action of each code.
    terrain : ndarray of uint8
        The planes of an empty board.
    boards : ndarray of uint32, shape (G, 2N + 4)
    keys : ndarray of uint64, shape (G,)
        Of the present positions.
    earlier : ndarray of uint64, shape (G, room)
        Keys of the positions since the last capture; none before can recur.
    marks : ndarray of uint64, shape (G,)
        A bit for each, by the last six bits of its key: most positions that did not stand have another.
    lengths, plies : ndarray of int32, shape (G,)
        How many of these there are, and the plies of the game.
    values : ndarray of int8, shape (G,)
        1 won by white, -1 by black, 0 drawn or under way.
    going : ndarray of uint8, shape (G,)
        1 where the game goes on.
    random : ndarray of uint64, shape (G,)
        A generator for each game.
    """

    rule: int
    times: int
    limit: int
    worth: NDArray[np.int8]
    room: int
    codes: NDArray[np.int32]
    numbers: NDArray[np.int32]
    terrain: NDArray[np.uint8]
    boards: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    earlier: NDArray[np.uint64]
    marks: NDArray[np.uint64]
    lengths: NDArray[np.int32]
    plies: NDArray[np.int32]
    values: NDArray[np.int8]
    going: NDArray[np.uint8]
    random: NDArray[np.uint64]


@inlined
def _stood(g: Games, game: int, key: np.uint64, ply: int) -> int:
    """Return how often a position stood since the last capture, ``ply`` plies after it; the same side was to move."""
    earlier, found = advance(g.earlier, game * g.room), I64(0)
    if (g.marks[game] >> (key & U64(63))) & U64(1) == U64(0):
        return found
    for place in range(ply & 1, ply, 2):
        found += I64(earlier[place] == key)
    return found


@inlined
def _legal(t: Tables, g: Games, game: int, board: NDArray[np.uint32], moves: NDArray[np.int32]) -> int:
    """Write the legal moves in ascending order of their actions, and return their number."""
    count = generate(t, board, moves)
    if g.rule == ILLEGAL:
        kept = I64(0)
        for index in range(count):
            if _may_recur(t, g, game, board, I64(moves[index])):
                moves[kept] = moves[index]
                kept += 1
        count = kept
    return count


@inlined
def _may_recur(t: Tables, g: Games, game: int, board: NDArray[np.uint32], move: int) -> bool:
    """Return whether a move, where repetitions are illegal, makes no position that occurred too often."""
    side = side_of(t, board)
    is_king = side == 0 and start_of(move) == king_of(t, board)
    undo, _ = make(t, board, move)
    unmake(t, board, undo)
    key = U64(g.keys[game] ^ key_change(t, side, is_king, undo))
    return undo_captured(undo) != 0 or _stood(g, game, key, I64(g.lengths[game]) + 1) + 1 < g.times


@inlined
def _line_moves(t: Tables, board: NDArray[np.uint32], line: int, side: int, king: int) -> int:
    """Return how many moves a side has along a line, as `tablut.engine.kernels.count_moves` adds them up."""
    content = line_of(board, line)
    if side == 1:
        return I64(t.counts[I64(t.attacker_counts[line]) + line_content(t, scalar(content))])
    count = I64(t.counts[I64(t.defender_counts[line]) + line_content(t, scalar(content))])
    rank, file = coordinates(t, king)
    if line == rank or line == t.size + file:
        place = file if line == rank else rank
        count += I64(t.king_extra[I64(t.king_extra_at[line]) + (place << t.size) + occupied(content)])
    return count


@inlined
def _random_move(t: Tables, board: NDArray[np.uint32], state: NDArray[np.uint64]) -> int:
    """Return one of the legal moves, all equally likely; moves are counted, not generated."""
    side, king = side_of(t, board), king_of(t, board)
    left = random_below(state, count_moves(t, board, side))
    line, found = I64(0), _line_moves(t, board, 0, side, king)
    while left >= found:
        left -= found
        line += 1
        found = _line_moves(t, board, line, side, king)
    content, along_row = line_of(board, line), line < t.size
    own, base, stride = own_pieces(content, side), line * t.size, I64(1)
    if not along_row:
        base, stride = line - t.size, t.size
    while True:
        place = trailing_zeros(own)
        own &= own - 1
        start = base + place * stride
        targets = slides_along(t, slides_of(t, side, start, king), line, place, occupied(content))
        found = popcount(targets)
        if left < found:
            break
        left -= found
    while left > 0:
        targets &= targets - 1
        left -= 1
    return move_of(start, base + trailing_zeros(targets) * stride)


@inlined
def _ply(t: Tables, g: Games, game: int, board: NDArray[np.uint32], moves: NDArray[np.int32], move: int) -> None:
    """Make a legal move, and end the game where it ends, in the order that `tablut.board.Board.outcome` has."""
    side, length = side_of(t, board), I64(g.lengths[game])
    is_king = side == 0 and start_of(move) == king_of(t, board)
    undo, outcome = make(t, board, move)
    g.earlier[game * g.room + length] = g.keys[game]
    g.marks[game] |= U64(1) << (g.keys[game] & U64(63))
    length += 1
    if undo_captured(undo) != 0:
        g.marks[game], length = U64(0), I64(0)
    key = U64(g.keys[game] ^ key_change(t, side, is_king, undo))
    g.keys[game], g.lengths[game] = key, length
    g.plies[game] += 1
    goes_on, value = False, I64(0)
    if outcome != UNDECIDED:
        value = 1 - 2 * winner_of(outcome)
    elif not (can_move(t, board, side ^ 1) if g.rule != ILLEGAL else _legal(t, g, game, board, moves) != 0):
        value = 1 - 2 * side
    elif g.rule == ENDS and _stood(g, game, key, length) + 1 >= g.times:
        value = I64(g.worth[side])
    else:
        goes_on = g.plies[game] != g.limit
    g.values[game], g.going[game] = value, goes_on


@kernel
def step_all(tables: Tables, games: Games, actions: NDArray[np.int64]) -> int:
    """Make a ply in each game that goes on; return -1, or before any is made a game whose action is illegal."""
    t, g = flat(tables), flat(games)
    room = np.empty(4 * t.cells, np.int32)
    moves, items = pointer(room), board_items(t.size)
    for game in range(len(actions)):
        if g.going[game] != 0:
            board, action = advance(g.boards, game * items), actions[game]
            if action < 0 or action >= len(games.codes) or not is_legal(t, board, I64(g.codes[action])):
                return game
            if g.rule == ILLEGAL and not _may_recur(t, g, game, board, I64(g.codes[action])):
                return game
    for game in range(len(actions)):
        if g.going[game] != 0:
            _ply(t, g, game, advance(g.boards, game * items), moves, I64(g.codes[actions[game]]))
    keep(room)
    return -1


@kernel
def choose_all(tables: Tables, games: Games, actions: NDArray[np.int64]) -> None:
    """Write a random legal action of each game, -1 where it is over."""
    t, g = flat(tables), flat(games)
    for game in range(len(actions)):
        actions[game] = -1
        if g.going[game] != 0:
            board = advance(g.boards, game * board_items(t.size))
            move = _random_move(t, board, advance(g.random, game))
            while g.rule == ILLEGAL and not _may_recur(t, g, game, board, move):
                move = _random_move(t, board, advance(g.random, game))
            actions[game] = g.numbers[move]


@kernel
def list_all(tables: Tables, games: Games, actions: NDArray[np.int32], ends: NDArray[np.int64]) -> None:
    """Write the legal actions of all games behind each other, and where those of each game end."""
    t, g = flat(tables), flat(games)
    found, items = I64(0), board_items(t.size)
    for game in range(len(ends)):
        moves = advance(pointer(actions), found)
        count = _legal(t, g, game, advance(g.boards, game * items), moves) if g.going[game] != 0 else I64(0)
        for index in range(count):
            moves[index] = g.numbers[moves[index]]
        found += count
        ends[game] = found


@inlined
def _mark(t: Tables, board: NDArray[np.uint32], mask: NDArray[np.uint8]) -> None:
    """Write the mask of a position; there is no branch on what a slide holds."""
    side, king = side_of(t, board), king_of(t, board)
    for item in range(t.cells * slides_a_cell(t.size)):
        mask[item] = np.uint8(0)
    for rank in range(t.size):
        row = line_of(board, rank)
        own = own_pieces(row, side)
        while own:
            file = trailing_zeros(own)
            own &= own - 1
            start = rank * t.size + file
            slides_at, marks = slides_of(t, side, start, king), advance(mask, start * slides_a_cell(t.size))
            column = line_of(board, t.size + file)
            along_row = others(slides_along(t, slides_at, rank, file, occupied(row)), file)
            along_column = others(slides_along(t, slides_at, t.size + file, rank, occupied(column)), rank)
            for place in range(t.size - 1):
                marks[place] = np.uint8((along_row >> place) & 1)
                marks[place + t.size - 1] = np.uint8((along_column >> place) & 1)


@kernel
def mark_all(tables: Tables, games: Games, mask: NDArray[np.uint8]) -> None:
    """Write the masks of all games."""
    t, g = flat(tables), flat(games)
    room = np.empty(4 * t.cells, np.int32)
    moves = pointer(room)
    for game in range(len(mask)):
        row = advance(pointer(mask), game * len(games.codes))
        board = advance(g.boards, game * board_items(t.size))
        if g.going[game] != 0:
            _mark(t, board, row)
            if g.rule == ILLEGAL:
                for index in range(generate(t, board, moves)):
                    row[g.numbers[moves[index]]] = np.uint8(_may_recur(t, g, game, board, I64(moves[index])))
        else:
            mask[game] = np.uint8(0)
    keep(room)


@inlined
def _show(t: Tables, g: Games, board: NDArray[np.uint32], stood: bool, planes: NDArray[np.uint8]) -> None:
    """Write the planes of a position."""
    for place in range(t.cells * _PLANES):
        planes[place] = g.terrain[place]
    side, king = np.uint8(side_of(t, board)), king_of(t, board)
    for rank in range(t.size):
        row = line_of(board, rank)
        black, white = own_pieces(row, 1), own_pieces(row, 0)
        for file in range(t.size):
            place = (rank * t.size + file) * _PLANES
            planes[place] = np.uint8((black >> file) & 1)
            planes[place + 1] = np.uint8((white >> file) & 1)
            planes[place + TO_MOVE], planes[place + BEFORE] = side, np.uint8(stood)
    planes[king * _PLANES + 1], planes[king * _PLANES + 2] = np.uint8(0), np.uint8(1)


@kernel
def show_all(tables: Tables, games: Games, planes: NDArray[np.uint8]) -> None:
    """Write the planes of all games."""
    t, g = flat(tables), flat(games)
    for game in range(len(planes)):
        stood = g.rule != UNCOUNTED and _stood(g, game, g.keys[game], I64(g.lengths[game])) != 0
        board = advance(g.boards, game * board_items(t.size))
        _show(t, g, board, stood, advance(pointer(planes), game * t.cells * _PLANES))
