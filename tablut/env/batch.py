"""The class `Batch`, which plays many games in parallel and uses arrays as input and output.

With a batch, a learning program needs no Python loop over the games.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablut.board import Board
from tablut.engine import engine_for
from tablut.env.encoding import PLANES, encoding_for
from tablut.env.kernels import (
    ENDS,
    ILLEGAL,
    ILLEGAL_FOR_WHITE,
    UNCOUNTED,
    Games,
    choose_all,
    mark_all,
    show_all,
    step_all,
)
from tablut.errors import InputError, whole_number
from tablut.formats.reading import PositionLike
from tablut.position import Move, Position
from tablut.variants import VariantLike, as_variant
from tablut.work.files import excerpt

_ROOM = 128
_RULES = {"none": UNCOUNTED, "illegal": ILLEGAL, "illegal_for_white": ILLEGAL_FOR_WHITE}


class Batch:
    """A batch of games under one rule set. Each game behaves like a `tablut.Board`.

    Copies and unpickled batches have separate games and random number generators. A batch must not be shared between
    threads.

    Parameters
    ----------
    variant : Variant, str or path-like
        A rule set, or the name or path of one, on a board of at most 19×19 cells.
    games : int
        Number of games, at least 1.
    seed : int
        Seed of the random actions that `sample` draws, at least 0. Each game has a separate random number generator.
    position : Position, Board or str, optional
        First position of all games, without history. The default is the rule set's start position.

    Attributes
    ----------
    variant : Variant
        The rule set.
    actions : int
        Number of actions, which is 2(N - 1) for each of the N² cells of a board with N rows and N columns.
    action_images : ndarray of int64, shape (symmetries, actions)
        Image of each action under each symmetry of the start.

    Raises
    ------
    InputError
        If the rule set is unknown, if the game is already over in the position, or if the engine does not support the
        board.

    Notes
    -----
    An action is ``cell * 2(N - 1) + place``. The first N - 1 places are the other cells of the cell's row, and the
    other places are the other cells of its column. Repetitions are detected by 64-bit Zobrist keys.

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
        games, seed = whole_number("games", games, 1, 2**31 - 1), whole_number("seed", seed)
        self.variant = as_variant(variant)
        board = Board(self.variant, position)
        if (outcome := board.outcome()) is not None:
            raise InputError(f"the game is over ({outcome.how})", subject=f"position '{board.position}'")
        self._engine = engine_for(self.variant)
        self._encoding = encoding_for(self.variant)
        self.actions = len(self._encoding.codes)
        rules = self.variant.rules
        start = self._engine.board(board.position.cells, board.position.side)
        self._start = start, self._engine.key(start)
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
        """Image of each action under each symmetry of the start position. The array is read-only."""
        return self._encoding.action_images

    def reset(self, which: ArrayLike | None = None, *, games: ArrayLike | None = None) -> None:
        """Restart games. The random number generators of `sample` are not reset.

        Parameters
        ----------
        which : ndarray of bool, shape (games,), optional
            Mask of the games to restart. By default, all games are restarted.
        games : int or ndarray of int, optional
            Numbers of the games to restart, instead of a mask.

        Raises
        ------
        InputError
            If the mask does not consist of one boolean for each game, if a game does not exist, or if both arguments
            are given.
        """
        numbers, every = np.asarray([] if games is None else games).ravel(), np.arange(len(self))
        mask = np.asarray(np.full(len(self), games is None) if which is None else which)
        masked = mask.dtype == np.bool_ and mask.shape == every.shape and (which is None or games is None)
        numbered = (numbers.dtype.kind in "iu" or not numbers.size) and np.isin(numbers, every).all()
        if not (masked and numbered):
            said = f"which={excerpt(str(which), 40)}, games={excerpt(str(games), 40)}"
            raise InputError(
                f"expected a mask of {len(self)} booleans, or numbers of games below {len(self)}", subject=said
            )
        g, these = self._games, mask | np.isin(every, numbers)
        g.boards[these], g.keys[these] = self._start
        g.marks[these] = g.lengths[these] = g.plies[these] = g.values[these] = 0
        g.going[these] = 1

    def mask(self) -> NDArray[np.bool_]:
        """Return the masks of legal actions.

        Returns
        -------
        ndarray of bool, shape (games, actions)
            One mask for each game. The mask of a game that is over is all false.
        """
        mask = np.empty((len(self), self.actions), dtype=np.bool_)
        mark_all(self._engine.tables, self._games, mask.view(np.uint8))
        return mask

    def sample(self) -> NDArray[np.int64]:
        """Draw a random legal action for each game. All legal actions are equally likely.

        Returns
        -------
        ndarray of int64, shape (games,)
            Numbers of the actions, or -1 for a game that is over.
        """
        actions = np.empty(len(self), dtype=np.int64)
        choose_all(self._engine.tables, self._games, actions)
        return actions

    def step(self, actions: NDArray[np.integer[Any]]) -> None:
        """Make one ply in every game that is still in progress.

        Parameters
        ----------
        actions : ndarray of int, shape (games,)
            A legal action for each game. The entries of games that are over are ignored.

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
        if self._games.lengths.max() >= self._games.room:
            self._games = self._games._replace(
                room=2 * self._games.room, earlier=np.hstack([self._games.earlier, np.empty_like(self._games.earlier)])
            )
        wrong = step_all(self._engine.tables, self._games, np.ascontiguousarray(actions, dtype=np.int64))
        if wrong >= 0:
            raise InputError(
                f"is not legal in game {wrong}, '{self.position(wrong)}'", subject=f"action {actions[wrong]}"
            )

    def planes(self) -> NDArray[np.uint8]:
        """Return the observation planes of all games.

        Returns
        -------
        ndarray of uint8, shape (games, N, N, 8)
            Values 0 or 1, indexed ``[game, rank, file, plane]``. The planes are: attackers, defenders, king, black to
            move, stood before, castle, camps, escapes. The plane "stood before" is 1 if the position occurred earlier
            in the game and the rules count repetitions.
        """
        planes = np.empty((len(self), self.variant.size, self.variant.size, len(PLANES)), dtype=np.uint8)
        show_all(self._engine.tables, self._games, planes)
        return planes

    def results(self) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Return the results of all games.

        Returns
        -------
        values : ndarray of int8, shape (games,)
            1 if white has won, -1 if black has won, 0 for a draw or a game in progress.
        going : ndarray of bool, shape (games,)
            True for games in progress.
        """
        return self._games.values.copy(), self._games.going.astype(np.bool_)

    def words(self) -> NDArray[np.uint64]:
        """Return the positions of all games as packed words.

        Returns
        -------
        ndarray of uint64, shape (games, W)
            Words of each position, as `tablut.engine.Engine.words` packs them.
        """
        return self._engine.words(self._games.boards)

    def images(self, array: NDArray[Any]) -> NDArray[Any]:
        """Apply the symmetries of the start position to planes or to arrays with one value for each action.

        The images can be used for data augmentation.

        Parameters
        ----------
        array : ndarray, shape (..., N, N, planes) or (..., actions)
            Planes in the layout of `planes`, or one value for each action, such as a mask or a policy.

        Returns
        -------
        ndarray, shape (symmetries, ...)
            One image for each symmetry, beginning with the array itself.

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
        """Return the action number for a move.

        Parameters
        ----------
        move : Move or str
            A move, which need not be legal. Text may have any format that `tablut.Board.push` reads.

        Returns
        -------
        int
            Number of the action, from 0 to ``actions - 1``.

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
        """Return the move for an action. This is the inverse of `action`.

        Parameters
        ----------
        action : int
            Number of the action, from 0 to ``actions - 1``.

        Returns
        -------
        Move
            The move, which need not be legal.

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
            Number of the game, from 0.

        Returns
        -------
        Position
            The current position.

        Raises
        ------
        InputError
            If there is no such game.
        """
        game = whole_number("game", game, most=len(self) - 1)
        cells, side = self._engine.cells(self._games.boards[game])
        return Position(cells, "w" if side == "w" else "b")
