"""Speed of the learning environments on one thread, compared with loops over boards.

`benchmarks/test_engine.py` shows how to run such a benchmark.
"""

import time
from random import Random

import numpy as np
import pytest

from benchmarks.test_engine import report
from tablut import Board
from tablut.env import Batch, env

pytestmark = pytest.mark.benchmark(timer=time.process_time)
GAMES, STEPS = 4096, 100


@pytest.mark.parametrize("shown", ["nothing", "mask", "planes"])
def test_batch(benchmark, shown):
    """Play random plies in a batch of games. A new game replaces each finished one."""
    batch = Batch("ashton", GAMES, seed=1)

    def play():
        for _ in range(STEPS if benchmark.enabled else 2):
            if shown != "nothing":
                getattr(batch, shown)()
            batch.step(batch.sample())
            batch.reset(~batch.results()[1])

    benchmark.pedantic(play, rounds=5, warmup_rounds=1)
    report(benchmark, f"plies of a batch, with {shown}", GAMES * STEPS)


def test_board(benchmark):
    random = Random(1)

    def play():
        board = Board("ashton")
        for _ in range(STEPS):
            board.push(random.choice(list(board.legal_moves)))
            board = Board("ashton") if board.outcome() else board

    benchmark.pedantic(play, rounds=5, warmup_rounds=1)
    report(benchmark, "plies of a board", STEPS)


def test_pettingzoo(benchmark):
    random, game = np.random.default_rng(1), env("ashton")

    def play():
        game.reset()
        for _ in range(STEPS):
            if not game.agents:
                game.reset()
            observation, _, ended, _, _ = game.last()
            game.step(None if ended else int(random.choice(np.flatnonzero(observation["action_mask"]))))

    benchmark.pedantic(play, rounds=5, warmup_rounds=1)
    report(benchmark, "plies of PettingZoo", STEPS)
