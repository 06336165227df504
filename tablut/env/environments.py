"""Environments of single games, for PettingZoo and OpenSpiel, which are imported only when one is created."""

from __future__ import annotations

from typing import Any

from tablut.env.encoding import PLIES
from tablut.errors import SOME, InputError
from tablut.variants import VariantLike

__all__ = ["env", "spiel"]


def _lacks(error: ModuleNotFoundError) -> InputError:
    return InputError(
        f"needs the package {error.name!r}", subject="env", remedy="install it with: pip install 'tablut[env]'"
    )


def env(variant: VariantLike = "ashton", render_mode: str | None = None) -> Any:
    """Return a PettingZoo AEC environment for games of a ``variant``, with the agents ``white`` and ``black``.

    Each observation contains ``observation``, the planes of shape (N, N, 8), and ``action_mask``, of shape (2N²(N -
    1),), both in the layout of `Batch`. At the end of the game, the rewards are 1 for the winner and -1 for the loser,
    or 0 for a draw. An illegal action ends the game with the reward -1 for the agent that chose it. Copies and
    unpickled environments continue the game independently.

    Parameters
    ----------
    variant : Variant, str or path-like
        A rule set, or the name or path of one.
    render_mode : {'ansi', 'svg', 'rgb_array', 'human'}, optional
        How `render` returns the board: as text, as SVG, or as an array of shape (40N, 40N, 3). With ``human``, the text
        is printed after each move.

    Raises
    ------
    InputError
        If the rule set or the render mode is unknown, or if PettingZoo is not installed.

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

        from tablut.env.aec import GameEnvironment, TaflEnv
    except ModuleNotFoundError as error:
        raise _lacks(error) from None
    game = wrappers.TerminateIllegalWrapper(TaflEnv(variant, render_mode), illegal_reward=-1)
    return GameEnvironment(wrappers.AssertOutOfBoundsWrapper(game))


def spiel(variant: str = "ashton", plies: int = PLIES) -> Any:
    """Return a rule set as an OpenSpiel game, in which player 0 is white and player 1 is black.

    ``variant`` is the name or path of the rule set. Actions are numbered as in `env`. Observation tensors contain the
    same planes, in the order ``[plane, rank, file]``. A game is drawn after ``plies`` plies, unless the rules end it
    earlier. After the first call, ``pyspiel.load_game("tablut(variant=brandubh)")`` works as well.

    Raises
    ------
    InputError
        If the rule set is unknown, if ``plies`` is below 1, or if OpenSpiel is not installed.

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
    return pyspiel.load_game(openspiel.NAME, {"variant": str(variant), "plies": SOME("plies", plies)})
