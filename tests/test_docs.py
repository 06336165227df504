"""What README and docs claim is what the program gives."""

import doctest
import re
import shlex
from pathlib import Path

from counting import bounds
from tablut.cli.shell import run
from tablut.variants import load_variant, variant_names
from tablut.variants.schema import parse_variant

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readmes_python_example_runs() -> None:
    blocks = re.findall(r"```pycon\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, "README", "README.md", 0)
        assert doctest.DocTestRunner().run(test).failed == 0


def test_the_readmes_numbers_are_those_of_bounds() -> None:
    report = bounds(load_variant("ashton"))
    for number in (report.corrected.distinct, report.classes_tightened.distinct):
        assert f"{number:,}".replace(",", " ") in " ".join(README.split())


def test_the_readmes_board_is_the_drawn_one(capsys) -> None:  # type: ignore[no-untyped-def]
    run(["variants", "ashton"])
    drawn = [line[27:46] for line in capsys.readouterr().out.splitlines() if re.match(r"│ \d|│    a", line)]
    assert len(drawn) == 10
    for line in drawn:
        assert line.strip() in README


def test_the_tours_commands_are_understood(capsys) -> None:  # type: ignore[no-untyped-def]
    commands = [shlex.split(text) for text in re.findall(r"^\| `tablut ([^`]*)` \|", README, re.MULTILINE)]
    assert len(commands) >= 6
    for arguments in commands:
        if arguments[0] not in ("report", "bench"):  # one writes, one takes long; they have tests of their own
            assert run(arguments) == 0, arguments
    capsys.readouterr()


def test_the_documented_variant_file_is_valid() -> None:
    text = (ROOT / "docs" / "variants.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    variant = parse_variant(example, name="example", origin="docs/variants.md")
    assert variant.same_game(load_variant("ashton-5-4v2"))


def test_the_number_of_rule_sets_in_the_tour() -> None:
    assert len(variant_names()) == 13
    assert "the thirteen rule sets that ship: six full games, seven reduced boards" in README
