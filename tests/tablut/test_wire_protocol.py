"""The client that the page on the wire protocol shows plays whole games, with nothing of this toolkit in it."""

import subprocess
import sys
from pathlib import Path

from tablut.play.competition.referee import ENDS
from tests.support.pages import ROOT, blocks_of, read
from tests.support.waiting import PATIENCE
from tests.support.wire import served

PAGE = ROOT / "docs" / "wire-protocol.md"


def test_two_clients_of_the_page_play_to_the_end(tmp_path: Path) -> None:
    (shown,) = (block.text for block in blocks_of(read(PAGE)) if block.marks.get("file") == "client.py")
    program = tmp_path / "client.py"
    program.write_text(shown, encoding="utf-8")
    with served() as running:
        addresses = {"WHITE": running.referee.address("w"), "BLACK": running.referee.address("b")}
        # Neither our packages nor anything that is installed: -I -S.
        clients = [
            subprocess.Popen(
                [sys.executable, "-I", "-S", str(program), side, "10", host, str(port)],
                stdout=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
            )
            for side, (host, port) in addresses.items()
        ]
        results = [client.communicate(timeout=PATIENCE)[0].strip() for client in clients]
        game = running.join()
    assert game.verdict is not None
    assert game.moves
    assert game.verdict.termination not in ENDS
    assert results == [{"white": "WHITEWIN", "black": "BLACKWIN", "draw": "DRAW"}[game.verdict.result]] * 2
