"""What README and docs claim is what the program gives."""

import doctest
import re
import shlex
import textwrap
from importlib import import_module
from pathlib import Path

from counting import bounds
from reports.reachable import results
from tablut import Board
from tablut.cli.shell import run
from tablut.formats import read_record
from tablut.play.players import PLAYERS
from tablut.play.players.minimax import MinimaxPlayer, PayoffPlayer
from tablut.play.players.montecarlo import SETTINGS as MONTE_CARLO
from tablut.replay import replay
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


def test_the_readmes_share_is_the_stored_one() -> None:
    low, high = (f"{100 * end:.2f} %" for end in results()["ashton"]["interval99"])
    assert f"between {low} and {high} can be reached" in " ".join(README.split())


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


def indented_blocks(text: str) -> list[str]:
    """Return the indented blocks of a page or a docstring, blank lines within them kept."""
    found = re.findall(r"(?:(?:^    .*\n)(?:^[ \t]*\n(?=    ))*)+", text, re.MULTILINE)
    return [textwrap.dedent(block).strip() for block in found]


def test_every_record_of_docs_and_docstrings_is_replayed_without_a_problem() -> None:
    pages = [(ROOT / "docs" / "formats.md").read_text(encoding="utf-8")]
    pages += [import_module(f"tablut.formats.{module}").__doc__ or "" for module in ("native", "opentafl_records")]
    records = [block for page in pages for block in indented_blocks(page) if re.match(r"\[\w+ \"", block)]
    told = [block for block in records if "…" not in block]
    assert len(told) >= 2
    for block in told:
        assert replay(read_record(block)).problems == (), block


def test_every_position_and_move_of_docs_formats_is_read() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    texts = [block for block in indented_blocks(page) if not block.startswith("[")]
    cells = [re.findall(r"`([^`]+)`", line) for line in page.splitlines() if line.startswith("| `")]
    quoted = [text for row in cells for text in row if "…" not in text]
    texts += [text for text in quoted if re.fullmatch(r"/?[\dbwKtT]+(/[\dbwKtT]+)+/? [wb]", text)]
    assert len(texts) >= 4
    for text in texts:
        size = len(text.splitlines()) - 1 if "\n" in text else text.strip("/").split()[0].strip("/").count("/") + 1
        Board({5: "ashton-5-4v0", 7: "brandubh", 9: "ashton"}[size], text).legal_moves.count()
    start = page.index("| position | move |")
    moves = re.findall(r"`([^`]+)`", "".join(re.findall(r"\|([^|]*)\|$", page[start : start + 600], re.MULTILINE)[2:6]))
    assert len(moves) >= 6
    assert {str(Board("brandubh").push_text(move)) for move in moves} == {"d2-e2"}


def test_the_documented_variant_file_is_valid() -> None:
    text = (ROOT / "docs" / "variants.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    variant = parse_variant(example, name="example", origin="docs/variants.md")
    assert variant.same_game(load_variant("ashton-5-4v2"))


def test_the_number_of_rule_sets_in_the_tour() -> None:
    assert len(variant_names()) == 13
    assert "the thirteen rule sets that ship: six full games, seven reduced boards" in README


def test_the_players_page_names_every_player_with_its_options() -> None:
    page = (ROOT / "docs" / "players.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \|(.*)\|$", page, re.MULTILINE))
    assert set(PLAYERS) <= set(rows)
    for name, declared in (
        ("mcts", MONTE_CARLO),
        ("payoff", PayoffPlayer.declared),
        ("minimax3", MinimaxPlayer.declared),
    ):
        told = dict(re.findall(r"`([a-z]+)=([^`]*)`", rows[name]))
        assert set(told) == set(declared)
        for option, default in told.items():
            assert str(declared[option].default).startswith(default.rstrip("…")), (name, option)
