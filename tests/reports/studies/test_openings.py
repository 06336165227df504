"""Brandubh's openings: play by a certificate, on any side of the board, and a page that is that of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reports.studies.openings.__main__ import CERTIFICATE, NAME, app
from reports.studies.openings.deciding import GAME, Strategy, openings
from retrograde.proofs.certificate import read_certificate
from retrograde.proofs.proving import ProofRun
from tablut.board import Board
from tablut.cli.shell import run
from tablut.running.progress import Observer
from tablut.running.scheduling import LocalScheduler

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.study
WON = "7/7/2bb3/b2Kw1w/6w/7/1b1b3 w"


def test_play_by_a_certificate_wins_in_its_plies_whatever_the_side_of_the_board(tmp_path: Path) -> None:
    board = Board(GAME, WON)
    search = ProofRun(
        board.variant, board.position, "white", observer=Observer(), tablebase=None, nodes=1_000_000, memory=1 << 22
    )
    search.run(LocalScheduler(1), tmp_path)
    within = search.result().within
    assert within is not None
    strategy = Strategy(read_certificate(CERTIFICATE, tmp_path / CERTIFICATE))
    lengths = set()
    for symmetry in board.variant.symmetries:
        played = board.transform(symmetry)
        line = strategy.line(played)
        for move in line:
            played.push_text(move)
        assert played.result() == "white"
        lengths.add(len(line))
    assert max(lengths) <= within


def test_every_opening_can_be_played_and_the_page_is_that_of_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    sources, listed = openings()
    for opening in listed:
        assert opening.board().outcome() is None
        assert opening.source is None or opening.source in sources
    assert run(["page", "--check"], app, NAME) == 0, capsys.readouterr().out
