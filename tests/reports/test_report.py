"""The rendered report: committed and current, stale when touched, never half-written."""

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from reports import rendering
from tablut.cli.shell import run

RENDERED = Path(__file__).resolve().parents[2] / "reports" / "rendered"


@pytest.mark.slow  # `tablut report --check`, which is run whenever a change lands, asks the same
def test_the_committed_report_is_current_and_nothing_else_lies_there(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["report", "--check", "--out", str(RENDERED), "--json"])
    answer = capsys.readouterr().out
    assert code == 0, answer
    made = {Path(file["path"]) for file in json.loads(answer)["reports"]}
    assert made == {path for path in RENDERED.rglob("*") if path.is_file()}


def _curve(data: list[int]) -> Figure:
    figure = Figure(figsize=(1, 1))
    figure.subplots().plot(data)
    return figure


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the report have a file of each kind: the test above renders every page."""
    files = [
        rendering.Artefact("a.md", lambda: b"# A\n"),
        rendering.Artefact("b.md", lambda: b"# B\n"),
        rendering.json_data("data/bounds.json", {"a": 1}),
        rendering.drawing("figures/b.svg", "<svg/>"),
        rendering.figure("figures/a.svg", _curve, [1, 2], "A"),
    ]
    monkeypatch.setattr("reports.cli.GENERATORS", {"b": lambda: files})


def test_rebuilding_checking_and_staleness(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "report"
    assert run(["report", "--out", str(folder), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["reports"]
    assert all(file["changed"] and Path(file["path"]).is_file() for file in files)
    assert not list(folder.rglob("*.tmp"))

    # Drawings of boards are compared byte for byte, like pages; figures by their fingerprint.
    paths = [Path(file["path"]) for file in files]
    one_of_each_kind = {
        path.suffix: file
        for path, file in zip(paths, files, strict=True)
        if path.suffix != ".svg" or b"sha256:" in path.read_bytes()
    }
    assert set(one_of_each_kind) == {".md", ".json", ".svg"}
    sound: dict[Path, bytes] = {}
    altered: dict[Path, bytes] = {}
    for file in one_of_each_kind.values():
        path = Path(file["path"])
        content = sound[path] = path.read_bytes()
        # A page or data file is stale when a byte differs, a figure when its fingerprint does.
        altered[path] = content.replace(b"sha256:", b"sha256:0", 1) if path.suffix == ".svg" else content + b" "
        path.write_bytes(altered[path])
    missing = next(path for path in paths if path not in altered)
    sound[missing] = missing.read_bytes()
    missing.unlink()
    capsys.readouterr()
    assert run(["report", "--check", "--out", str(folder), "--json"]) == 1
    changed = {Path(entry["path"]) for entry in json.loads(capsys.readouterr().out)["reports"] if entry["changed"]}
    assert changed == {*altered, missing}
    # Checking writes nothing; rebuilding mends what is stale.
    assert not missing.exists()
    assert {path: path.read_bytes() for path in altered} == altered
    assert run(["report", "--out", str(folder)]) == 0
    assert {path: path.read_bytes() for path in sound if path.suffix != ".svg"} == {
        path: content for path, content in sound.items() if path.suffix != ".svg"
    }


def _one(rows):
    """Draw."""
    # how
    return sum(rows)


def _same_in_other_words(rows):
    """Draw what another docstring, of two lines, tells.

    And more.
    """
    # how
    return sum(rows)


def _other(rows):
    """Draw."""
    # how
    return max(rows)


def test_a_figure_is_known_by_its_statements_and_data() -> None:
    """A docstring or a name may change without staling a figure; a statement or the data may not."""

    def fingerprint(draw, data) -> str:
        return rendering.figure("a.svg", draw, data, "A figure").fingerprint

    assert fingerprint(_one, [1]) == fingerprint(_same_in_other_words, [1])
    assert len({fingerprint(_one, [1]), fingerprint(_one, [2]), fingerprint(_other, [1])}) == 3
