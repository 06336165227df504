"""Results that pages are rendered from are checked first: whatever happens to a file, it is named or it is sound."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import reports.census
import reports.endings
import reports.puzzles
import reports.rendering
import reports.solutions
from tablut.cli.shell import run
from tablut.errors import InputError

SOURCE = reports.rendering.DATA
FILES = [
    "census/ashton.json", "solutions/ashton-5-4v0.json", "endings/ashton.json", "verified/ashton.json",
    "puzzles/collection.json",
]  # fmt: skip
PAGES: dict[str, Any] = {
    "census": reports.census,
    "solutions": reports.solutions,
    "endings": reports.endings,
    "verified": SimpleNamespace(results=reports.endings.verified, artefacts=reports.endings.artefacts),
    "puzzles": reports.puzzles,
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, folder / name)
    monkeypatch.setattr(reports.rendering, "DATA", folder)
    return folder


def render(page: str) -> None:
    """Render what is quick: pages; of figures only their data."""
    for artefact in PAGES[page].artefacts():
        if artefact.path.endswith(".md"):
            artefact.render()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_result_is_named(data: Path, name: str) -> None:
    for damage in (b"", b"{}", b"[1, 2]", b"\xff\xfe\x00", b"[" * 100_000, b'{"variant": NaN}', b" " * (17 << 20)):
        (data / name).write_bytes(damage)
        with pytest.raises(InputError, match=Path(name).name):
            PAGES[name.partition("/")[0]].results()


@pytest.mark.parametrize("number", [-1, math.nan, math.inf])
def test_what_is_no_count_is_named(number: float) -> None:
    with pytest.raises(ValueError, match=r"a\.0\.b"):
        reports.rendering.check_numbers({"a": [{"b": number}]})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return where every value in JSON data is, of long lists only the ends."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, part in value.items():
            if path != ("provenance",) or name in ("command", "seconds", "peak_rss_bytes"):
                yield from places(part, (*path, name))
    elif isinstance(value, list):
        for number in {0, 1, len(value) - 1} & set(range(len(value))):
            yield from places(value[number], (*path, number))


@pytest.mark.parametrize("name", FILES)
def test_every_field_damaged_in_some_way(data: Path, name: str) -> None:
    """Each field is left out, emptied, made another kind or another number: named, or the page is still rendered."""
    sound, random = json.loads((SOURCE / name).read_text(encoding="utf-8")), Random(name)
    page = name.partition("/")[0]
    every = list(places(sound))
    named = tried = sound_still = 0
    for path in random.sample(every, min(len(every), 6)):
        damaged = json.loads(json.dumps(sound))
        *above, last = path
        holder = damaged
        for step in above:
            holder = holder[step]
        old = holder[last]
        replacements: list[Any] = [None, -1, 0, 10**40, "", "[/bold]\x1b[31m", [], {}, True, 1.5]
        if isinstance(old, int):
            replacements += [old + 1]
        new = random.choice([replacement for replacement in replacements if replacement != old])
        if random.random() < 0.2:
            del holder[last]
        else:
            holder[last] = new
        (data / name).write_text(json.dumps(damaged), encoding="utf-8")
        tried += 1
        try:
            render(page)
            sound_still += 1
        except InputError as error:
            named += Path(name).name in str(error)
    # Fields that only inform (times, a branching factor) may have any sensible value.
    assert named + sound_still == tried
    assert named >= 0.5 * tried


def test_a_page_without_its_file_names_it(
    data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reports.cli.GENERATORS", {"puzzles": reports.puzzles.artefacts})
    name = "puzzles/collection.json"
    (data / name).unlink()
    assert run(["report", "--out", str(tmp_path / "out")]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert name in line
    assert not (tmp_path / "out").exists()
