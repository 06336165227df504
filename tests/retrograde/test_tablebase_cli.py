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

DATA = Path(__file__).parents[1] / "data" / "stores"
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["STORE", "-p", "5/1b3/5/3b1/K4 b"], "is decided (king escaped: white has won)"),
        (["STORE", "-p", "5/1b3/2K2/1b1b1/3b1 b"], "4v0"),
        (["STORE", "-p", BARE, "-v", "brandubh-5-4v0"], "another game than 'brandubh-5-4v0'"),
        (["STORE", "-p", "nonsense w"], "nonsense"),
        (["nowhere", "-p", BARE], "no such folder"),
        (["-v", "ashton-5-4v4", "-p", BARE], "make one and give its folder: tablut solve -v ashton-5-4v4"),
    ],
)
def test_probe_refuses_in_one_line(capsys, deep_store: Path, arguments: list[str], message: str) -> None:
    assert run(["probe", *(str(deep_store) if word == "STORE" else word for word in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    # Why the position is impossible, if it is, is said before.
    *warnings, line = captured.err.splitlines()
    assert message in line
    assert all(warning.startswith("tablut: warning: position ") for warning in warnings)


def test_info_adds_up(capsys, deep_store: Path, deep_codes) -> None:
    found = answer(capsys, ["tablebase", "info", str(deep_store)])
    assert (found["variant"], found["max_men"], found["missing"]) == ("lone-corner", 4, [])
    keys = ["attackers", "defenders", "positions", "classes", "win", "draw", "unresolved", "loss", "max_dtm", "bytes"]
    assert [list(tier) for tier in found["tiers"]] == [keys] * len(deep_codes)
    for tier in found["tiers"]:
        assert tier["win"] + tier["draw"] + tier["loss"] == tier["classes"]
        assert tier["unresolved"] == 0
        assert tier["classes"] < tier["positions"]
    assert found["bytes"] == sum(tier["bytes"] for tier in found["tiers"])
    assert found["classes"] == sum(tier["classes"] for tier in found["tiers"])
    assert run(["tablebase", "info", str(deep_store)]) == 0
    shown = capsys.readouterr().out
    for tier in found["tiers"]:
        assert f"{tier['attackers']}v{tier['defenders']} " in shown
        assert f" {tier['classes']:,} " in shown


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


def test_probing_beyond_what_ships_says_how_to_build(capsys) -> None:
    assert run(["probe", "-p", "9/9/4b4/4w4/2K6/9/4b4/9/3bb4 b"]) == 2
    assert "tablut tablebase build -v ashton --men 6 --store tablebase-ashton" in capsys.readouterr().err
    assert run(["probe", str(DATA / "tablebase-4"), "-p", "5/1b3/2K2/3b1/4b w"]) == 2
    error = capsys.readouterr().err
    assert f"tablut tablebase build -v ashton-5-4v0 --men 4 --store {DATA / 'tablebase-4'}" in error
