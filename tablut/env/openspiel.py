"""OpenSpiel games. Importing this module makes ``pyspiel.load_game("tablut(variant=brandubh)")`` work.

Player 0 is white and player 1 is black. Actions and planes are defined in `tablut.env.encoding`. A game is drawn after
``plies`` plies, because OpenSpiel requires a maximum length.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyspiel
from open_spiel.python.observation import IIGObserverForPublicInfoGame

from tablut.board import Board
from tablut.env.encoding import PLANES, PLIES, encoding_for
from tablut.errors import SOME
from tablut.position import SIDES
from tablut.variants import load_variant

NAME: Final = "tablut"

_TYPE: Final = pyspiel.GameType(
    short_name=NAME,
    long_name="Tablut and the tafl games",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={"variant": "ashton", "plies": PLIES},
)


class TaflGame(pyspiel.Game):  # type: ignore[misc]
    """A rule set as an OpenSpiel game."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = params or {}
        self.variant = load_variant(given.get("variant", "ashton"))
        self.encoding, self.plies = encoding_for(self.variant), SOME("plies", given.get("plies", PLIES))
        longest = min(self.plies, self.variant.rules.move_limit or self.plies)
        information = pyspiel.GameInfo(
            num_distinct_actions=len(self.encoding.codes),
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=longest,
        )
        super().__init__(_TYPE, information, given)

    def __reduce__(self) -> tuple[Any, ...]:
        """Reduce the game to its parameters, for copying and pickling."""
        return type(self), (self.get_parameters(),)

    def new_initial_state(self) -> TaflState:
        """Return a state at the start of the game."""
        return TaflState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        """Return an observer of planes or, if perfect recall is requested, an observer of the moves as text."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return TaflObserver(self)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class TaflState(pyspiel.State):  # type: ignore[misc]
    """A state of the game: a board with its history."""

    def __init__(self, game: TaflGame) -> None:
        super().__init__(game)
        self.board = Board(game.variant)

    def __str__(self) -> str:
        return str(self.board)

    def current_player(self) -> int:
        """Return the number of the player to move."""
        return int(pyspiel.PlayerId.TERMINAL) if self.is_terminal() else SIDES.index(self.board.turn)

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return self.board.ply >= self.get_game().max_game_length() or self.board.outcome() is not None

    def returns(self) -> list[float]:
        """Return the score of each player: 1 for the winner, -1 for the loser, 0 in a draw or an unfinished game."""
        outcome = self.board.outcome()
        winner = None if outcome is None else outcome.winner
        return [0.0 if winner is None else 1.0 if side == winner else -1.0 for side in SIDES]

    def _legal_actions(self, _player: int) -> list[int]:
        numbers = encoding_for(self.board.variant).numbers
        return sorted(int(numbers[move.code]) for move in self.board.legal_moves)

    def _apply_action(self, action: int) -> None:
        self.board.push(encoding_for(self.board.variant).move(action))

    def _action_to_string(self, _player: int, action: int) -> str:
        return str(encoding_for(self.board.variant).move(action))


class TaflObserver:
    """An observer of a state's planes.

    The planes are stored flat in ``tensor``, and with the indices ``[plane, rank, file]`` in ``dict``.
    """

    def __init__(self, game: TaflGame) -> None:
        shape = (len(PLANES), game.variant.size, game.variant.size)
        self.tensor = np.zeros(int(np.prod(shape)), dtype=np.float32)
        self.dict = {"observation": self.tensor.reshape(shape)}

    def set_from(self, state: TaflState, _player: int) -> None:
        """Write a state's planes. Both players see the same planes."""
        self.dict["observation"][:] = encoding_for(state.board.variant).planes(state.board).transpose(2, 0, 1)

    def string_from(self, state: TaflState, _player: int) -> str:
        """Return a state as text."""
        return str(state)


pyspiel.register_game(_TYPE, TaflGame)
