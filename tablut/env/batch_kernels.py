"""Compiled code for batches of games (`tablut.env.batch`): legal actions, plies, ends of games, and planes."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablut.engine.attacks import is_legal, slides_along, slides_of, winner_of
from tablut.engine.jit import I64, U64, advance, inlined, kernel, pointer, random_below, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import can_move, count_moves, key_change, make, position_key, unmake
from tablut.engine.layout import (
    BoardArray,
    board_items,
    king_of,
    line_of,
    occupied,
    own_pieces,
    side_of,
    start_of,
    undo_captured,
)
from tablut.engine.tables import Tables
from tablut.env.encoding import BEFORE, PLANES, TO_MOVE, others
from tablut.rules.outcome import UNDECIDED

UNCOUNTED, ENDS, ILLEGAL, ILLEGAL_FOR_WHITE = range(4)
"""Codes for how the rules treat a repetition: it is ignored, it ends the game, or the move that causes it is
illegal."""
_PLANES: Final = len(PLANES)


class Games(NamedTuple):
    """State of G games on boards with N×N cells and A actions.

    - ``rule``, ``times``, ``limit``: Effect of a repetition, number of the occurrence that counts as a repetition, and
      move limit in plies (-1 if there is none).
    - ``worth``: Value for white of a repetition that white made, and of a repetition that black made.
    - ``actions``, ``codes``: A, and the engine's code of each action.
    - ``terrain``: Planes of an empty board.
    - ``boards``, ``keys``: Boards of the current positions, and their Zobrist keys.
    - ``earlier``, ``room``: Keys of the positions since the last capture, and the space for them in each game.
    - ``marks``: A filter for each game, with the bit set that the last six bits of each earlier position's key give.
    - ``lengths``, ``plies``: Number of earlier positions since the last capture, and number of plies in the game.
    - ``values``, ``going``: 1 if white has won, -1 if black has won, else 0; and 1 if the game is in progress, else 0.
    - ``random``: State of each game's random generator.
    """

    rule: int
    times: int
    limit: int
    worth: NDArray[np.int8]
    room: int
    actions: int
    codes: NDArray[np.int32]
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
def _stood(games: Games, game: int, key: np.uint64, ply: int) -> int:
    """Return how often a position has occurred in the ``ply`` plies since the last capture."""
    earlier, found = advance(games.earlier, game * games.room), I64(0)
    if (games.marks[game] >> (key & U64(63))) & U64(1) == U64(0):
        return found
    for place in range(ply & 1, ply, 2):
        found += I64(earlier[place] == key)
    return found


@inlined
def _forbids(rules: Tables, games: Games, board: BoardArray) -> bool:
    """Return whether the side to move may not repeat a position."""
    return games.rule == ILLEGAL or (games.rule == ILLEGAL_FOR_WHITE and side_of(rules, board) == 0)


@inlined
def _may_recur(rules: Tables, games: Games, game: int, board: BoardArray, move: int) -> bool:
    """Return whether a move is legal under a rule that forbids repetitions."""
    side = side_of(rules, board)
    is_king = side == 0 and start_of(rules, move) == king_of(rules, board)
    undo, _ = make(rules, board, move)
    unmake(rules, board, undo)
    key = U64(games.keys[game] ^ key_change(rules, side, is_king, undo))
    return undo_captured(undo) != 0 or _stood(games, game, key, I64(games.lengths[game]) + 1) + 1 < games.times


@inlined
def _allowed(rules: Tables, games: Games, game: int, board: BoardArray, move: int) -> bool:
    """Return whether a move along a line is legal, taking repetitions into account."""
    free = not _forbids(rules, games, board)
    return is_legal(rules, board, move) and (free or _may_recur(rules, games, game, board, move))


@inlined
def _can_move(rules: Tables, games: Games, game: int, board: BoardArray) -> bool:
    """Return whether the side to move has a legal move."""
    if not _forbids(rules, games, board):
        return can_move(rules, board, side_of(rules, board))
    action = I64(0)
    while action < games.actions and not _allowed(rules, games, game, board, I64(games.codes[action])):
        action += 1
    return action < games.actions


@inlined
def _ply(rules: Tables, games: Games, game: int, board: BoardArray, move: int) -> None:
    """Make a legal move and test whether the game has ended, in the same order as `tablut.board.Board.outcome`."""
    side, length = side_of(rules, board), I64(games.lengths[game])
    is_king = side == 0 and start_of(rules, move) == king_of(rules, board)
    undo, outcome = make(rules, board, move)
    games.earlier[game * games.room + length] = games.keys[game]
    games.marks[game] |= U64(1) << (games.keys[game] & U64(63))
    length += 1
    if undo_captured(undo) != 0:
        games.marks[game], length = U64(0), I64(0)
    key = U64(games.keys[game] ^ key_change(rules, side, is_king, undo))
    games.keys[game], games.lengths[game] = key, length
    games.plies[game] += 1
    goes_on, value = False, I64(0)
    if outcome != UNDECIDED:
        value = 1 - 2 * winner_of(outcome)
    elif not _can_move(rules, games, game, board):
        value = 1 - 2 * side
    elif games.rule == ENDS and _stood(games, game, key, length) + 1 >= games.times:
        value = I64(games.worth[side])
    else:
        goes_on = games.plies[game] != games.limit
    games.values[game], games.going[game] = value, goes_on


@kernel
def step_all(tables: Tables, arrays: Games, actions: NDArray[np.int64]) -> int:
    """Make one ply in each game in progress, and return -1.

    All actions are checked first. If an action is illegal, no ply is made and its game number is returned.
    """
    rules, games = flat(tables), flat(arrays)
    items = board_items(rules.size)
    for game in range(len(actions)):
        if games.going[game] != 0:
            board, action = advance(games.boards, game * items), actions[game]
            if (
                action < 0
                or action >= games.actions
                or not _allowed(rules, games, game, board, I64(games.codes[action]))
            ):
                return game
    for game in range(len(actions)):
        if games.going[game] != 0:
            _ply(rules, games, game, advance(games.boards, game * items), I64(games.codes[actions[game]]))
    return -1


@kernel
def place_all(tables: Tables, boards: BoardArray, keys: NDArray[np.uint64], moves: NDArray[np.int64]) -> None:
    """Write the Zobrist key of each board, and the number of moves that white and black would have on it."""
    rules = flat(tables)
    for game in range(len(keys)):
        board = advance(pointer(boards), game * board_items(rules.size))
        keys[game] = position_key(rules, board)
        for side in range(2):
            moves[game, side] = count_moves(rules, board, side)


@kernel
def choose_all(tables: Tables, arrays: Games, actions: NDArray[np.int64]) -> None:
    """Write a random legal action for each game, or -1 for a game that is over."""
    rules, games = flat(tables), flat(arrays)
    for game in range(len(actions)):
        actions[game] = -1
        if games.going[game] != 0:
            board, action = advance(games.boards, game * board_items(rules.size)), I64(0)
            while True:
                # Rejection sampling is used instead of move generation. About one action in twenty is legal, and most
                # illegal actions are rejected early, because no piece of the side to move stands on their start cell.
                action = random_below(advance(games.random, game), games.actions)
                if _allowed(rules, games, game, board, I64(games.codes[action])):
                    break
            actions[game] = action


@inlined
def _mark(rules: Tables, games: Games, board: BoardArray, mask: NDArray[np.uint8]) -> None:
    """Write the mask of legal actions in a position, without branches that depend on a piece's slides."""
    side, king = side_of(rules, board), king_of(rules, board)
    for action in range(games.actions):
        mask[action] = np.uint8(0)
    for rank in range(rules.size):
        row = line_of(board, rank)
        own = own_pieces(row, side)
        while own:
            file = trailing_zeros(own)
            own &= own - 1
            start = rank * rules.size + file
            slides_at, marks = slides_of(rules, side, start, king), advance(mask, games.actions // rules.cells * start)
            column = line_of(board, rules.size + file)
            along_row = others(slides_along(rules, slides_at, rank, file, occupied(row)), file)
            along_column = others(slides_along(rules, slides_at, rules.size + file, rank, occupied(column)), rank)
            for place in range(rules.size - 1):
                marks[place] = np.uint8((along_row >> place) & 1)
                marks[place + rules.size - 1] = np.uint8((along_column >> place) & 1)


@kernel
def mark_all(tables: Tables, arrays: Games, mask: NDArray[np.uint8]) -> None:
    """Write the masks of legal actions in all games."""
    rules, games = flat(tables), flat(arrays)
    for game in range(len(mask)):
        row = advance(pointer(mask), game * games.actions)
        board = advance(games.boards, game * board_items(rules.size))
        if games.going[game] != 0:
            _mark(rules, games, board, row)
            if _forbids(rules, games, board):
                for action in range(games.actions):
                    if row[action] != 0 and not _may_recur(rules, games, game, board, I64(games.codes[action])):
                        row[action] = np.uint8(0)
        else:
            mask[game] = np.uint8(0)


@inlined
def _show(rules: Tables, games: Games, board: BoardArray, stood: bool, planes: NDArray[np.uint8]) -> None:
    """Write a position's planes."""
    for place in range(rules.cells * _PLANES):
        planes[place] = games.terrain[place]
    side, king = np.uint8(side_of(rules, board)), king_of(rules, board)
    for rank in range(rules.size):
        row = line_of(board, rank)
        black, white = own_pieces(row, 1), own_pieces(row, 0)
        for file in range(rules.size):
            place = (rank * rules.size + file) * _PLANES
            planes[place] = np.uint8((black >> file) & 1)
            planes[place + 1] = np.uint8((white >> file) & 1)
            planes[place + TO_MOVE], planes[place + BEFORE] = side, np.uint8(stood)
    planes[king * _PLANES + 1], planes[king * _PLANES + 2] = np.uint8(0), np.uint8(1)


@kernel
def show_all(tables: Tables, arrays: Games, planes: NDArray[np.uint8]) -> None:
    """Write the planes of all games."""
    rules, games = flat(tables), flat(arrays)
    for game in range(len(planes)):
        stood = games.rule != UNCOUNTED and _stood(games, game, games.keys[game], I64(games.lengths[game])) != 0
        board = advance(games.boards, game * board_items(rules.size))
        _show(rules, games, board, stood, advance(pointer(planes), game * rules.cells * _PLANES))
