"""The class `Batch`, which plays many games in parallel and uses arrays as input and output."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.packing import pieces_of
from tablut.env.batch_kernels import (
    ENDS,
    ILLEGAL,
    ILLEGAL_FOR_WHITE,
    UNCOUNTED,
    Games,
    choose_all,
    mark_all,
    place_all,
    show_all,
    step_all,
)
from tablut.env.encoding import PLANES, encoding_for
from tablut.errors import InputError, shown_value, whole_number
from tablut.formats.reading import PositionLike, as_position
from tablut.indexing.values import MISSING
from tablut.position import Move, Position
from tablut.prober import Prober, find_prober
from tablut.variants import VariantLike, as_variant
from tablut.work.machine import check_memory

_ROOM = 128
_OF_A_GAME = "boards", "keys", "marks", "lengths", "plies", "values", "going"
"""Arrays of `Games` with one item for each game, apart from the history and the random numbers."""
_RULES = {"none": UNCOUNTED, "illegal": ILLEGAL, "illegal_for_white": ILLEGAL_FOR_WHITE}


class Successors(NamedTuple):
    """Successors of the games of a batch, as a ``batch`` with one game for each.

    ``parents`` contains the number of each successor's game in the batch that it comes from, in ascending order, and
    ``actions`` the action that leads to it; both are int64 of shape (m,).
    """

    batch: Batch
    parents: NDArray[np.int64]
    actions: NDArray[np.int64]


class TableValues(NamedTuple):
    """Values of games from a tablebase, as arrays of shape (games,).

    - ``values``: 1 if white wins, -1 if black wins, 0 for a draw or if nothing is known, as int8.
    - ``plies``: Plies to the end of the game, or -1 if neither side can force a win or nothing is known, as int16.
    - ``known``: Whether the tablebase covers the position, or the game is over, as bool.
    """

    values: NDArray[np.int8]
    plies: NDArray[np.int16]
    known: NDArray[np.bool_]


class Batch:
    """A batch of games under one rule set. Each game behaves like a `tablut.Board`.

    Copies and unpickled batches have separate games and random number generators. A batch must not be shared between
    threads. An action is ``cell * 2(N - 1) + place``. The first N - 1 places are the other cells of the cell's row, and
    the other places are the other cells of its column. Repetitions are detected by 64-bit Zobrist keys.

    Parameters
    ----------
    variant : Variant, str or path-like
        A rule set, or the name or path of one, on a board of at most 19×19 cells.
    games : int, optional
        Number of games, at least 1. It may be left out if ``positions`` are given.
    seed : int
        Seed of the random actions that `sample` draws, at least 0. Each game has a separate random number generator.
    position : Position, Board or str, optional
        First position of all games, without history. The default is the rule set's start position.
    positions : iterable of Position, Board or str, or ndarray of uint64, shape (games, W), optional
        First position of each game, as objects or as packed words. Earlier moves of a `Board` are ignored.

    Attributes
    ----------
    variant : Variant
        The rule set.
    actions : int
        Number of actions, which is 2(N - 1) for each of the N² cells.
    action_images : ndarray of int64, shape (symmetries, actions)
        Image of each action under each symmetry of the start.

    Raises
    ------
    InputError
        If the rule set is unknown, if a position is decided or belongs to another game, if the engine does not support
        the board, or if the machine has too little memory for the games.

    Examples
    --------
    >>> batch = Batch("brandubh", 1000, seed=1)
    >>> batch.mask().shape, batch.planes().shape
    ((1000, 588), (1000, 7, 7, 8))
    >>> while batch.results()[1].any():
    ...     batch.step(batch.sample())
    >>> values, going = batch.results()
    >>> int(going.sum()), len(values), set(values.tolist()) <= {-1, 0, 1}
    (0, 1000, True)
    """

    def __init__(
        self,
        variant: VariantLike,
        games: int | None = None,
        seed: int = 0,
        position: PositionLike | None = None,
        *,
        positions: Iterable[PositionLike] | NDArray[np.uint64] | None = None,
    ) -> None:
        seed, self.variant = whole_number("seed", seed), as_variant(variant)
        if positions is None:
            games = whole_number("games", games, 1, 2**31 - 1)
        elif games is not None or position is not None:
            raise InputError("cannot be given together with games or a position", subject="positions")
        self._engine = engine_for(self.variant)
        self._encoding = encoding_for(self.variant)
        self.actions = len(self._encoding.codes)
        rules = self.variant.rules
        self._start = self._placed([Board(self.variant, position)] if positions is None else positions, "positions")
        if games is None:
            games = whole_number("positions", len(self._start[0]), 1)
        items = self._start[0].shape[1]
        check_memory("games", games * (self._start[0].itemsize * items + 8 * _ROOM) >> 20, games)
        self._start = np.broadcast_to(self._start[0], (games, items)), np.broadcast_to(self._start[1], games)
        worth = {"white": 1, "black": -1, None: 0}
        self._games = Games(
            rule=_RULES.get(rules.repetition.result, ENDS),
            times=rules.repetition.times,
            limit=-1 if rules.move_limit is None else rules.move_limit,
            worth=np.array([worth[rules.repetition.winner(mover)] for mover in ("white", "black")], dtype=np.int8),
            room=_ROOM,
            actions=self.actions,
            codes=self._encoding.codes,
            terrain=self._encoding.terrain,
            boards=np.empty((games, items), dtype=self._start[0].dtype),
            keys=np.empty(games, dtype=np.uint64),
            earlier=np.empty((games, _ROOM), dtype=np.uint64),
            marks=np.empty(games, dtype=np.uint64),
            lengths=np.empty(games, dtype=np.int32),
            plies=np.empty(games, dtype=np.int32),
            values=np.empty(games, dtype=np.int8),
            going=np.empty(games, dtype=np.uint8),
            random=np.random.default_rng(seed).integers(1 << 64, size=games, dtype=np.uint64),
        )
        self.reset()

    def __len__(self) -> int:
        return len(self._games.keys)

    __copy__ = deepcopy

    @property
    def action_images(self) -> NDArray[np.int64]:
        """Image of each action under each symmetry of the start position. The array is read-only."""
        return self._encoding.action_images

    def _placed(
        self, positions: Iterable[PositionLike] | NDArray[np.uint64], parameter: str
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """Return the boards of positions and their keys. Raise InputError if a position is impossible or decided."""
        if isinstance(positions, np.ndarray):
            words = np.atleast_2d(positions)
        elif isinstance(positions, Iterable) and not isinstance(positions, str):
            listed = [as_position(one, self.variant) for one in positions]
            for one in listed:
                if (outcome := Board(self.variant, one).outcome()) is not None:
                    raise InputError(f"the game is over ({outcome.how})", subject=f"position '{one}'")
            words = self._engine.words(listed)
        else:
            raise InputError("expected a list of positions", parameter=parameter, value=shown_value(positions))
        if words.dtype != np.uint64 or words.shape[1:] != (self._engine.tables.words,):
            expected = f"expected uint64 of shape (n, {self._engine.tables.words})"
            raise InputError(f"{expected}, not {words.dtype} of shape {words.shape}", parameter=parameter)
        black, _, king, black_moves, possible = pieces_of(self.variant, words)
        decided = np.isin(king, list(self.variant.regions.escapes)) | ~black.any(axis=1)
        if possible.all():
            boards = self._engine.boards(words)
            keys, moves = np.empty(len(words), dtype=np.uint64), np.empty((len(words), 2), dtype=np.int64)
            place_all(self._engine.tables, boards, keys, moves)
            both = self.variant.rules.no_moves == "either_after_ply"
            decided |= (moves.min(axis=1) if both else moves[np.arange(len(moves)), black_moves.astype(int)]) == 0
            if not decided.any():
                return boards, keys
        first = int((~possible | decided).argmax())
        what = "is already decided" if possible[first] else "is impossible"
        raise InputError(f"position {first} {what}", parameter=parameter)

    def set(self, index: ArrayLike, words: Iterable[PositionLike] | NDArray[np.uint64]) -> None:
        """Place positions in games, which continue from there without history.

        ``index`` contains the numbers of the games, int of shape (n,). ``words`` are undecided positions, one for each
        of these games, as uint64 of shape (n, W) or (W,), or as objects.

        Raises
        ------
        InputError
            If a game does not exist, or a position is impossible, decided or of another game. Then no game is changed.

        Examples
        --------
        >>> batch = Batch("brandubh", 3)
        >>> batch.set(2, ["3K3/7/7/4b2/7/7/7 b"])
        >>> str(batch.position(2)), str(batch.position(1)) == str(batch.position(0))
        ('3K3/7/7/4b2/7/7/7 b', True)
        """
        numbers, (boards, keys) = self._numbers(index, "index"), self._placed(words, "words")
        if len(boards) != len(numbers):
            raise InputError(f"expected {len(numbers)} positions, not {len(boards)}", parameter="words")
        self._put(numbers, boards, keys)

    def _numbers(self, games: ArrayLike, parameter: str) -> NDArray[np.int64]:
        """Return numbers of games as an array. Raise InputError if a game does not exist."""
        numbers = np.asarray(games).ravel()
        if numbers.size and (numbers.dtype.kind not in "iu" or not np.isin(numbers, np.arange(len(self))).all()):
            expected = f"expected numbers of games below {len(self)}"
            raise InputError(expected, parameter=parameter, value=shown_value(games))
        return numbers.astype(np.int64)

    def _put(self, games: NDArray[Any], boards: NDArray[np.uint32], keys: NDArray[np.uint64]) -> None:
        g = self._games
        g.boards[games], g.keys[games] = boards, keys
        g.marks[games] = g.lengths[games] = g.plies[games] = g.values[games] = 0
        g.going[games] = 1

    def reset(self, which: ArrayLike | None = None, *, games: ArrayLike | None = None) -> None:
        """Restart games. The random number generators of `sample` are not reset.

        ``which`` is a mask of the games to restart, bool of shape (games,), by default all. Alternatively, ``games``
        contains the numbers of the games to restart.

        Raises
        ------
        InputError
            If the mask or a number is wrong, or if both arguments are given.
        """
        these = np.full(len(self), games is None) if which is None else np.asarray(which)
        if these.dtype != np.bool_ or these.shape != (len(self),) or (which is not None and games is not None):
            expected = f"expected a mask of {len(self)} booleans, or numbers of games instead"
            raise InputError(expected, parameter="which", value=shown_value(which))
        these = these | np.isin(np.arange(len(self)), self._numbers([] if games is None else games, "games"))
        self._put(these, self._start[0][these], self._start[1][these])

    def mask(self) -> NDArray[np.bool_]:
        """Return the masks of legal actions, bool of shape (games, actions).

        The mask of a game that is over is all false.
        """
        mask = np.empty((len(self), self.actions), dtype=np.bool_)
        mark_all(self._engine.tables, self._games, mask.view(np.uint8))
        return mask

    def sample(self) -> NDArray[np.int64]:
        """Return a random legal action for each game, or -1 if it is over, as int64 of shape (games,)."""
        actions = np.empty(len(self), dtype=np.int64)
        choose_all(self._engine.tables, self._games, actions)
        return actions

    def step(self, actions: NDArray[np.integer[Any]]) -> None:
        """Make one ply in every game that is still in progress.

        ``actions`` contains a legal action for each game, int of shape (games,). Games that are over ignore it.

        Raises
        ------
        InputError
            If an action is not legal. In that case, no game is changed.
        """
        actions = np.asarray(actions)
        if actions.shape != (len(self),) or actions.dtype.kind not in "iu":
            raise InputError(
                f"expected {len(self)} integers, not {actions.dtype} of shape {actions.shape}", subject="actions"
            )
        if self._games.lengths.max(initial=0) >= self._games.room:
            self._games = self._games._replace(
                room=2 * self._games.room, earlier=np.hstack([self._games.earlier, np.empty_like(self._games.earlier)])
            )
        wrong = step_all(self._engine.tables, self._games, np.ascontiguousarray(actions, dtype=np.int64))
        if wrong >= 0:
            raise InputError(
                f"is not legal in game {wrong}, '{self.position(wrong)}'", subject=f"action {actions[wrong]}"
            )

    def children(self) -> Successors:
        """Return the successors of all games in progress, as games of another batch with the history of their parents.

        Raises
        ------
        InputError
            If the machine has too little memory for all successors.

        Examples
        --------
        >>> batch = Batch("brandubh", 2)
        >>> children = batch.children()
        >>> len(children.batch), np.bincount(children.parents).tolist()
        (80, [40, 40])
        >>> grandchildren = children.batch.children()
        >>> len(grandchildren.batch), str(batch.move(children.actions[0]))
        (1920, 'd1-b1')
        """
        g, (parents, actions) = self._games, np.nonzero(self.mask())
        used = int(g.lengths.max(initial=0))
        check_memory("games", len(parents) * 8 * (2 * used + 2 * g.boards.shape[1]) >> 20, len(self))
        batch: Batch = object.__new__(type(self))
        vars(batch).update(vars(self))
        batch._start = self._start[0][parents], self._start[1][parents]
        # Leave space for as many plies again, at least a few.
        earlier = np.empty((len(parents), 2 * used + 4), dtype=np.uint64)
        earlier[:, :used] = g.earlier[parents, :used]
        batch._games = g._replace(
            room=earlier.shape[1],
            earlier=earlier,
            random=np.random.default_rng(int(g.random.sum())).integers(1 << 64, size=len(parents), dtype=np.uint64),
            **{name: getattr(g, name)[parents] for name in _OF_A_GAME},
        )
        batch.step(actions)
        return Successors(batch, parents, actions)

    def values(self, tablebase: Prober | Path | str | None = None) -> TableValues:
        """Return the values of all games from a ``tablebase``, by default the built-in one of the rule set.

        A tablebase ignores the history of a game, except for the number of plies left under a move limit.

        Raises
        ------
        InputError
            If the rule set has no built-in tablebase, or the tablebase belongs to another game.

        Examples
        --------
        >>> batch = Batch("brandubh", positions=["3K3/7/7/4b2/7/7/7 b", "7/3K3/7/7/7/7/1b5 w"])
        >>> found = batch.values()
        >>> found.values.tolist(), found.plies.tolist(), found.known.tolist()
        ([1, 1], [2, 3], [True, True])
        """
        prober = find_prober(self.variant, tablebase) if isinstance(tablebase, (str, Path, NoneType)) else tablebase
        if prober is None or not prober.variant.same_game(self.variant):
            what = "no tablebase is shipped for" if prober is None else f"is of {prober.variant.name}, not of"
            raise InputError(f"{what} {self.variant.name}", parameter="tablebase", value=shown_value(tablebase))
        values, going = self.results()
        plies, known = np.zeros(len(self), dtype=np.int16), ~going
        found = prober.probe_words(words := self.words()[going])
        distances = np.where(found > 0, found, -found - 1)
        if (limit := self.variant.rules.move_limit) is not None:
            distances[distances > limit - self._games.plies[going]] = -1
        forced = (found != MISSING) & (found != 0) & (distances >= 0)
        to_move = np.where(pieces_of(self.variant, words).black_moves, -1, 1)
        known[going] = found != MISSING
        plies[going] = np.where(forced, distances, -1)
        values[going] = np.where(forced, np.sign(found) * to_move, 0)
        return TableValues(values, plies, known)

    def planes(self) -> NDArray[np.uint8]:
        """Return the observation planes of all games, uint8 of shape (games, N, N, 8).

        They are indexed ``[game, rank, file, plane]``. The planes are: attackers, defenders, king, black to move, stood
        before, castle, camps, escapes. "Stood before" is 1 if the position occurred earlier and the rules count
        repetitions.
        """
        planes = np.empty((len(self), self.variant.size, self.variant.size, len(PLANES)), dtype=np.uint8)
        show_all(self._engine.tables, self._games, planes)
        return planes

    def results(self) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Return the value of each game, and whether it is in progress: int8 and bool of shape (games,).

        A value is 1 if white has won, -1 if black has won, and 0 for a draw or a game in progress.
        """
        return self._games.values.copy(), self._games.going.astype(np.bool_)

    def words(self) -> NDArray[np.uint64]:
        """Return the positions of all games as packed words, uint64 of shape (games, W)."""
        return self._engine.words(self._games.boards)

    def images(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the images of planes, or of arrays with one value for each action, under the start's symmetries.

        ``array`` has the shape (..., N, N, planes) or (..., actions). The result has a first axis for the symmetries
        and begins with the array itself. The images can be used for data augmentation.

        Raises
        ------
        InputError
            If the array has neither of these shapes.
        """
        size, group = self.variant.size, self.variant.start_symmetries
        images = np.empty((len(group), *array.shape), dtype=array.dtype)
        if array.shape[-1:] == (self.actions,):
            for image, numbers in zip(images, self.action_images, strict=True):
                image[..., numbers] = array
        elif array.shape[-3:-1] == (size, size):
            flat = array.reshape(*array.shape[:-3], size * size, array.shape[-1])
            for image, element in zip(images, group, strict=True):
                image.reshape(flat.shape)[..., list(element.table), :] = flat
        else:
            raise InputError(
                f"expected (..., {size}, {size}, planes) or (..., {self.actions})",
                subject=f"array of shape {array.shape}",
            )
        return images

    def action(self, move: Move | str) -> int:
        """Return the action number for a ``move``, which need not be legal.

        Raises
        ------
        InputError
            If the move does not follow a row or a column of this board.

        Examples
        --------
        >>> batch = Batch("brandubh", 1)
        >>> batch.action("d2-e2"), str(batch.move(123))
        (123, 'd2-e2')
        """
        return self._encoding.action(move)

    def move(self, action: int) -> Move:
        """Return the move for an ``action``. This is the inverse of `action`.

        Raises
        ------
        InputError
            If there is no such action.
        """
        return self._encoding.move(action)

    def position(self, game: int) -> Position:
        """Return the current position of a ``game``, counted from 0.

        Raises
        ------
        InputError
            If there is no such game.
        """
        game = whole_number("game", game, most=len(self) - 1)
        cells, side = self._engine.cells(self._games.boards[game])
        return Position(cells, "w" if side == "w" else "b")
