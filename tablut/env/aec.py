"""PettingZoo environment of a single game. Two agents move alternately, and observe planes and legal actions."""

from __future__ import annotations

import sys
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from tablut import svg
from tablut.board import Board
from tablut.env.encoding import PLANES, encoding_for
from tablut.errors import InputError
from tablut.position import SIDES, SideName, diagram_cells
from tablut.variants import VariantLike

MODES = "human", "ansi", "svg", "rgb_array"


class TaflEnv(AECEnv):  # type: ignore[misc]
    """Environment of one game, without the wrappers that check actions. `tablut.env.env` adds these wrappers."""

    metadata: ClassVar[dict[str, object]] = {"render_modes": [*MODES], "name": "tablut_v0", "render_fps": 2}

    def __init__(self, variant: VariantLike, render_mode: str | None) -> None:
        super().__init__()
        if render_mode not in (None, *MODES):
            raise InputError(f"expected one of {', '.join(MODES)}", subject=f"render mode {render_mode!r}")
        self.render_mode, self.board = render_mode, Board(variant)
        self._encoding = encoding_for(self.board.variant)
        self.possible_agents = [*SIDES]
        size, actions = self.board.size, len(self._encoding.codes)
        self.action_spaces = {agent: spaces.Discrete(actions) for agent in SIDES}
        self.observation_spaces = {
            agent: spaces.Dict(
                observation=spaces.Box(0, 1, (size, size, len(PLANES)), np.uint8),
                action_mask=spaces.Box(0, 1, (actions,), np.int8),
            )
            for agent in SIDES
        }

    __copy__ = deepcopy

    def observation_space(self, agent: SideName) -> spaces.Space[Any]:
        """Return an agent's observation space."""
        return self.observation_spaces[agent]

    def action_space(self, agent: SideName) -> spaces.Space[Any]:
        """Return an agent's action space."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, object] | None = None) -> None:  # noqa: ARG002
        """Begin a new game. The seed has no effect, because the game is deterministic."""
        self.board = Board(self.board.variant)
        self.agents, self.agent_selection = [*SIDES], self.board.turn
        self.rewards, self._cumulative_rewards = dict.fromkeys(SIDES, 0), dict.fromkeys(SIDES, 0)
        self.terminations, self.truncations = dict.fromkeys(SIDES, False), dict.fromkeys(SIDES, False)
        self.infos: dict[str, dict[str, object]] = {agent: {} for agent in SIDES}

    def observe(self, agent: SideName) -> dict[str, NDArray[Any]]:
        """Return the planes and the mask of legal actions. The mask is all zero for the agent that is not to move."""
        mask = np.zeros(len(self._encoding.codes), dtype=np.int8)
        if agent == self.board.turn and self.board.outcome() is None:
            mask[[self._encoding.numbers[move.code] for move in self.board.legal_moves]] = 1
        return {"observation": self._encoding.planes(self.board), "action_mask": mask}

    def step(self, action: Any) -> None:
        """Make the move that corresponds to an action."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0
        self.board.push(self._encoding.move(int(action)))
        outcome = self.board.outcome()
        if outcome is not None:
            self.terminations = dict.fromkeys(SIDES, True)
            worth = {None: 0, agent: 1}.get(outcome.winner, -1)
            self.rewards = {side: worth if side == agent else -worth for side in SIDES}
        self.agent_selection = self.board.turn
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """Return the board in the form that the render mode requires. In ``human`` mode, print the board."""
        if self.render_mode == "human":
            sys.stdout.write(f"{self.board}\n\n")
        drawn: Any = {"ansi": str, "svg": svg.board, "rgb_array": pixels}.get(self.render_mode or "")
        return drawn and drawn(self.board)


class GameEnvironment(OrderEnforcingWrapper):  # type: ignore[misc]
    """Outermost wrapper around the environment. Copies continue the game independently."""

    __copy__ = deepcopy


def pixels(board: Board, cell: int = 40) -> NDArray[Any]:
    """Return an RGB image of a board in the colours of `tablut.svg`. Each cell is ``cell`` pixels wide and high."""
    size = board.size
    colour = {name: tuple(bytes.fromhex(code[1:])) for name, code in svg.FILLS.items()}
    y, x = np.indices((size * cell, size * cell))
    at = (size - 1 - y // cell) * size + x // cell
    ground = np.array([colour[svg.kind_of(letter)] for letter in diagram_cells(board.variant.terrain)], dtype=np.uint8)
    picture, piece = ground[at], np.frombuffer(board.position.cells.encode(), dtype="S1")[at]
    # Distance of each pixel from the centre of its cell, as a fraction of the cell's size.
    up, across = (np.abs((place % cell + 0.5) / cell - 0.5) for place in (y, x))
    away, cross = np.hypot(up, across), (np.minimum(up, across) < 0.06) & (np.maximum(up, across) < 0.24)
    picture[(np.maximum(up, across) > 0.48) | ((piece != b".") & (away < 0.395))] = colour["line"]
    picture[(piece != b".") & (away < 0.345)] = colour["white"]
    picture[(piece == b"b") & (away < 0.345)] = colour["black"]
    picture[(piece == b"K") & cross] = colour["cross"]
    return np.asarray(picture)
