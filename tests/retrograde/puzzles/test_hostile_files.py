"""Files made to deceive, to crash or to take for ever: each is refused in one line, at once.

One idea a file, in ``tests/data/hostile``. The name says what is expected: ``refuted-…`` is
read, and what it claims is not so (exit code 1); every other file is bad input (2).
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograde.proofs.certificate import MOST_BYTES, game_of, read_certificate
from retrograde.proofs.checker import check_strategy
from retrograde.puzzles.puzzle_file import format_puzzles, parse_puzzles
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.variants import load_variant
from tests.support.effort import examples

DATA = Path(__file__).parents[2] / "data"
HOSTILE = {
    "puzzles": (["puzzle", "solve"], ["--memory", "4", "--nodes", "100000"]),
    "certificates": (["puzzle", "check"], []),
}
FILES = [path for kind in HOSTILE for path in sorted((DATA / "hostile" / kind).iterdir())]

# All files in one process, so that the modules are loaded once; a hang ends it.
ALL = """
import contextlib, io, json, sys
from retrograde.puzzles.puzzle_file import format_puzzles, parse_puzzles
from tablut.cli.shell import run
told = []
for arguments in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    told.append([code, out.getvalue(), err.getvalue()])
json.dump(told, sys.stdout)
"""


def arguments(path: Path) -> list[str]:
    before, after = HOSTILE[path.parent.name]
    return [*before, str(path), *after]


@pytest.fixture(scope="module")
def answers() -> dict[Path, tuple[int, str, str]]:
    found = subprocess.run(
        [sys.executable, "-c", ALL],
        input=json.dumps([arguments(path) for path in FILES]),
        capture_output=True,
        text=True,
        timeout=1200,
        check=True,
    )
    return dict(zip(FILES, map(tuple, json.loads(found.stdout)), strict=True))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_hostile_file_is_refused_in_one_line(path: Path, answers: dict) -> None:
    code, out, err = answers[path]
    assert "Traceback" not in out + err
    assert len(out + err) < 3000
    if path.stem.startswith("refuted-"):
        assert (code, err) == (1, "")
        assert "fails" in out or "refuted" in out
    else:
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert path.name in err
        assert err.removesuffix("\n").isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("command", [["solve"], ["check"]])
def test_what_is_no_ordinary_file_is_not_read(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for source in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / ("n" * 300), tmp_path / "[/b]"):
        assert run(["puzzle", *command, str(source)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1


def test_large_files_are_not_read_to_their_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    for command in ("solve", "check"):
        assert run(["puzzle", command, str(large)]) == 2
        assert "the most that is read" in capsys.readouterr().err


PIECES = [*'\n[]{}",:;=/ 0²\0\ud7ffKbw', "9" * 400]
SEEDS = [path.read_text() for path in sorted((DATA / "proofs").glob("*.jsonl"))]
LINE = "2b2/5/b1K1b/5/2b2 w; id=one; variant=ashton-5-4v0; stipulation=white wins in 3; first=c3-b3 c3-d3; grade=1\n"


@st.composite
def spoilt(draw: st.DrawFn, texts: list[str]) -> str:
    """A text with some of its parts replaced, repeated or dropped."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        middle = draw(st.sampled_from([*PIECES, text[start:end] * 2]) | st.text(max_size=5))
        text = text[:start] + middle + text[end:]
    return text


@settings(max_examples=examples(100), deadline=None)
@given(text=spoilt(SEEDS) | st.text(max_size=200))
def test_no_proof_crashes_the_reader(text: str) -> None:
    try:
        proof = read_certificate("spoilt", text)
        check_strategy(game_of("spoilt", proof), proof.position, proof.winner, proof.plies, proof.strategy)
    except InputError:
        pass  # the only thing that may be raised


def test_no_puzzle_file_crashes_the_reader() -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=examples(100), deadline=None)
    @given(text=spoilt([LINE, LINE * 3, f"# a comment\n{LINE}"]) | st.text(max_size=200))
    def read(text: str) -> None:
        try:
            puzzles = parse_puzzles("spoilt", text)
        except InputError:
            counts["refused"] += 1  # the only thing that may be raised
            return
        # What is read is written, and read as the same; ids that were line numbers are written.
        assert parse_puzzles("spoilt", format_puzzles(puzzles)) == puzzles
        counts["read"] += bool(puzzles)

    read()
    assert counts["refused"] > 10
    assert counts["read"] > 5


# -- format versions of proofs ----------------------------------------------------------


def test_a_proof_that_was_kept_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    name = "ashton-5-4v0-version-2.jsonl"
    proof = read_certificate(name, (DATA / "proofs" / name).read_text())
    checked = check_strategy(game_of(name, proof), proof.position, proof.winner, proof.plies, proof.strategy)
    assert checked.failures == []
    assert (checked.distance, checked.excluded, checked.unused) == ("exact", 2, 0)
    own = str(DATA / "proofs" / "own.toml")
    for name, options in (("mcgill-version-2", []), ("own-version-2", ["-v", own])):
        assert run(["puzzle", "check", str(DATA / "proofs" / f"{name}.jsonl"), *options]) == 0
        assert "plies left)" in capsys.readouterr().out


def test_rules_of_ones_own_are_found_by_their_digest_alone(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "proofs" / "own-version-2.jsonl")
    assert run(["puzzle", "check", file]) == 2
    assert "name their file with --variant" in capsys.readouterr().err
    assert run(["puzzle", "check", file, "-v", "ashton-5-4v0"]) == 2
    assert "other rules than 'ashton-5-4v0'" in capsys.readouterr().err
    text = (DATA / "proofs" / "own-version-2.jsonl").read_text()
    assert ".toml" not in text
    proof = read_certificate("own", text.replace('"plies_left": 9', '"plies_left": null'))
    rules = load_variant(str(DATA / "proofs" / "own.toml"))
    with pytest.raises(InputError, match="does not say how many plies are left of the 9"):
        game_of("own", proof, rules)
