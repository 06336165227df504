"""What commands and results print: numbers, units and sources that are true for every value."""

import json
import subprocess
from pathlib import Path

import pytest

from counting import bounds
from symmetry import dihedral
from tablut import Board, provenance
from tablut.cli.people import PeopleConsole
from tablut.cli.shell import run
from tablut.errors import InputError, VariantError, did_you_mean
from tablut.play.arena.cli import show_match
from tablut.variants import load_variant
from tablut.variants.schema import parse_variant, write_variant
from tablut.work.progress import plural, rate_text, seconds_text, size_text


@pytest.mark.parametrize("exponent", range(1, 16))
def test_a_size_never_shows_a_thousand_of_a_unit(exponent: int) -> None:
    for count in (10**exponent - 1, 10**exponent, 10**exponent + 1, 999_949 * 10**exponent, 999_950 * 10**exponent):
        number, unit = size_text(count).replace(",", "").split()
        scale = {"byte": 1, "bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}[unit]
        assert float(number) < 1000 or scale == 1, size_text(count)
        assert abs(float(number) * scale - count) <= max(scale, 1) / 20 + (count // 20) * (scale == 1)


def test_nouns_agree_with_their_numbers() -> None:
    assert [plural(count, "task") for count in (0, 1, 2, 4875)] == ["0 tasks", "1 task", "2 tasks", "4,875 tasks"]
    assert (plural(2, "ply"), plural(2, "class"), plural(12, "symmetry")) == ("2 plies", "2 classes", "12 symmetries")
    rates = [rate_text(rate).removesuffix(" a second") for rate in (840, 200_000, 2_550_000)]
    assert rates == ["840", "200,000", "2.5 million"]
    assert "0.0" not in seconds_text(0.001)


def test_a_perft_of_no_plies_is_one_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["perft", "-d", "0", "--json", "-v", "ashton-5-4v0"]) == 0
    assert json.loads(capsys.readouterr().out)["perft"] == []
    assert run(["perft", "-d", "0", "-v", "ashton-5-4v0"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["0", "1"]
    assert Board("ashton-5-4v0").perft(0) == 1
    for option in ("--divide", "--applied"):
        assert run(["perft", "-d", "0", option]) == 2


@pytest.mark.parametrize("number", ["1_0", " 3", "3 ", "３", "0x3", "3.0", "1e1", "", "+-3", "9" * 500])
def test_numbers_are_written_in_plain_digits(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["perft", "-v", "ashton-5-4v0", f"--depth={number}"]) == 2
    assert "--depth" in capsys.readouterr().err
    if number not in ("3.0", "1e1"):
        assert run(["bestmove", "-v", "ashton-5-4v0", f"--movetime={number}"]) == 2
        assert "--movetime" in capsys.readouterr().err


@pytest.mark.parametrize("symmetry", ["rotate_45", 3, None, dihedral(7)[1]])
def test_a_board_is_transformed_by_its_own_symmetries(symmetry: object) -> None:
    with pytest.raises(InputError):
        Board("ashton-5-4v0").transform(symmetry)  # type: ignore[arg-type]


def test_results_name_the_digest_of_their_rules(capsys: pytest.CaptureFixture[str]) -> None:
    digest = load_variant("brandubh").digest
    assert run(["variants", "brandubh", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == digest
    assert bounds("brandubh").digest == digest


@pytest.mark.parametrize("form", ["--latex", "--csv", "--bfile"])
def test_every_form_of_the_bounds_names_rules_and_version(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    from tablut import __version__

    assert run(["bounds", "-v", "brandubh", form]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("brandubh", __version__))


def test_a_rule_file_with_two_mistakes_shows_both() -> None:
    sound = write_variant(load_variant("ashton"))
    broken = sound.replace("armed = true", "armed = 3").replace('first = "white"', 'first = "green"')
    for text, fields in (
        (broken, ("king.armed", "first")),
        (sound.replace("***", "*?*", 1).replace("K", "w", 1), ()),
        (sound.replace("+**AAA**+", "+**AAA**?", 1).replace("bbwwKwwbb", "bbww?wwbb"), ("terrain", "start")),
    ):
        with pytest.raises(VariantError) as refused:
            parse_variant(text, name="broken", origin="broken.toml")
        assert all(f"'{field}'" in str(refused.value) for field in fields)
        assert "\n" not in str(refused.value)


def test_the_commit_is_that_of_this_project_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the packages that lies in another project's checkout has no commit."""
    copy = tmp_path / "tablut" / "provenance.py"
    copy.parent.mkdir(parents=True)
    copy.write_text("")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.invalid"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    monkeypatch.setattr(provenance, "__file__", str(copy))
    assert provenance.commit() is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\n')
    assert provenance.commit() is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "tablut"\n')
    assert provenance.commit().endswith("+")


def test_a_player_is_not_called_better_than_itself(capsys: pytest.CaptureFixture[str]) -> None:
    from tablut.play.arena.match import play_match
    from tablut.play.arena.plan import MatchPlan, contestant
    from tablut.play.players import PlayerOptions
    from tablut.play.search import SearchLimits

    limits = SearchLimits(nodes=1)
    for second, shown in (("random", False), ("greedy", True)):
        one, other = (contestant(name, limits, PlayerOptions(hash_mib=1)) for name in ("random", second))
        plan = MatchPlan(load_variant("ashton-5-4v0"), one, other, games=2, seed=1)
        show_match(PeopleConsole(), play_match(plan).summary)
        assert ("probability" in capsys.readouterr().out) == shown


def test_a_rule_file_names_all_missing_fields_at_once() -> None:
    with pytest.raises(VariantError) as refused:
        parse_variant('format = 1\ntitle = "x"\nsource = "y"\nsize = 8\n', name="few", origin="few.toml")
    told = str(refused.value)
    assert told.count("missing") == 1
    assert all(f"'{field}'" in told for field in ("size", "first", "king", "terrain", "start"))


def test_a_common_suffix_makes_no_names_similar() -> None:
    assert did_you_mean("missing.toml", ["syntax.toml", "rules.toml"]) == ""
    assert "'syntax.toml'" in did_you_mean("sintax.toml", ["syntax.toml", "rules.toml"])
