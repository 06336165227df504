"""The clock of the competition: a legal move is there in time, whatever the player or the machine does."""

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tablut.board import Board
from tablut.play.competition import write_player_script
from tablut.play.competition.client import Thinker
from tablut.play.players import Choice
from tablut.play.search import SearchLimits
from tablut.position import Move
from tests.support.waiting import PATIENCE
from tests.support.wire import BOLOGNA, Raw, client, in_thread, served

# -- the clock ------------------------------------------------------------------------------


class Sleeper:
    """A player that heeds no limit, and answers when it is woken."""

    def __init__(self) -> None:
        self.woken = threading.Event()
        self.asked = 0

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        self.asked += 1
        assert self.woken.wait(PATIENCE)
        move = list(board.legal_moves)[-1]
        return Choice(move, None, None, 0, 0, (move,))


class Failing:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        raise ZeroDivisionError


class Cheating:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        move = Move.parse("a1-a2", 9)
        return Choice(move, None, None, 0, 0, (move,))


@pytest.mark.parametrize("player", [Sleeper(), Failing(), Cheating()], ids=lambda player: type(player).__name__)
def test_whatever_a_player_does_a_legal_move_is_there(player: Any) -> None:
    """Also while the player sleeps on."""
    thinker, board = Thinker(player), Board(BOLOGNA)
    for _ in range(2):
        answer = thinker.choose(board, SearchLimits(movetime=0.1), 0.2)
        assert answer.move in board.legal_moves
        assert answer.trouble
    if isinstance(player, Sleeper):
        assert player.asked <= 1  # nobody is asked two things at once
        player.woken.set()


def test_a_late_player_loses_no_game_by_time() -> None:
    player = Sleeper()
    with served() as running:
        thread, _ = in_thread(lambda: client(running, "b", player, timeout=0.6))
        white = Raw(running.referee.address("w"))
        white.until_turn("w")
        for move in ("e4-f4", "f4-g4", "g4-h4"):
            white.move(move)
            white.until_turn("w")
        white.socket.close()
        assert running.join().verdict == ("disconnected", "black")
        thread.join(PATIENCE)
        player.woken.set()


# -- the script -----------------------------------------------------------------------------


def test_the_script_plays_a_game_as_the_competition_starts_it(tmp_path: Path) -> None:
    script = write_player_script(tmp_path, ("--player", "random", "--port", "1"))
    text = script.read_text(encoding="utf-8")
    with served() as running:
        script.write_text(text.replace("--port 1", f"--port {running.referee.address('b')[1]}"), encoding="utf-8")
        # The folder in which it is started may have files by the names of our packages.
        for name in ("tablut", "reports"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit(99)\n", encoding="utf-8")
        line = [script, "BLACK", f"{PATIENCE}", "127.0.0.1"]
        playing = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        white = client(running, "w", seed=2)
        out, _ = playing.communicate(timeout=PATIENCE)
    assert white.result is not None
    assert playing.returncode == 0
    assert f"result  {white.result}" in out
