"""`tablut prove`: it agrees with tables and with the plain checker; a store goes on, and only for its own search."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from clusters import cluster

from retrograde.proofs.certificate import certificate_of, read_certificate
from retrograde.proofs.checker import StrategyCheck
from retrograde.proofs.proving import ProofRun
from retrograde.tablebase.probing import open_tablebase
from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.running.progress import Observer
from tablut.running.scheduling import LocalScheduler
from tablut.variants import load_variant
from tests.support.strategies import placement

BOARD = "brandubh-5-4v0"
TABLES = Path(__file__).parents[3] / "retrograde" / "data" / "brandubh-5"


def proving(variant: str, position: str, claim: Any, nodes: int = 300, tablebase: str | None = None) -> ProofRun:
    rules = load_variant(variant)
    asked = Position.parse(position, rules.size)
    return ProofRun(rules, asked, claim, observer=Observer(), tablebase=tablebase, nodes=nodes, memory=1 << 20)


def asked(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert run(["prove", "-v", BOARD, *options, "--memory", "1", "--nodes", "20", "--json"]) == code
    told = capsys.readouterr()
    return json.loads(told.out) if code in (0, 1, 3) else told.err


@pytest.mark.slow
@pytest.mark.parametrize("tables", [None, str(TABLES)])
def test_a_win_is_proved_where_a_table_has_one_and_the_plain_rules_confirm_it(tables: str | None) -> None:
    tablebase, random = open_tablebase(TABLES), Random(3)
    variant, game = tablebase.variant, NaiveGame(tablebase.variant)
    wins = 0
    while wins < 4:
        text = game.write(placement(variant, random, soldiers=3))
        position = Position.parse(text, variant.size)
        try:
            wdl, dtm = tablebase.probe(position)
        except InputError:  # decided
            continue
        if not 5 <= (dtm or 0) <= 9:
            continue
        winner = "white" if (wdl == "win") == (position.side == "w") else "black"
        found = proving(variant.name, text, winner, tablebase=tables)
        found.run(LocalScheduler(2))
        root = found.tree.root
        assert root.proof == 0, text
        assert root.plies >= (dtm or 0)
        assert found.dtm in (None, dtm)
        claim = found.engine, found.prover, found.board, root.plies
        proof = certificate_of(*claim, found.whole, tables=found.tables)
        for deep in (False, True):
            check = StrategyCheck(variant, proof, most_plies=0, tablebase=tablebase, deep=deep)
            assert not check.run().failures
        wins += 1


class Cut(LocalScheduler):
    """Is interrupted after so many answers, some of which are lost."""

    left = 4

    def feed(self, function: Any, draw: Any, done: Any) -> None:
        def told(answer: Any) -> None:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            done(answer)

        super().feed(function, draw, told)


def test_what_was_begun_and_lost_is_done_again(tmp_path: Path) -> None:
    tasks = []
    for scheduler in (Cut(2), Cut(2), LocalScheduler(2)):
        found = proving("brandubh", "7/2b4/4bKb/7/b6/7/4w2 b", "white", nodes=1000)
        try:
            found.run(scheduler, tmp_path / "store")
        except KeyboardInterrupt:
            assert isinstance(scheduler, Cut)
        tasks.append(found.tree.tasks)
    assert tasks[:2] == [4, 8]
    assert found.tree.root.proof == 0
    assert found.certificate is not None
    assert found.certificate.exists()


def test_a_store_goes_on_and_is_for_one_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = ["--claim", "white", "--store", str(tmp_path / "store")]
    assert asked(capsys, *here, "--hours", "0", code=3)["status"] == "open"
    found = asked(capsys, *here)
    assert (found["status"], found["dtm"], found["variant"]) == ("proved", 6, BOARD)
    assert {move["status"] for move in found["first_moves"]} == {"proved"}
    assert asked(capsys, *here)["tasks"] == found["tasks"]
    assert asked(capsys, "--claim", "white", "--moves", "c1-b1", code=0)["first_moves"]
    for other, name in (
        (["--claim", "black"], "another claim"), (["--moves", "c1-b1 c3-b3"], "another position"),
        (["--tablebase", str(TABLES.parent / BOARD)], "another tables"), (["-v", "ashton-5-4v0"], "other rules"),
    ):  # fmt: skip
        assert name in asked(capsys, *here, *other, code=2)
    for name in ("part-000001.rows", "parts.json", "proof.json"):
        path = tmp_path / "store" / name
        sound = path.read_bytes()
        path.write_bytes(sound[:-9] + bytes([sound[-9] ^ 1]) + sound[-8:])
        assert name in asked(capsys, *here, code=2)
        path.write_bytes(sound)
    assert asked(capsys, "--claim", "black", code=1)["status"] == "refuted"


def test_proofs_of_all_answers_are_one_of_the_position_before_them(tmp_path: Path) -> None:
    board = Board(BOARD)
    after = []
    for move in list(board.legal_moves):
        board.push(move)
        after.append(proving(BOARD, str(board.position), "white"))
        board.pop()
        after[-1].run(LocalScheduler(1))
    but_one = [one for one in after if one.tree.root.words != after[0].tree.root.words]
    for others, status in ((but_one, "open"), (after, "proved")):
        whole = proving(BOARD, str(board.position), "white")
        whole.adopt(others)
        whole.run(LocalScheduler(1), tmp_path / status, hours=0)
        assert whole.result().status == status
    assert whole.certificate is not None
    proof = read_certificate(whole.certificate.name, whole.certificate)
    assert StrategyCheck(whole.variant, proof, most_plies=0).run().proved
    again = proving(BOARD, str(board.position), "white")
    again.run(LocalScheduler(1), tmp_path / "proved", hours=0)
    assert again.result() == whole.result()


def test_what_cannot_be_proved_is_refused_at_once() -> None:
    for variant, claim in ((BOARD, "draw"), ("berkeley", "not-white"), ("brandubh", "not-black")):
        assert run(["prove", "-v", variant, "--claim", claim]) == 2


@pytest.mark.slow
def test_two_workers_of_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(tmp_path / "cluster", workers=2) as address:
        here = ["--claim", "white", "--store", str(tmp_path / "store"), "--scheduler", address]
        assert asked(capsys, *here)["dtm"] == 6
    assert asked(capsys, "--claim", "white", "--scheduler", address, "--store", str(tmp_path / "more"), code=74)
