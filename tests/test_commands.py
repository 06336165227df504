"""Every command of every package, found by its entry point: whole at any width, deaf to markup, one line on failure.

A new command needs one line in `tests.support.commands.EXAMPLES`; everything here is then tried on it.
"""

import csv
import io
import json
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from tablut.cli import runtime
from tablut.cli.runtime import Reply
from tablut.cli.shell import command_specs, run
from tablut.cli.streams import AS_JSON
from tablut.results import grouped
from tablut.variants import Variant, load_variant
from tests.support.commands import (
    EXAMPLES,
    SAYS_ITSELF,
    SLOW,
    SMALL,
    WON_IN_ONE,
    command_tree,
    example_of,
    integers,
    number_of,
)  # fmt: skip
from tests.support.effort import slow_but
from tests.support.pages import PAGES, blocks_of, read
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
CENSUS = DATA / "stores" / "census-v6" / "store.zip"
ELEVEN = str(DATA / "variants" / "eleven.toml")
HOSTILE = "[/bold][red]\x1b[31mx\x9b2J\u202e\x07"

POSITION = ["position rank", "position show", "position status", "position unrank"]
ON_ELEVEN = ["apply", "bounds", "census", "moves", "perft", *POSITION, "symmetry show"]
COMMANDS = sorted(command_tree())


def test_every_command_has_an_example() -> None:
    assert set(COMMANDS) == set(EXAMPLES), "add a line to EXAMPLES in tests/support/commands.py"


def example(name: str, variant: str, tmp_path: Path) -> list[str]:
    """Return a command line of a command, and make what it reads."""
    places = {"folder": str(tmp_path), "proof": str(tmp_path / "proof.jsonl"), "census": str(tmp_path / "store")}
    if name == "puzzle check":
        saved = ["puzzle", "solve", "-v", SMALL, "-p", WON_IN_ONE, "--save-proof", places["proof"]]
        assert run(saved) == 0
    if name == "census verify":
        zipfile.ZipFile(CENSUS).extractall(tmp_path / "store")
    return example_of(name, variant, move="g1-g2" if variant == ELEVEN else "c3-b3", **places)


class Answer(NamedTuple):
    """What a command gave, and what it printed of it."""

    reply: Reply
    printed: str


@pytest.fixture(scope="module")
def answer_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Answer]:
    """Return a function from a command and a variant to the answer to its example, which runs once for all tests."""

    @cache
    def answer(name: str, variant: str) -> Answer:
        arguments = example(name, variant, tmp_path_factory.mktemp("example"))
        replies: list[Reply] = []
        text_of = runtime.text_of

        def kept(reply: Reply) -> str:
            replies.append(reply)
            return text_of(reply)

        with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as printed:
            patch.setattr(runtime, "text_of", kept)
            assert run(arguments) == 0
        return Answer(replies[-1], printed.getvalue())

    return answer


def words(text: str) -> set[str]:
    """Return the words of a text but for the frames of boards and the marks at the ends of words."""
    return {word for raw in re.split(r"[ \n]+", text) if (word := raw.strip("│╭╮╰╯─.:,;"))}


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        *slow_but([(name, SMALL) for name in COMMANDS if name not in SLOW], [(name, SMALL) for name in COMMANDS]),
        *slow_but(
            [(name, ELEVEN) for name in ("moves", "position rank", "position show")],
            [(name, ELEVEN) for name in ON_ELEVEN],
        ),
        *((name, "ashton") for name in ("bounds", "moves", "position rank")),
    ],
)
def test_no_number_and_no_label_is_cut_at_any_width(
    name: str, variant: str, answer_of: Callable[[str, str], Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = answer_of(name, variant).reply
    monkeypatch.delenv("COLUMNS", raising=False)
    texts = {"piped": runtime.text_of(reply)}
    for width in (200, 80, 40, 10):
        monkeypatch.setenv("COLUMNS", str(width))
        texts[str(width)] = runtime.text_of(reply)
    for width, text in texts.items():
        assert text.count("…") == texts["piped"].count("…"), width
        assert words(texts["200"]) <= words(text), width
        assert not re.search(r" $", text, re.MULTILINE) or "╭" in text
    assert texts["10"] == texts["40"]
    printed = {int("".join(number.split())) for number in re.findall(r"\d[\d\xa0]*", texts["200"])}
    for number in printed & set(integers(reply.result.model_dump(mode="json"))):
        pattern = rf"(?<!\d)(?:{number}|{grouped(number)})(?!\d)"
        assert all(re.search(pattern, text) for text in texts.values()), number


@pytest.mark.parametrize(
    "name", [name for name, command in command_tree().items() if "as_csv" in {item.name for item in command.params}]
)
def test_every_table_is_csv(name: str, answer_of: Callable[[str, str], Answer]) -> None:
    reply = answer_of(name, SMALL).reply
    lines = runtime.csv_of(reply, whole=True).splitlines()
    assert lines[0].startswith("# ") == reply.commented
    kind, _ = reply.table
    header, *rows = csv.reader(lines[reply.commented :], strict=True)
    assert header == list(kind.model_fields)
    assert {len(row) for row in rows} == {len(header)}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SAYS_ITSELF | SLOW])
def test_a_hostile_name_is_neither_markup_nor_obeyed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (ROOT / "tablut" / "variants" / "data" / f"{SMALL}.toml").read_text(encoding="utf-8")
    # The reader gives a name with control characters up; what is left for the console is markup.
    assert load_variant_named(tmp_path, HOSTILE.replace("/", "\\"), source).name.isprintable()
    file = tmp_path / "[red]x[bold].toml"
    file.write_text(re.sub(r'title = ".*"', lambda _: "title = '[/bold][red] title [/x]'", source), encoding="utf-8")
    code = run(example(name, str(file), tmp_path))
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert captured.err == ""
    assert re.sub(r"[\n\xa0]", "", captured.out).isprintable()
    if name != "convert":  # which answers in what another program reads
        # All of it is shown, brackets included.
        assert load_variant(str(file)).name in captured.out


def load_variant_named(folder: Path, name: str, text: str) -> Variant:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return load_variant(str(folder / f"{name}.toml"))


def test_hostile_titles_notes_tags_and_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["variants", ELEVEN]) == 0
    note = "2b2/5/b1K1b/5/2b2 b note=[/red]"
    assert run(["show", "-v", SMALL, "-p", note]) == 0
    record = tmp_path / "record.txt"
    record.write_text(
        f'[Variant "{SMALL}"]\n[White "[/bold]\x1b[31m"]\n[Black "[red]"]\n\n1. c1-d1 {{[/dim]\x9b}}\n',
        encoding="utf-8",
    )
    assert run(["replay", str(record)]) in (0, 1)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(f"variant {SMALL}\n{HOSTILE}; 2b2/1K3/b3b/5/2b2 w; 1=9; [/red]\n", encoding="utf-8")
    assert run(["perft", "--corpus", str(corpus)]) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    assert re.sub(r"[\n\xa0]", "", captured.out).isprintable()
    for shown in (
        "[/bold][red]Eleven by eleven [/x]",
        "[red]\\x1b[31mx\\x9b2J",
        "[/bold]\\x1b[31m",
        "[/bold][red]\\x1b",
    ):
        assert shown in captured.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_refusal_is_one_safe_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (
        [f"--nosuch{HOSTILE}"],
        ["-v", HOSTILE * 10_000],
        ["--position", HOSTILE * 20 + " w"],
        [HOSTILE, HOSTILE, HOSTILE],
    ):
        assert run([*name.split(), *wrong]) in (2, 74), wrong[0][:20]
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert captured.err[:-1].isprintable()
        assert len(captured.err) < 2000


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for arguments in ([*name.split(), "--help"], [*name.split(), "-h"], ["help", *name.split()]):
        assert run(arguments) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] == texts[2]
    assert f"Usage: tablut {name} " in texts[0]
    assert "--json" in texts[0]
    assert all(len(line) <= 80 for line in texts[0].partition("\nExamples:")[0].splitlines())
    for item in command_tree()[name].params:
        if isinstance(item, click.Option) and not item.is_flag:
            assert item.metavar, f"{item.opts}: its unit or kind is not named"
            assert item.hidden or item.help, item.opts


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_an_option_of_the_program_of_every_group_and_of_every_command(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: list[tuple[str, bool]] = []

    def respond(ctx: click.Context) -> int:
        found.append((ctx.command_path, ctx.meta[AS_JSON.name]))
        return 0

    words = name.split()
    places = {"folder": "x", "proof": "x", "census": "x"}
    rest = example_of(name, SMALL, move="c3-b3", **places)[len(words) :]
    monkeypatch.setattr(runtime, "respond", respond)
    for place in range(len(words) + 1):
        assert run([*words[:place], "--json", *words[place:], *rest]) == 0
    assert run([*words, *rest]) == 0
    assert found == [*[(f"tablut {name}", True)] * (len(words) + 1), (f"tablut {name}", False)]


def test_json_before_the_command_gives_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    for line, code, key in (
        ("--json moves -v ashton-5-4v0", 0, "moves"),
        ("puzzle --json list ashton", 0, "puzzles"),
        ("census --json count --plies 1 -v ashton-5-4v0", 0, "plies"),
        ("--json moves -v nosuch", 2, "error"),
        ("--json nosuch", 2, "error"),
        ("--json", 2, "error"),
        ("puzzle --json", 2, "error"),
    ):
        assert run(line.split()) == code, line
        assert key in json.loads(capsys.readouterr().out), line


def test_words_that_end_the_options_do_not_hide_that_no_command_follows(capsys: pytest.CaptureFixture[str]) -> None:
    for group in ([], ["puzzle"]):
        assert run([*group, "--"]) == run(group) == 0
        text = capsys.readouterr().out
        assert text[: len(text) // 2] * 2 == text
        assert "Usage: tablut" in text


def test_a_group_without_a_command_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    groups = sorted({name.partition(" ")[0] for name in COMMANDS if " " in name} - set(COMMANDS))
    assert {"position", "puzzle", "reachable", "symmetry", "tablebase"} <= set(groups)
    for group in groups:
        assert run([group]) == 0
        listed = " ".join(capsys.readouterr().out.split())
        for name in (name for name in COMMANDS if name.startswith(f"{group} ")):
            summary = " ".join((command_tree()[name].help or "").strip().partition("\n")[0].split())
            assert f"{name.removeprefix(f'{group} ')} {summary}" in listed


def test_short_forms_are_the_commands_about_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("show", "status", "rank"):
        assert run([name, "-v", SMALL]) == run(["position", name, "-v", SMALL]) == 0
        short = capsys.readouterr().out
        assert short[: len(short) // 2] * 2 == short


def test_every_command_shows_examples_that_the_documentation_has(capsys: pytest.CaptureFixture[str]) -> None:
    """So tests run them: see `tests/test_docs.py`."""
    blocks = [block for page in PAGES for block in blocks_of(read(page))]
    documented = {tuple(shlex.split(command.text, comments=True)) for block in blocks for command in block.commands}
    shown = set()
    for name in COMMANDS:
        assert run(["help", *name.split()]) == 0
        examples = capsys.readouterr().out.partition("\nExamples:\n")[2].splitlines()
        assert len(examples) >= 2, f"add an example of {name} to the commands.txt of its package"
        for line in examples:
            assert line.startswith(f"  tablut {name}")
            assert tuple(shlex.split(line)) in documented, line
        shown |= set(examples)
    assert {f"  {line}" for spec in command_specs().values() for line in spec.examples} == shown


@pytest.mark.parametrize("name", COMMANDS)
def test_numbers_beyond_every_machine_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every option that takes a number gets one of 23 digits, or what is none."""
    # Arguments that a command must have; what is wrong is found before they are looked at.
    needed = ["17"] if name == "position unrank" else []
    for item in command_tree()[name].params:
        if (number := number_of(item)) is not None and item.param_type_name == "option":
            assert run([*name.split(), *needed, item.opts[0], "nan" if number is float else "9" * 23]) == 2, item.opts
            captured = capsys.readouterr()
            assert captured.out == ""
            assert captured.err.count("\n") == 1
            assert len(captured.err) < 2000
            assert "Input" not in captured.err


# -- interrupts ----------------------------------------------------------------------------


def interrupted(arguments: list[str]) -> tuple[int, str, str]:
    """Start a command, interrupt it, and return its exit code and what it said."""
    program = "from tablut.cli import main; print('ready', flush=True); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err
    finally:
        process.kill()


@pytest.mark.slow  # by default two of them: tests/tablut/test_cli.py, tests/tablut/test_competition.py
@pytest.mark.parametrize(
    "command",
    [
        "perft -d 12",
        "symmetry verify --most 3000000",
        "referee --port-white 0 --port-black 0 --json",
        "bestmove --movetime 3600",
        "play --side none --movetime 3600",
        "solve -v ashton-5-4v4",
        "puzzle solve collection",
        "census --plies 7",
        "report --out {folder}",
        "bench",
        "tablebase build --men 6 --store {folder}",
    ],
)
def test_an_interrupt_ends_any_command(command: str, tmp_path: Path) -> None:
    arguments = [str(tmp_path / "new") if part == "{folder}" else part for part in command.split()]
    code, out, err = interrupted(arguments)
    assert code == 130, err
    # A long build prints its cost before it begins.
    lines = [line for line in err.splitlines() if not line.startswith("tablut: ashton: ") or "build" not in command]
    assert len(lines) == 1, err
    assert lines[0].startswith("tablut: interrupted")
    assert "--json" in arguments or out == "" or "the results so far are above" in err
    if "--json" in arguments:
        # Whether the command had anything to show yet depends on how far it got.
        answer = json.loads(out)
        nothing_yet = (answer["error"], answer.get("status"), answer.get("subject")) == ("interrupted", 130, None)
        assert nothing_yet or (answer["interrupted"] is True and "the results so far are above" in err)


FIRST_ANSWERS = {
    "bounds": 30,
    "bounds -v brandubh": 30,
    "variants": 40,
    "variants copenhagen": 40,
    "puzzle list": 40,
    "exclusions -v brandubh-5-4v0": 40,
}


@pytest.mark.parametrize("line", FIRST_ANSWERS)
def test_the_first_answer_fits_a_screen(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(line.split()) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= FIRST_ANSWERS[line]
    assert max(map(len, shown)) <= 80


@pytest.mark.parametrize("line", ["bounds -v brandubh", "variants brandubh", "puzzle list"])
def test_all_adds_to_what_people_see_and_changes_no_json(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for more in ([], ["--all"]):
        assert run([*line.split(), *more]) == 0
        shown = capsys.readouterr().out
        assert run([*line.split(), *more, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        parameters = answer.pop("provenance")["parameters"]
        answers.append((len(shown.splitlines()), answer, parameters))
    (short, *plain), (long, *whole) = answers
    assert short < long
    assert plain == whole


@pytest.mark.parametrize("name", ["match", "tournament"])
def test_a_help_in_sections_lists_every_option_once(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    told = capsys.readouterr().out
    for item in command_tree()[name].params:
        if item.param_type_name == "option":
            assert len(re.findall(rf"^  .*{item.opts[0]}\b", told.partition("Examples:")[0], re.MULTILINE)) >= 1
    assert told.count("\nOptions:\n") == told.count("\nOpenings:\n") == 1
