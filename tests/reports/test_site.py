"""The site: pages to play on, well-formed and right about every first move, in a folder that is written whole."""

import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from counting import bounds
from reports.catalogue import first_page
from reports.puzzles import results as solutions
from reports.site import site_builder as building
from reports.site.site_builder import pictures, tree_data, walks
from reports.studies.puzzle_trees import puzzle_tree
from reports.studies.sources import walked
from retrograde.puzzles.puzzle_file import read_puzzles
from tablut.cli.shell import run
from tablut.results import grouped
from tests.support.markup import Page

Captured = pytest.CaptureFixture[str]
STATIC = Path(building.__file__).parent / "static"


@pytest.fixture(autouse=True, scope="module")
def _walks_are_checked_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "stored_walk", cache(building.stored_walk))
        yield


def shipped_trees() -> dict[str, Any]:
    """Return the stored trees, which are checked once for all tests."""
    return {one.id: one.tree for one in building.entries()}


@cache
def pages() -> dict[str, str]:
    return {f"{page.name}.html": page.body for page in building.pages()}


@cache
def shown_first() -> str:
    return first_page()


def target_of(page: str, link: str) -> str:
    """Return the file within the site that a link leads to."""
    parts = page.split("/")[:-1]
    for step in unquote(link).partition("#")[0].split("/"):
        if step == "..":
            parts.pop()
        else:
            parts.append(step)
    return "/".join(parts)


def test_pages_are_well_formed_and_their_links_lead_somewhere() -> None:
    rendered = STATIC.parents[1] / "rendered"
    results = [path.relative_to(rendered).as_posix() for path in rendered.rglob("*.md")]
    files = {*pages(), *(f"figures/{name}" for name in pictures())}
    files |= {f"_static/{file.name}" for file in STATIC.iterdir()}
    files |= {f"generated/results/{path.removesuffix('.md')}.html" for path in results}
    assert len(pages()) == len(shipped_trees()) + len(walks()) + 1
    for path, body in pages().items():
        page = Page(body)
        assert page.forbidden == [], path
        assert page.headings[0] == 1
        assert page.headings.count(1) == 1
        assert len(page.ids) == len(set(page.ids)), f"{path}: an id twice"
        for link in page.links:
            assert not re.match(r"/|\w+:", link), f"{path}: {link}"
            assert target_of(path, link) in files, f"{path}: {link} leads to no file"
    for link in re.findall(r'href="([^"]+)"', shown_first()):
        assert target_of("generated/results/index.html", link) in files, link
    for link in re.findall(r"\]\(([^)#]+)", shown_first()):
        assert link in results or (rendered / link).is_file(), link


def test_scripts_and_sheets_load_nothing() -> None:
    for file in STATIC.iterdir():
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"https?://|\bimport\b|fetch\(|XMLHttpRequest|@import|url\(|\beval\b|innerHTML", text), (
            file.name
        )


def test_the_first_page_says_how_each_number_is_known() -> None:
    text = shown_first()
    for rung in bounds("ashton").ladder():
        assert f"| {rung.what} | {grouped(rung.number)} | {rung.unit} | {rung.status} |" in text
    rows = re.findall(r"^\| .* \| \*\*.* \| (\w+) \| `(.*)`<br>(.*) \| .* \|$", text, re.MULTILINE)
    assert len(rows) == 7
    for status, command, date in rows:
        assert status in ("proved", "computed", "estimated", "quoted")
        assert command.startswith(("tablut ", "python -m "))
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)


# -- puzzles and walks ---------------------------------------------------------------------


def test_trees_agree_with_the_proofs_on_every_first_move() -> None:
    proved = {one["id"]: one["solution"] for one in solutions()["puzzles"]}
    assert list(shipped_trees()) == list(proved) == [puzzle.id for puzzle in read_puzzles("collection")]
    for id_, tree in shipped_trees().items():
        solution = proved[id_]
        assert (tree["winner"], tree["plies"]) == (solution["winner"], solution["dtm"])
        if tree["opening"] is None:
            assert sorted(tree["nodes"][0]["right"]) == sorted(solution["winning_moves"]), id_
        else:
            assert tree["opening"] in solution["winning_moves"], id_


def test_a_tree_is_what_the_solver_gives_again() -> None:
    name = "brandubh-03"
    assert puzzle_tree(read_puzzles(name)[0]).model_dump(mode="json") == shipped_trees()[name]


@pytest.mark.slow
def test_all_trees_are_what_the_solver_gives_again() -> None:
    for puzzle in read_puzzles("collection"):
        assert puzzle_tree(puzzle).model_dump(mode="json") == shipped_trees()[puzzle.id], puzzle.id


@pytest.mark.slow
def test_a_walk_is_what_the_solution_gives_again(tmp_path: Path, capsys: Captured) -> None:
    assert run(["solve", "-v", "ashton-5-4v0", "--store", str(tmp_path / "store")]) == 0
    capsys.readouterr()
    assert walked(str(tmp_path / "store"), "3").model_dump(mode="json")["nodes"] == walks()["ashton-5-4v0"]["nodes"]


def test_data_of_a_page_cannot_end_its_script() -> None:
    one = building.entries()[0]
    assert "<" not in tree_data(one._replace(puzzle=replace(one.puzzle, id="</script><script>alert(1)</script>")))
    for path, body in pages().items():
        if path != "play/index.html":
            data = body.split('<script type="application/json" id="data">')[1].split("</script>")[0]
            assert json.loads(data)["nodes"], path


# -- the folder ----------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a site have one page: what is written where does not depend on what it is."""
    monkeypatch.setattr("reports.site.site_builder._built", lambda place: {"index.html": b"<p>one</p>"})


def test_a_site_is_written_checked_and_mended(small: None, tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "new" / "site"
    assert run(["report", "--site", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["pages"] == [{"path": "index.html", "changed": True}]
    assert not list(folder.rglob("*.tmp"))
    assert run(["report", "--site", str(folder), "--check"]) == 0
    (folder / "index.html").write_text("edited")
    assert run(["report", "--site", str(folder), "--check"]) == 1
    assert (folder / "index.html").read_text() == "edited"
    assert run(["report", "--site", str(folder)]) == 0
    assert (folder / "index.html").read_text() == "<p>one</p>"


@pytest.mark.slow
def test_the_whole_site_is_linked_and_loads_nothing_from_outside(tmp_path: Path, capsys: Captured) -> None:
    missing: list[Any] = [name for name in building._NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the extra docs is not installed: {missing}")
    assert run(["report", "--site", str(tmp_path / "site")]) == 0
    files = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*")}
    assert {"index.html", "bounds.html", "generated/results/bounds.html", "play/index.html"} <= files
    for path in sorted(files):
        if path.endswith(".html"):
            text = (tmp_path / "site" / path).read_text(encoding="utf-8")
            assert not re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="(?:\w+:)?//[^"]*"', text), path
            for link in re.findall(r'(?:href|src)="([^"#:?]+)["#?]', text):
                assert target_of(path, link) in files, f"{path}: {link}"
    assert run(["report", "--site", str(tmp_path / "site"), "--check"]) == 0


@pytest.mark.parametrize("marker", [None, "[]", '{"format": "other"}', "link", "folder"])
def test_a_folder_of_others_is_refused_and_left_alone(
    marker: str | None, small: None, tmp_path: Path, capsys: Captured
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    if marker == "link":
        (tmp_path / "real.json").write_text('{"format": "tablut-site"}')
        (folder / "site.json").symlink_to(tmp_path / "real.json")
    elif marker == "folder":
        (folder / "site.json").mkdir()
    elif marker is not None:
        (folder / "site.json").write_text(marker)
    before = sorted(folder.rglob("*"))
    assert run(["report", "--site", str(folder)]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert str(folder) in printed.err
    assert "site folder" in printed.err
    assert sorted(folder.rglob("*")) == before
