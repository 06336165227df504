"""``tablut probe``, ``tablebase info`` and ``tablebase verify``."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from retrograde.tablebase import open_tablebase
from tablut.board import Board
from tablut.cli.shell import run
from tests.support.games import recurrence

BARE = "5/1b3/2K2/3b1/5 b"
Captured = pytest.CaptureFixture[str]


def answer(capsys: Captured, arguments: list[str], code: int = 0) -> dict:
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_probe_answers_as_the_library(capsys, deep_store: Path) -> None:
    table = open_tablebase(deep_store)
    found = answer(capsys, ["probe", str(deep_store), "-p", BARE])
    board = Board(table.variant, BARE)
    verdict = table.probe(board)
    assert (found["variant"], found["position"]) == ("lone-corner", BARE)
    assert (found["wdl"], found["dtm"]) == verdict
    expected = [{"move": str(rated.move), "wdl": rated.wdl, "dtm": rated.dtm} for rated in table.best_moves(board)]
    assert found["moves"] == expected
    assert found["provenance"]["version"]


def test_probe_without_a_move(capsys, small_store: Path) -> None:
    table = open_tablebase(small_store)
    tier = table.store.tier(2, 0)
    index = tier.index
    stuck = next(p for e in range(index.size) if table.probe(p := index.unrank(e, "w")).dtm == 0)
    found = answer(capsys, ["probe", str(small_store), "-p", str(stuck)])
    assert (found["wdl"], found["dtm"], found["moves"]) == ("loss", 0, [])
    assert run(["probe", str(small_store), "-p", str(stuck)]) == 0
    assert "white has no legal move" in capsys.readouterr().out


def test_what_the_history_decides_is_not_called_a_draw(
    capsys, tmp_path: Path, deep_variant, deep_codes, write_store
) -> None:
    rules = deep_variant.rules.model_copy(update={"repetition": recurrence("mover_loses")})
    write_store(tmp_path / "s", replace(deep_variant, rules=rules), {key: deep_codes[key] for key in ((1, 0), (2, 0))})
    tiers = answer(capsys, ["tablebase", "info", str(tmp_path / "s")])["tiers"]
    assert all(tier["draw"] == 0 < tier["unresolved"] for tier in tiers)


def test_info_names_what_is_not_there_yet(capsys, tmp_path: Path, deep_store: Path) -> None:
    root = shutil.copytree(deep_store, tmp_path / "s")
    shutil.rmtree(root / "1v1")
    found = answer(capsys, ["tablebase", "info", str(root)])
    assert (found["missing"], found["max_men"]) == (["1v1"], 2)
    assert run(["tablebase", "info", str(root)]) == 0
    assert "not built yet: 1v1" in capsys.readouterr().out


def test_verify_passes_and_says_what_it_did(capsys, deep_store: Path) -> None:
    found = answer(capsys, ["tablebase", "verify", str(deep_store), "--sample", "4", "--seed", "3", "--threads", "2"])
    info = answer(capsys, ["tablebase", "info", str(deep_store)])
    assert (found["failures"], found["failed"]) == (0, [])
    assert found["positions_checked"] == info["classes"]
    assert sum(found["samples"].values()) == 4
    assert found["provenance"]["seed"] == 3
    quick = answer(capsys, ["tablebase", "verify", str(deep_store), "--quick"])
    assert (quick["failures"], quick["positions_checked"], quick["files_checked"]) == (0, 0, 30)
    assert run(["tablebase", "verify", str(deep_store), "--quick", "--sample", "3"]) == 2
    assert "choose one" in capsys.readouterr().err


# -- what is said beforehand ---------------------------------------------------------------


def test_an_impossible_build_is_refused_before_it_starts(tmp_path: Path, capsys) -> None:
    for men in (50, 12, 9):
        assert run(["tablebase", "build", "--men", str(men), "--store", str(tmp_path / "s")]) == 2
        error = capsys.readouterr().err
        assert f"--men {men}: " in error
        assert "can build --men " in error
        assert error.count("\n") == 1
    assert not (tmp_path / "s").exists()
