"""An environment for programs that learn: one game as PettingZoo or OpenSpiel has games, and many in compiled code."""

from __future__ import annotations

from typing import Any

from tablut.env.batch import Batch
from tablut.env.encoding import PLANES, PLIES
from tablut.errors import InputError
from tablut.variants import VariantLike

__all__ = ["PLANES", "Batch", "env", "spiel"]


def _lacks(error: ModuleNotFoundError) -> InputError:
    return InputError(f"env: needs the package {error.name!r}; install it with: pip install 'tablut[env]'")


def env(variant: VariantLike = "ashton", render_mode: str | None = None) -> Any:
    """Return a game as a PettingZoo AEC environment.

    Parameters
    ----------
    variant : Variant, str or path-like
        A rule set, or the name or path of one.
    render_mode : {'ansi', 'svg', 'rgb_array', 'human'}, optional
        What `render` returns: text, SVG, or an array of shape (40N, 40N, 3); ``human`` writes the text after each move.

    Returns
    -------
    pettingzoo.AECEnv
        Its agents are ``white`` and ``black``; the rules say who begins. An observation holds ``observation``, the
        planes of shape (N, N, 8), and ``action_mask``, of shape (2N²(N - 1),), both as `Batch` has them. At the end the
        rewards are 1 and -1, or 0 for a draw; an action that is not legal ends the game with -1 for its agent.
        A copy, or what was pickled, goes on with the game from where it stands, independently.

    Raises
    ------
    InputError
        If the rule set or the mode is none, or PettingZoo is not installed.

    Examples
    --------
    >>> game = env("brandubh", render_mode="ansi")
    >>> game.reset()
    >>> observation, reward, termination, truncation, info = game.last()
    >>> game.agent_selection, observation["observation"].shape, int(observation["action_mask"].sum())
    ('black', (7, 7, 8), 40)
    >>> game.step(int(observation["action_mask"].argmax()))
    >>> game.agent_selection
    'white'
    """
    try:
        from pettingzoo.utils import wrappers

        from tablut.env.aec import Game, TaflEnv
    except ModuleNotFoundError as error:
        raise _lacks(error) from None
    game = wrappers.TerminateIllegalWrapper(TaflEnv(variant, render_mode), illegal_reward=-1)
    return Game(wrappers.AssertOutOfBoundsWrapper(game))


def spiel(variant: str = "ashton", plies: int = PLIES) -> Any:
    """Return a game of OpenSpiel.

    Parameters
    ----------
    variant : str
        The name or path of a rule set.
    plies : int
        After so many plies a game is drawn, unless its rules end it before.

    Returns
    -------
    pyspiel.Game
        Player 0 is white, 1 black; the rules say who begins. Actions are numbered as `env` numbers them, observation
        tensors are its planes, ``[plane, rank, file]``. From then on ``pyspiel.load_game("tablut(variant=brandubh)")``
        finds the games as well.

    Raises
    ------
    InputError
        If the rule set is none, the plies are below 1, or OpenSpiel is not installed.

    Examples
    --------
    >>> state = spiel("brandubh").new_initial_state()
    >>> state.current_player(), len(state.legal_actions()), state.action_to_string(123)
    (1, 40, 'd2-e2')
    >>> state.apply_action(123)
    >>> state.returns()
    [0.0, 0.0]
    """
    try:
        import pyspiel

        from tablut.env import openspiel
    except ModuleNotFoundError as error:
        raise _lacks(error) from None
    return pyspiel.load_game(openspiel.NAME, {"variant": str(variant), "plies": plies})
