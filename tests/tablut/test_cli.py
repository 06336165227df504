"""The shell and what every command has: JSON, provenance, exit codes, one line for bad input."""

import pytest

from tablut import __version__
from tablut.cli.shell import run
from tablut.results import scientific
from tests.support.commands import Captured, answer


def test_help_lists_every_command(capsys: Captured) -> None:
    assert run(["--help"]) == 0
    with_help = capsys.readouterr().out
    for same in ([], ["-h"], ["help"], ["help", "help"]):
        assert run(same) == 0
        assert capsys.readouterr().out == with_help
    for command in ("bounds", "variants", "report"):
        assert f"\n  {command} " in with_help


def test_version(capsys: Captured) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"tablut {__version__}\n"


def test_provenance(capsys: Captured) -> None:
    record = answer(capsys, "variants", "ashton")["provenance"]
    assert record["version"] == __version__
    assert record["command"] == "tablut variants ashton --json"
    assert record["parameters"] == {"name": "ashton"}
    assert record["seed"] is None
    assert record["seconds"] >= 0
    assert record["peak_rss_bytes"] > 10**6
    assert record["commit"] is None or len(record["commit"].rstrip("+")) == 40


def test_the_list_of_variants(capsys: Captured) -> None:
    listed = answer(capsys, "variants")["variants"]
    assert len(listed) == 13
    assert listed[0]["name"] == "ashton"
    assert {"name", "size", "attackers", "defenders", "source"} <= listed[0].keys()
    assert run(["variants"]) == 0
    text = capsys.readouterr().out
    assert all(variant["name"] in text for variant in listed)


def test_one_variant(capsys: Captured) -> None:
    described = answer(capsys, "variants", "brandubh")
    assert described["start"] == "3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 b"
    assert described["terrain"] == ["X.....X", *["......."] * 2, "...T...", *["......."] * 2, "X.....X"]
    assert described["fields"]["castle.stop"] == "king"
    assert described["fields"].keys() == described["meanings"].keys()
    assert run(["variants", "brandubh"]) == 0
    drawn = capsys.readouterr().out
    assert "4  ● ● ○ ♔ ○ ● ●" in drawn
    assert "7  ✕ · · · · · ✕" in drawn


def test_bounds_as_json(capsys: Captured) -> None:
    report = answer(capsys, "bounds")
    terms = {term["id"]: term for term in report["terms"]}
    assert list(terms) == ["eq1", *(f"eq{n}" for n in range(3, 15))]
    assert terms["eq4"]["exact"] == "30313248887018321011379867"
    assert terms["eq12"] | {"description": ""} == {
        "id": "eq12",
        "equation": "(12)",
        "description": "",
        "exact": "41019808636966473872687808",
        "approx": "4.102e25",
        "published": "1.6e26",
        "agrees": False,
    }
    assert report["variant"] == "ashton"
    assert report["corrected"]["total"] == "1293874976310946438745768012"
    assert {"no_end", "end", "total", "distinct"} <= report["corrected"].keys()
    assert report["classes"]["no_end"] == "118486156157130402293082101"
    assert {"id", "statement", "status", "evidence"} <= report["findings"][0].keys()
    assert report["provenance"]["parameters"] == {
        "variant": None,
        "latex": False,
        "as_csv": False,
        "as_bfile": False,
    }


def test_bounds_for_people(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["bounds"]) == 0
    text = capsys.readouterr().out
    assert "1293874976310946438745768012" in text
    assert "eq12-upper-limit" in text
    assert max(map(len, text.splitlines())) <= 80
    assert run(["bounds", "-v", "brandubh-5-4v0"]) == 0
    text = capsys.readouterr().out
    assert "106895" in text
    assert "published" not in text


def test_bounds_as_latex(capsys: Captured) -> None:
    assert run(["bounds", "--latex"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("\\begin{align}\n")
    assert text.count("\\tag{") == 13
    assert answer(capsys, "bounds", "--latex")["latex"]["eq6"].startswith(r"UB'_{no\_end} = ")


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (9999, "9999"), (10000, "1.000e4"), (99995, "1.000e5")])
def test_scientific_rounds_half_up(value: int, text: str) -> None:
    assert scientific(value) == text
