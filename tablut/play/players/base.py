"""Base class of the players from the literature, and the budget of moves and time for compiled players."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from random import Random
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from tablut.board import Board
from tablut.engine.jit import CLOCK, I64, advance, called, clock_address, inlined, monotonic_ns, read_clock
from tablut.play.players.registry import PlayerOptions, Setting, check_limits, read_settings
from tablut.play.search.limits import Choice, SearchLimits, moves_asked_about
from tablut.play.search.searcher import time_margin
from tablut.position import Move
from tablut.variants import Variant
from tablut.work.clocks import alarm
from tablut.work.one_caller import OneCaller, alone


class ReproducedPlayer(OneCaller):
    """Base class of the players from the literature. It handles their settings, random numbers and limits."""

    name: ClassVar[str]
    """Name of the player in the registry, which also lists the limits that can end its search."""
    declared: ClassVar[Mapping[str, Setting]] = {}
    """Settings of the player, by name."""
    defaults: ClassVar[Mapping[str, str]] = {}
    """Values of settings that replace the declared defaults."""

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        given = {**self.defaults, **dict(options.checked().settings)}
        self.settings = read_settings(self.name, options._replace(settings=tuple(given.items())), self.declared)
        self.variant = variant
        self._random = Random(options.seed)

    @alone
    def choose(self, board: Board, limits: SearchLimits, *, moves: Sequence[Move] | None = None) -> Choice:
        """Return a move in an undecided position, chosen within the given limits from all or from the given moves."""
        began = time.perf_counter()
        check_limits(self.name, limits)
        return self._choice(board, moves_asked_about(board, self.variant, moves), limits, began)

    @abstractmethod
    def _choice(self, board: Board, moves: list[Move], limits: SearchLimits, began: float) -> Choice:
        """Return one of the legal moves. The clock for this move started at ``began``."""


# -- the budget for choosing a move: a number of moves made, and time on a clock that kernels read


NODES: Final = 0
"""Index, in a budget, of the number of moves made."""
STOPPED: Final = 1
_NODE_LIMIT: Final = 2
_NEXT_LOOK: Final = 3
"""Index of the number of moves after which the clock is read next."""
_CLOCK_ADDRESS: Final = 4
_CLOCK_NUMBER: Final = 5
_DEADLINE: Final = 6
"""Index of the budget's end time, in nanoseconds of the clock."""
_SECONDS: Final = 7
"""Index of the first of the two items that receive the clock reading: seconds, then nanoseconds."""
_ITEMS: Final = 9

UNLIMITED: Final = 1 << 62
_LOOK_EVERY: Final = 500


def new_budget() -> NDArray[np.int64]:
    """Return a budget without limits."""
    budget = np.zeros(_ITEMS, dtype=np.int64)
    budget[[_NODE_LIMIT, _NEXT_LOOK]] = UNLIMITED
    return budget


@contextmanager
def spending(budget: NDArray[np.int64], limits: SearchLimits, began: float) -> Iterator[None]:
    """Set a budget to the given limits while a player chooses a move."""
    budget[:] = new_budget()
    if limits.nodes is not None:
        budget[_NODE_LIMIT] = limits.nodes
    watch: AbstractContextManager[None] = nullcontext()
    if limits.movetime is not None:
        left = max(began + limits.movetime - time_margin(limits.movetime) - time.perf_counter(), 0.0)
        if clock_address():
            budget[[_NEXT_LOOK, _CLOCK_ADDRESS, _CLOCK_NUMBER]] = 0, clock_address(), CLOCK
            budget[_DEADLINE] = monotonic_ns() + int(left * 1e9)
        else:
            watch = alarm(left, lambda: budget.__setitem__(STOPPED, 1))
    with watch:
        yield


@called
def _look_at_clock(budget: NDArray[np.int64]) -> None:
    budget[_NEXT_LOOK] = budget[NODES] + _LOOK_EVERY
    read_clock(I64(budget[_CLOCK_ADDRESS]), I64(budget[_CLOCK_NUMBER]), advance(budget, I64(_SECONDS)))
    if budget[_SECONDS] * 1_000_000_000 + budget[_SECONDS + 1] >= budget[_DEADLINE]:
        budget[STOPPED] = 1


@inlined
def is_spent(budget: NDArray[np.int64]) -> bool:
    """Return whether a budget, given as a pointer, is used up. If so, record this in the budget."""
    if budget[NODES] >= budget[_NODE_LIMIT]:
        budget[STOPPED] = 1
    elif budget[NODES] >= budget[_NEXT_LOOK]:
        _look_at_clock(budget)
    return budget[STOPPED] != 0
