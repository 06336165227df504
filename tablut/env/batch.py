"""`Batch`: many games at once, arrays in and arrays out; a program that learns needs no loop over games in Python."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablut.board import Board
from tablut.engine import engine_for
from tablut.env.encoding import PLANES, encoding_for
from tablut.env.kernels import ENDS, ILLEGAL, UNCOUNTED, Games, choose_all, mark_all, show_all, step_all
from tablut.errors import InputError, whole_number
from tablut.formats.reading import PositionLike
from tablut.position import Move, Position
from tablut.store.files import excerpt
from tablut.variants import VariantLike, as_variant

_ROOM = 128


class Batch:
    """Many games of one rule set, each as `tablut.Board` would play it.

    A copy, or what was pickled, has games and generators of its own. Threads need a batch each.

    Parameters
    ----------
    variant : Variant, str or path-like
        A rule set, or the name or path of one, on a board up to 19×19.
    games : int
        How many games, at least 1.
    seed : int
        Of `sample`, at least 0; each game has a generator of its own.
    position : Position, Board or str, optional
        Where the games begin, without a history; the start by default.

    Attributes
    ----------
    variant : Variant
        The rule set.
    actions : int
        How many actions there are: 2(N - 1) for each of the N² cells.
    action_images : ndarray of int64, shape (symmetries, actions)
        By symmetry of the start, the image of each action.

    Raises
    ------
    InputError
        If the game is none, or does not go on from the position, or the engine does not hold the board.

    Notes
    -----
    An action is ``cell * 2(N - 1) + place``: first the N - 1 other cells of its row, then those of its column.
    Repetitions are found by 64-bit keys.

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

    def __init__(self, variant: VariantLike, games: int, seed: int = 0, position: PositionLike | None = None) -> None:
        games, seed = whole_number("games", games, 1), whole_number("seed", seed)
        self.variant = as_variant(variant)
        board = Board(self.variant, position)
        if (outcome := board.outcome()) is not None:
            raise InputError(f"position '{board.position}': the game is over ({outcome.how})")
        self._engine = engine_for(self.variant)
        self._encoding = encoding_for(self.variant)
        self.actions = len(self._encoding.codes)
        rules = self.variant.rules
        start = self._engine.board(board.position.cells, board.position.side)
        self._start = start, self._engine.key(start)
        worth = {"white": 1, "black": -1, None: 0}
        self._games = Games(
            rule={"none": UNCOUNTED, "illegal": ILLEGAL}.get(rules.repetition.result, ENDS),
            times=rules.repetition.times,
            limit=-1 if rules.move_limit is None else rules.move_limit,
            worth=np.array([worth[rules.repetition.winner(mover)] for mover in ("white", "black")], dtype=np.int8),
            room=_ROOM,
            actions=self.actions,
            codes=self._encoding.codes,
            terrain=self._encoding.terrain,
            boards=np.empty((games, len(start)), dtype=start.dtype),
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
        """By symmetry of the start, the image of each action; not to be changed."""
        return self._encoding.action_images

    def reset(self, which: ArrayLike | None = None, *, games: ArrayLike | None = None) -> None:
        """Begin games anew; the generators of `sample` go on.

        Parameters
        ----------
        which : ndarray of bool, shape (games,), optional
            A mask of the games; all by default.
        games : int or ndarray of int, optional
            Their numbers instead of a mask.

        Raises
        ------
        InputError
            If the mask is not of booleans, one for each game, if there is no such game, or if both are given.
        """
        numbers, every = np.asarray([] if games is None else games).ravel(), np.arange(len(self))
        mask = np.asarray(np.full(len(self), games is None) if which is None else which)
        masked = mask.dtype == np.bool_ and mask.shape == every.shape and (which is None or games is None)
        numbered = (numbers.dtype.kind in "iu" or not numbers.size) and np.isin(numbers, every).all()
        if not (masked and numbered):
            said = f"which={excerpt(str(which), 40)}, games={excerpt(str(games), 40)}"
            raise InputError(f"{said}: expected a mask of {len(self)} booleans, or games by numbers below {len(self)}")
        g, these = self._games, mask | np.isin(every, numbers)
        g.boards[these], g.keys[these] = self._start
        g.marks[these] = g.lengths[these] = g.plies[these] = g.values[these] = 0
        g.going[these] = 1

    def mask(self) -> NDArray[np.bool_]:
        """Return which actions are legal.

        Returns
        -------
        ndarray of bool, shape (games, actions)
            All false where a game is over.
        """
        mask = np.empty((len(self), self.actions), dtype=np.bool_)
        mark_all(self._engine.tables, self._games, mask.view(np.uint8))
        return mask

    def sample(self) -> NDArray[np.int64]:
        """Return a legal action of each game, all equally likely; the seed decides.

        Returns
        -------
        ndarray of int64, shape (games,)
            -1 where a game is over.
        """
        actions = np.empty(len(self), dtype=np.int64)
        choose_all(self._engine.tables, self._games, actions)
        return actions

    def step(self, actions: NDArray[np.integer[Any]]) -> None:
        """Make a ply in every game that goes on.

        Parameters
        ----------
        actions : ndarray of int, shape (games,)
            A legal action each; that of a game that is over is not read.

        Raises
        ------
        InputError
            If one is not legal; then no game has changed.
        """
        actions = np.asarray(actions)
        if actions.shape != (len(self),) or actions.dtype.kind not in "iu":
            raise InputError(f"actions: expected {len(self)} integers, not {actions.dtype} of shape {actions.shape}")
        if self._games.lengths.max() >= self._games.room:
            self._games = self._games._replace(
                room=2 * self._games.room, earlier=np.hstack([self._games.earlier, np.empty_like(self._games.earlier)])
            )
        wrong = step_all(self._engine.tables, self._games, np.ascontiguousarray(actions, dtype=np.int64))
        if wrong >= 0:
            raise InputError(f"action {actions[wrong]}: is not legal in game {wrong}, '{self.position(wrong)}'")

    def planes(self) -> NDArray[np.uint8]:
        """Return what the boards show.

        Returns
        -------
        ndarray of uint8, shape (games, N, N, 8)
            ``[game, rank, file, plane]``, 0 or 1: attackers, defenders, king, black to move, stood before (in this
            game, where the rules count it), castle, camps, escapes.
        """
        planes = np.empty((len(self), self.variant.size, self.variant.size, len(PLANES)), dtype=np.uint8)
        show_all(self._engine.tables, self._games, planes)
        return planes

    def results(self) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Return who has won.

        Returns
        -------
        values : ndarray of int8, shape (games,)
            1 white, -1 black, 0 a draw, or that the game goes on.
        going : ndarray of bool, shape (games,)
            Which games go on.
        """
        return self._games.values.copy(), self._games.going.astype(np.bool_)

    def images(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the images of planes, or of what there is for each action, under the symmetries of the start.

        Parameters
        ----------
        array : ndarray, shape (..., N, N, planes) or (..., actions)
            Planes as `planes` has them, or a mask, a policy, values of actions.

        Returns
        -------
        ndarray, shape (symmetries, ...)
            One image each, the thing itself first.

        Raises
        ------
        InputError
            If the shape is neither.
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
                f"array of shape {array.shape}: expected (..., {size}, {size}, planes) or (..., {self.actions})"
            )
        return images

    def action(self, move: Move | str) -> int:
        """Return the number of a move.

        Parameters
        ----------
        move : Move or str
            Legal or not; text as `tablut.Board.push` reads it.

        Returns
        -------
        int
            From 0 on, below `actions`.

        Raises
        ------
        InputError
            If it is no move along a line of this board.

        Examples
        --------
        >>> batch = Batch("brandubh", 1)
        >>> batch.action("d2-e2"), str(batch.move(123))
        (123, 'd2-e2')
        """
        return self._encoding.action(move)

    def move(self, action: int) -> Move:
        """Return the move of a number; the inverse of `action`.

        Parameters
        ----------
        action : int
            From 0 on, below `actions`.

        Returns
        -------
        Move
            Legal or not.

        Raises
        ------
        InputError
            If there is no such action.
        """
        return self._encoding.move(action)

    def position(self, game: int) -> Position:
        """Return the position of a game.

        Parameters
        ----------
        game : int
            Its number, from 0 on.

        Returns
        -------
        Position
            As `tablut.Board` takes it.

        Raises
        ------
        InputError
            If there is no such game.
        """
        if not 0 <= game < len(self):
            raise InputError(f"game {game}: expected 0 to {len(self) - 1}")
        cells, side = self._engine.cells(self._games.boards[game])
        return Position(cells, "w" if side == "w" else "b")
