"""The shell under what nobody foresees: defects, no memory, full and closed streams, poor encodings, interrupts."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tablut.cli import runtime, shell
from tablut.cli.command import command
from tablut.cli.people import PeopleConsole, Table, label, number, prose, wrapped
from tablut.cli.runtime import Interrupted, Reply
from tablut.cli.shell import command_specs, run
from tablut.cli.streams import one_line, plain_signs, printable
from tablut.errors import InputError, MachineError
from tablut.results import Result
from tablut.work import clocks
from tablut.work.machine import check_memory, physical_memory
from tests.support.waiting import PATIENCE

Captured = pytest.CaptureFixture[str]


def tablut(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | settings.pop("env", {})
    return subprocess.run(
        [sys.executable, "-m", "tablut", *arguments],
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings),
        env=environment,
        check=False,
    )


# -- exit codes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ValueError("no\nsense \x1b[31m"), 70, ["ValueError", "no sense \\x1b[31m", "TABLUT_TRACE=1"]),
        (KeyError(), 70, ["KeyError", "test_cli_shell.py:"]),
        (MemoryError("Unable to allocate 9 TiB"), 74, ["memory", "9 TiB"]),
        (OSError(28, "No space left on device", "some/file"), 74, ["some/file", "No space left"]),
        (PermissionError(13, "Permission denied", "[/x]\x1b"), 74, ["[/x]\\x1b"]),
        (InputError("makes no sense", subject="position 'x'"), 2, ["position 'x': makes no sense"]),
        (MachineError("No space left on device", subject="store 'x'"), 74, ["store 'x'"]),
        (KeyboardInterrupt(), 130, ["interrupted"]),
        (BrokenPipeError(32, "Broken pipe"), 0, []),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_whatever_is_raised_has_its_exit_code_and_one_line(
    error: BaseException, code: int, words: list[str], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.delenv("TABLUT_TRACE", raising=False)
    monkeypatch.setattr("tablut.commands.variants.shipped_variants", broken)
    for arguments in (["variants", "--json"], ["variants"]):
        assert run(arguments) == code
        captured = capsys.readouterr()
        told = json.loads(captured.out) if "--json" in arguments and words else None
        assert told is None or captured.err == f"tablut: {told['error']}\n"
        about_nothing = isinstance(error, MemoryError) or code in (70, 130)
        assert told is None or (told["status"], told["input"] is None) == (code, about_nothing)
    assert captured.out == ""
    assert captured.err.count("\n") == (1 if words else 0)
    assert len(captured.err) < 2000
    assert captured.err.replace("\n", "").isprintable()
    assert all(word in captured.err for word in words), captured.err


class _Count(Result):
    variant: str
    counted: int


@pytest.mark.parametrize("form", ["people", "json"])
def test_an_interrupted_command_answers_what_it_has(
    form: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped() -> Reply:
        reply = Reply(_Count(variant="ashton", counted=7), lambda console: console.print("ashton: 7"))
        raise Interrupted(reply, "tablut show --resume")

    monkeypatch.setattr(shell, "import_module", lambda name: type("M", (), {"moves_command": command()(stopped)}))
    assert run(["moves", *(["--json"] if form == "json" else [])]) == 130
    captured = capsys.readouterr()
    assert captured.err == "tablut: interrupted; the results so far are above; continue with: tablut show --resume\n"
    if form == "json":
        answer = json.loads(captured.out)
        assert (answer["counted"], answer["interrupted"], answer["provenance"]["seed"]) == (7, True, None)
    else:
        assert captured.out == "ashton: 7\n"


def test_more_memory_than_the_machine_has_is_refused_before_it_is_taken() -> None:
    has = physical_memory()
    assert has is None or has > 1 << 28
    with pytest.raises(InputError, match=r"--hash 99999999: this machine has only [\d,]+ MiB"):
        check_memory("--hash", 99_999_999)


# -- streams -------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_the_machines_failure() -> None:
    with Path("/dev/full").open("w") as full:
        result = tablut("variants", "--json", stdout=full)
    assert result.returncode == 74
    assert result.stderr.count(b"\n") == 1
    assert b"No space left" in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("closed", "code", "words"),
    [
        ("tablut variants >&-", 74, "standard output: is closed"),
        ("tablut nonsense 2>&-", 2, ""),
        ("tablut show -p - <&-", 2, "standard input: is closed"),
        ("tablut bounds --help | true", 0, ""),
    ],
)
def test_closed_streams(closed: str, code: int, words: str) -> None:
    command = closed.replace("tablut", f"'{sys.executable}' -m tablut", 1)
    result = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == code
    assert words in result.stderr
    assert result.stderr.count("\n") == (1 if words else 0)


def test_an_encoding_without_our_signs_shows_a_board() -> None:
    result = tablut("variants", "brandubh", env={"PYTHONIOENCODING": "cp1252"})
    assert result.returncode == 0, result.stderr
    assert "4  b b w K w b b" in result.stdout.decode("cp1252")


@given(st.text(), st.sampled_from(["cp1252", "ascii", "utf-8", "shift_jis"]))
def test_any_text_can_be_written(text: str, encoding: str) -> None:
    plain = printable(text)
    assert all(sign in "\n\xa0" or sign.isprintable() for sign in plain)
    assert printable(plain) == plain
    plain.encode(encoding, plain_signs())
    line = one_line(text * 50, 100)
    assert len(line) <= 100
    assert line.isprintable()


# -- what people read ----------------------------------------------------------------------

WORDS = st.lists(st.from_regex(r"[^\s\x00-\x1f\x7f-\x9f]{1,50}", fullmatch=True).filter(str.isprintable), max_size=12)


@given(WORDS, st.integers(20, 100), st.integers(0, 8))
def test_text_is_broken_between_words_only(words: list[str], width: int, indent: int) -> None:
    lines = [line.plain for line in wrapped(" ".join(words), width, indent=indent)]
    assert [word for line in lines for word in line.split()] == " ".join(words).split()
    assert all(len(line.split()) <= 1 or cell_len(line) <= width for line in lines)


CELL = st.text(st.characters(codec="utf-8"), max_size=60)


@given(
    st.lists(
        st.sampled_from([number("count"), label("name"), prose("what it means"), label()]), min_size=1, max_size=5
    ),
    st.data(),
    st.integers(40, 220),
)
def test_a_table_shows_every_cell_whole_at_any_width(columns: list[Any], data: st.DataObject, width: int) -> None:
    table = Table(*columns)
    rows = data.draw(st.lists(st.lists(CELL, min_size=len(columns), max_size=len(columns)), max_size=4))
    for row in rows:
        table.add(*row)
    page = io.StringIO()
    console = PeopleConsole(file=page)
    console.width = width
    console.print(table)
    text = page.getvalue()
    shown = text.split()
    for row in rows:
        for cell in row:
            for word in printable(cell).split():
                assert word in shown
    assert all(sign == "\n" or sign.isprintable() for sign in text)


# -- completion ----------------------------------------------------------------------------


def asked_by(shell_name: str, words: str) -> dict[str, str]:
    """Return the environment in which a shell asks how a line goes on."""
    return {
        "_TABLUT_COMPLETE": f"{shell_name}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1) if shell_name != "fish" else words.split(" ")[-1],
    }


def completed(words: str, shell_name: str) -> list[str]:
    result = tablut(env=asked_by(shell_name, words))
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode().split("\n")[:-1]


TAB = {
    "tablut b": ["bounds", "bestmove", "book", "bench"],
    "tablut bounds -v brandubh-5": ["brandubh-5-4v0", "brandubh-5-4v4"],
    "tablut census ver": ["verify"],
    "tablut census --all --against": ["--against-bounds"],
    "tablut position sta": ["status"],
    "tablut reachable estimate --space d": ["decided"],
}
# Starting a process takes longer than completing a line.
ONE_BY_ONE = """
import json, os, sys
from tablut.cli import shell
for environment in json.loads(sys.argv[1]):
    os.environ.update(environment)
    try:
        shell._complete(shell.program)
    except SystemExit as ended:
        print("exit", ended.code)
"""


def test_the_tab_key() -> None:
    asked = json.dumps([asked_by("bash", words) for words in TAB])
    done = subprocess.run([sys.executable, "-c", ONE_BY_ONE, asked], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    *told, rest = done.stdout.split("exit 0\n")
    found = [[line.removeprefix("plain,") for line in lines.splitlines()] for lines in told]
    assert (dict(zip(TAB, found, strict=True)), rest) == (TAB, "")


def test_each_shell_gets_names_with_what_they_are_for() -> None:
    assert {*command_specs(), "help"} <= {line.removeprefix("plain,") for line in completed("tablut ", "bash")}
    assert completed("tablut bou", "zsh")[:2] == ["plain", "bounds"]
    assert completed("tablut bou", "fish")[0].startswith("plain,bounds\tCompute")
    assert completed("tablut bou", "powershell")[2].startswith("Compute")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_is_shown(name: str, capsys: Captured) -> None:
    assert run(["--show-completion", name]) == 0
    script = capsys.readouterr().out
    assert f"_TABLUT_COMPLETE={name}_complete" in script


# -- interrupts ----------------------------------------------------------------------------


LISTENING = (
    "import ctypes, signal, time\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from tablut.cli.streams import AS_JSON, watch_interrupts\n"
    "watch_interrupts()\n"
    "AS_JSON.set(True)  # as if a command had begun\n"
)
STUCK = (
    "lock = ctypes.CDLL(None).pthread_mutex_lock\n"
    "mutex = ctypes.create_string_buffer(64)\n"
    "print('ready', flush=True)\n"
    # The second call waits for ever, in C, and no signal ends it.
    "lock(mutex), lock(mutex)\n"
)
CALLED_BACK = (
    "@ctypes.PYFUNCTYPE(None)\n"
    "def called():\n"
    "    print('ready', flush=True)\n"
    "    time.sleep(3600)\n"
    # Python prints what is raised in there, and goes on.
    "called()\n"
    "time.sleep(3600)\n"
)


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("program", [STUCK, CALLED_BACK], ids=["stuck", "called back"])
def test_an_interrupt_is_heard_though_python_does_not_look(program: str) -> None:
    """A call that keeps Python from its signals, as a compiler does, is ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING + program, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert error == b"tablut: interrupted\n"
    assert json.loads(out)["status"] == 130


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_a_program_ends_orderly_though_a_callback_loses_the_exception() -> None:
    orderly = "from tablut.work.run import ending_orderly\nwith ending_orderly():\n    "
    program = LISTENING + CALLED_BACK.replace("called()\ntime", f"{orderly}called()\n    time")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGTERM
    assert error == b""


def test_long_work_says_how_far_it_is_where_no_terminal_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: Queue[str] = Queue()
    monkeypatch.setattr(runtime, "_EVERY", 0.001)
    monkeypatch.setattr(runtime, "complain", lines.put)
    with runtime.progress("count") as observer:
        observer.announce("two plies", 5.0)
        observer.announce("many plies", 5000.0)
        observer.begin("ply 3", 8_000)
        observer.advance(2_000)
        said = [lines.get(timeout=PATIENCE)]
        while not said[-1].startswith("count ply 3: 2,000 of 8,000"):
            said.append(lines.get(timeout=PATIENCE))
        clocks.begin()
        while not said[-1].startswith("count ply 3 (compiling): 2,000"):
            said.append(lines.get(timeout=PATIENCE))
        # Nobody knows how long the work takes at the speed of the compiler.
        assert "left" not in said[-1]
        clocks.end("a kernel", done=False)
        while "compiling" in said[-1]:
            said.append(lines.get(timeout=PATIENCE))
    assert "count: many plies" in said
    assert "count: two plies" not in said


# The program as the script of an installation starts it; the first import of a module interrupts it.
STARTING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[0] = "/usr/bin/tablut"
sys.orig_argv = [sys.executable, *sys.argv]

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from tablut.cli import main
sys.exit(main())
"""
IMPORTED = [
    "lazy_loader",
    "tablut.cli.shell",
    "click",
    "tablut.cli.streams",
    "tablut.errors",
    "tablut.variants",
    "tablut.play.cli",
    "pydantic",
    "tablut.engine",
    "numba",
    "numba.core.types",
    "llvmlite",
    "tablut.play.search.searcher",
]


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("module", IMPORTED)
def test_an_interrupt_during_the_start_ends_the_program_quietly(module: str) -> None:
    """Whichever module is being imported, and whatever its importer makes of an exception."""
    command = ["bestmove", "-v", "ashton-5-4v0", "--nodes", "1", "--hash", "1"]
    process = subprocess.run(
        [sys.executable, "-c", STARTING.replace("MODULE", module), *command],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert process.returncode == 130, process.stderr
    assert process.stdout == ""
    assert process.stderr in ("", "tablut: interrupted\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("program", ["script", "module"])
def test_an_interrupt_at_any_time_of_the_start_ends_the_program_quietly(program: str) -> None:
    home = str(Path(__file__).parents[2] / "tablut")
    start = {"script": ["-c", STARTING.replace("MODULE", "")], "module": ["-m", "tablut"]}[program]
    for step in range(120):
        process = subprocess.Popen(
            [sys.executable, *start, "census", "-v", "brandubh", "--plies", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(step * 0.005)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE)
        assert "bug in tablut" not in error
        # Before its first statement has run, the program has no say in what Python does.
        ours = home in error and "import await_start" not in error
        assert not ours or "Traceback" not in error, error
        assert process.returncode in (0, 130) or not ours, (process.returncode, error)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [(ImportError, 130, "tablut: interrupted\n"), (InputError, 2, "tablut: what it was\n")],
)
def test_an_interrupt_that_became_another_exception_is_no_bug(
    error: type[Exception], code: int, said: str, capsys: Captured
) -> None:
    """Compiled modules replace the exception in the middle of an import; an error of our own is reported as it is."""

    @command()
    def broken() -> None:
        """Fail."""
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise error("what it was") from interrupt

    assert run([], broken) == code
    assert capsys.readouterr().err == said
