"""Files that a user names for output: each is replaced by its own kind only, and a wrong name is refused first."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from reports import rendering
from tablut.cli.shell import run
from tablut.play.competition import write_player_script
from tablut.work.files import OWN, FileKind, remove_temporaries, write_bytes

WON = "5/5/1K3/5/b3b w"
SMALL = "ashton-5-4v0"
MATCH = f"match random random -v {SMALL} -n 2 --nodes 1"
# For each kind of file: its ending, and a command that writes it.
WRITERS = {
    "book": ("book", "book make OUT games.csv -v brandubh"),
    "collection": ("games", "games games.csv -v brandubh --into OUT"),
    "record": ("txt", "replay game.txt --save OUT"),
    "pgn": ("pgn", "replay game.txt --save OUT"),
    "otg": ("otg", "replay game.txt --save OUT"),
    "line": ("csv", "replay game.txt --save OUT"),
    "annotated": ("txt", "analyse game.txt --nodes 20 --proof-nodes 20 --hash 1 --annotate OUT"),
    "svg": ("svg", "show --svg OUT"),
    "png": ("png", "show --png OUT"),
    "gif": ("gif", "replay game.txt --gif OUT"),
    "svg of a ply": ("svg", "replay game.txt --svg ."),
    "proof": ("jsonl", f"puzzle solve -v {SMALL} -p WON --save-proof OUT"),
    "packed proof": ("gz", f"puzzle solve -v {SMALL} -p WON --save-proof OUT"),
    "certificates": ("gz", f"reachable estimate -v {SMALL} --samples 8 --lemma-samples 8 --certificates OUT"),
    "graph": ("npz", "census -v brandubh-5-4v0 --all --graph OUT"),
    "counts": ("json", f"exclusions -v {SMALL} --pieces 2 --out OUT"),
    "script": ("sh", "play --write-script . --player random"),
}
# Files that belong to somebody else. Each looks a little like one of those that are written.
FOREIGN = {
    "notes": b"precious notes\n",
    "archive": b"d2-e2 c4-c5,0,0,White\nd2-e2 c4-c5,0,0,Black\n",
    "chess": b'[Event "F/S Return Match"]\n[White "Fischer"]\n\n1. e4 e5 2. Nf3 Nc6 1/2-1/2\n',
    "two games": b'[Variant "brandubh"]\n1. d2-e2 *\n\n[Variant "brandubh"]\n1. d2-e2 c4-c5 *\n',
    "settings": b'[section]\nname = "value"\n',
    "json": b'{"format": "other", "content": [1]}\n',
    "lines": b'["5/5/1K3/5/b3b w", 1, "b3-b1"]\n',
    "shell": b"#!/bin/sh\necho mine\n",
    "page": b"<?xml version='1.0'?>\n<html><body><svg/></body></html>\n",
    "cut": b"\x1f\x8b\x08\x00",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "games.csv").write_text("d2-e2 c4-c5,0,0,White\n", encoding="utf-8")
    (tmp_path / "game.txt").write_text('[Variant "brandubh"]\n1. d2-e2 c4-c5 *\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line(command: str, out: str) -> list[str]:
    """Return the words of a command that writes to a file."""
    return [{"OUT": out, "WON": WON}.get(word, word) for word in command.split()]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "graph" else name for name in WRITERS]
)
def test_a_writer_replaces_only_what_is_of_its_kind(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ending, command = WRITERS[name]
    out = {"svg of a ply": "ply-0.svg", "script": "runmyplayer.sh"}.get(name, f"out.{ending}")
    before = set(place.iterdir())
    for foreign, content in FOREIGN.items():
        (place / out).write_bytes(content)
        assert run(line(command, out)) == 2, foreign
        err = capsys.readouterr().err
        assert f"{out}': exists and is not" in err
        assert len(err.splitlines()) == 1
        assert (place / out).read_bytes() == content
        assert set(place.iterdir()) == {*before, place / out}
    with closing(sqlite3.connect(place / "foreign.db")) as connection:
        connection.execute("CREATE TABLE rules (id)")
        connection.commit()
    (place / "foreign.db").replace(place / out)
    assert run(line(command, out)) == 2
    # An empty file may be one that was made for the output. What the command has written, it writes again.
    (place / out).write_bytes(b"")
    for _ in range(2):
        assert run(line(command, out)) in (0, 3), capsys.readouterr().err
        assert (place / out).stat().st_size


def test_swapped_arguments_destroy_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["book", "make", "my.book", "games.csv", "-v", "brandubh"]) == 0
    for target in ("games.csv", "game.txt"):
        content = (place / target).read_bytes()
        assert run(["book", "make", target, "my.book"]) == 2
        assert (place / target).read_bytes() == content


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--png", "-"), ("--png", "x.gif"), ("--gif", "x.png"), ("--svg", "x.png"), ("--svg", "-"), ("--save", "-"),
        ("--gif", "game.txt"),
    ],
)  # fmt: skip
def test_a_name_of_another_kind_is_refused_before_anything_is_read(
    option: str, name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in place.iterdir()}
    command = ["show"] if option in ("--png", "--svg") else ["replay", "no-such-record.txt"]
    assert run([*command, option, name]) == 2
    err = capsys.readouterr().err
    assert f"'{name}': is not a name for" in err
    assert {path: path.read_bytes() for path in place.iterdir()} == before


def test_a_picture_needs_no_ending_and_capitals_do_not_matter(place: Path) -> None:
    for name in ("picture", "PICTURE.PNG"):
        assert run(["show", "--png", name]) == 0
        assert (place / name).read_bytes().startswith(b"\x89PNG")


def test_a_script_of_ours_is_written_again(tmp_path: Path) -> None:
    first = write_player_script(tmp_path, ("--player", "random"))
    assert write_player_script(tmp_path, ("--player", "greedy")) == first
    assert "greedy" in first.read_text(encoding="utf-8")


def test_a_page_of_somebody_else_is_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [rendering.Artefact("census.md", lambda: b"# A\n"), rendering.json_data("data/bounds.json", {"a": 1})]
    monkeypatch.setattr("reports.cli.GENERATORS", {"census": lambda: files})
    (tmp_path / "census.md").write_text("my notes\n", encoding="utf-8")
    assert run(["report", "--out", str(tmp_path)]) == 2
    assert "has no report" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["census.md"]


# -- what killed writers leave behind ------------------------------------------------------

KIND = FileKind("a test", lambda path: path.read_bytes() == b"x")


def test_old_temporary_files_of_a_target_are_removed(tmp_path: Path) -> None:
    names = {
        ".out.games.abcd_123.tmp": True,
        ".out.games.abcd_124.tmp": False,  # of a writer that may still run
        ".out.games.abcd_1234.tmp": True,
        ".other.games.abcd_123.tmp": True,
        ".out.games.tmp": True,
        "out.games.abcd_123.tmp": True,
    }
    for name, old in names.items():
        (tmp_path / name).touch()
        if old:
            os.utime(tmp_path / name, (time.time() - 4000,) * 2)
    (tmp_path / ".out.games.abcd_125.tmp").mkdir()
    write_bytes(tmp_path / "out.games", b"x", kind=KIND)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names, ".out.games.abcd_125.tmp", "out.games"} - {".out.games.abcd_123.tmp"}
    write_bytes(tmp_path / "other.games", b"x", kind=OWN)  # a store removes its files itself, under its lock
    assert (tmp_path / ".other.games.abcd_123.tmp").exists()
    remove_temporaries(tmp_path)
    assert not list(tmp_path.glob(".*.games.*_12[34].tmp"))
