"""The site: whole in itself, well-formed, the same every time, and right about every first move of a puzzle."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from sites import files, made

from counting import bounds
from reports.puzzles import results as solutions
from reports.rendering import Artefact
from reports.site import puzzles as site_puzzles
from reports.site import site_files
from reports.site.folder import check_folder
from reports.site.markdown import convert, grouped
from reports.site.puzzles import Entry, tree_data, trees
from reports.site.walks import walks
from retrograde.puzzles.collection import read_puzzles
from retrograde.puzzles.tree import puzzle_tree
from tablut.cli.shell import run
from tablut.errors import InputError, OutputError

Captured = pytest.CaptureFixture[str]
VOID = {"meta", "link", "img", "br", "hr", "input", "wbr", "circle", "path"}
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """Reads a page strictly: every element is closed where it should be; collects what tests look at."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.figures: list[dict[str, str]] = []
        self.landmarks: set[str] = set()
        self.headings: list[int] = []
        self.bare_columns = 0
        self.images: list[str | None] = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"{tag}: an attribute twice"
        if "id" in given:
            self.ids.append(given["id"] or "")
        if tag == "a":
            self.links.append(given.get("href") or "")
        if tag in ("img", "script", "link", "iframe", "source", "video", "audio", "object", "embed"):
            self.loaded += [value for name in ("src", "href", "data") if (value := given.get(name))]
        if tag == "img":
            self.images.append(given.get("alt"))
            if self.figures and "figure" in self.open:
                self.figures[-1]["alt"] = given.get("alt") or ""
        if tag == "figure":
            self.figures.append({})
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.bare_columns += tag == "th" and "scope" not in given
        self.landmarks.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open, f"</{tag}> without a beginning"
            assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "figcaption":
            self.figures[-1]["caption"] = self.figures[-1].get("caption", "") + data


@cache
def pages() -> dict[str, Page]:
    return {path: Page(one.render().decode()) for path, one in files().items() if path.endswith(".html")}


def target_of(page: str, link: str) -> tuple[str, str]:
    """Return the file within the site that a link leads to, and the anchor."""
    path, _, anchor = unquote(link).partition("#")
    parts: list[str] = page.split("/")[:-1] if path else page.split("/")
    for step in path.split("/") if path else []:
        if step == "..":
            parts.pop()
        else:
            parts.append(step)
    return "/".join(parts), anchor


def test_links_and_anchors_lead_somewhere_and_nothing_is_loaded_from_outside() -> None:
    assert len(pages()) > 100
    for path, page in pages().items():
        for link in [*page.links, *page.loaded]:
            if link == "data:,":
                continue
            assert not re.match(r"/|\w+:", link), f"{path}: {link}"
            target, anchor = target_of(path, link)
            assert target in files(), f"{path}: {link} leads to no file"
            if anchor:
                assert anchor in pages()[target].ids, f"{path}: {link} leads to no anchor"
        assert len(page.ids) == len(set(page.ids)), f"{path}: an id twice"


def test_scripts_and_sheets_load_nothing() -> None:
    for path, one in files().items():
        if path.endswith((".js", ".css")):
            text = one.render().decode()
            assert not re.search(
                r"https?://|\bimport\b|fetch\(|XMLHttpRequest|@import|url\(|\beval\b|innerHTML", text
            ), path


def test_every_page_has_its_landmarks_and_one_title() -> None:
    for path, page in pages().items():
        assert {"header", "nav", "main", "footer", "title"} <= page.landmarks, path
        assert page.headings[0] == 1, f"{path}: {page.headings}"
        assert page.headings.count(1) == 1, f"{path}: {page.headings}"
        assert all(after - before <= 1 for before, after in pairwise(page.headings)), path
        assert page.bare_columns == 0, f"{path}: a column without a scope"
        assert None not in page.images, f"{path}: an image without alt"


def test_every_figure_has_a_caption_and_every_drawing_a_title() -> None:
    found = 0
    for path, page in pages().items():
        for figure in page.figures:
            found += 1
            assert figure.get("alt", "").strip(), f"{path}: {figure}"
            assert figure.get("caption", "").strip(), f"{path}: {figure}"
    assert found > 30
    for path, one in files().items():
        if path.endswith(".svg"):
            title = ET.fromstring(one.render()).find(f"{SVG}title")
            assert title is not None, f"{path}: no title"
            assert (title.text or "").strip(), f"{path}: no title"


def test_the_first_page_says_how_each_number_is_known() -> None:
    text = files()["index.html"].render().decode()
    plain = unescape(re.sub(r"<[^>]+>", "", text))
    assert all(f"{rung.what}{rung.number}{rung.unit}" in plain for rung in bounds("ashton").ladder())
    for word in ("proved", "computed", "estimated", "quoted"):
        assert f'class="status {word}"' in text
    cards = re.findall(r'<li class="card">.*?</li>', text, re.DOTALL)
    assert len(cards) >= 6
    assert all(re.search(r"<code>(?:tablut |python -m reports\.studies\.)", card) for card in cards)
    assert all('class="date">' in card for card in cards)


def test_the_same_page_comes_out_twice() -> None:
    some = {path.partition("/")[0]: one for one in made() if (path := one.path).endswith(".html")}
    assert len(some) > 10
    for one in some.values():
        assert one.render() == files()[one.path].render(), one.path


@pytest.mark.slow
def test_the_same_site_comes_out_twice() -> None:
    again = {artefact.path: artefact for artefact in site_files()}
    assert list(again) == list(files())
    for path, one in files().items():
        if one.fingerprint is None:
            assert again[path].render() == one.render(), path
        else:
            assert again[path].fingerprint == one.fingerprint


# -- puzzles and walks ---------------------------------------------------------------------


def test_trees_agree_with_the_proofs_on_every_first_move() -> None:
    proved = {one["id"]: one["solution"] for one in solutions()["puzzles"]}
    assert list(trees()) == list(proved) == [puzzle.id for puzzle in read_puzzles("collection")]
    for id_, tree in trees().items():
        solution = proved[id_]
        assert (tree["winner"], tree["plies"]) == (solution["winner"], solution["dtm"])
        if tree["opening"] is None:
            assert sorted(tree["nodes"][0]["right"]) == sorted(solution["winning_moves"]), id_
        else:
            assert tree["opening"] in solution["winning_moves"], id_


@pytest.mark.parametrize("name", ["brandubh-03", "clear-edge-reached"])
def test_a_tree_is_what_the_solver_gives_again(name: str) -> None:
    assert puzzle_tree(read_puzzles(name)[0]).model_dump(mode="json") == trees()[name]


@pytest.mark.slow
def test_all_trees_are_what_the_solver_gives_again() -> None:
    for puzzle in read_puzzles("collection"):
        assert puzzle_tree(puzzle).model_dump(mode="json") == trees()[puzzle.id], puzzle.id


def test_a_walk_is_what_the_solution_gives_again(tmp_path: Path, capsys: Captured) -> None:
    assert run(["solve", "-v", "ashton-5-4v0", "--store", str(tmp_path / "store")]) == 0
    capsys.readouterr()
    assert run(["tablebase", "walk", str(tmp_path / "store"), "--plies", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == walks()["ashton-5-4v0"]["nodes"]


def test_data_of_a_page_cannot_end_its_script() -> None:
    one = site_puzzles.entries()[0]
    assert "<" not in tree_data(one._replace(id="</script><script>alert(1)</script>"))
    assert isinstance(one, Entry)
    for path, artefact in files().items():
        if path.startswith(("puzzles/", "walks/")):
            text = artefact.render().decode()
            data = text.split('<script type="application/json" id="data">')[1].split("</script>")[0]
            assert json.loads(data)["nodes"], path


def damaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, change) -> None:
    """Let the stored data be a copy of which one file is changed."""
    from reports import stored

    shutil.copytree(stored.DATA, tmp_path / "data")
    file = tmp_path / "data" / name
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    monkeypatch.setattr(stored, "DATA", tmp_path / "data")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["puzzles"].pop(),
        lambda content: content["puzzles"][0]["nodes"][0]["wrong"].popitem(),
        lambda content: content["puzzles"][0]["nodes"][0]["wrong"].update({"a1-a9": {"reply": "a1-a2"}}),
        lambda content: content["puzzles"][0]["nodes"][0]["right"].update({"c4-c7": {"to": 99}}),
        lambda content: content["puzzles"][0].update(winner="black"),
        lambda content: content["puzzles"][0].update(position="9/9/9/9/4K4/9/9/9/b8 w"),
        lambda content: content.update(nodes=1),
        lambda content: content["puzzles"][0]["nodes"][0].update(extra=1),
        lambda content: content["puzzles"][0]["nodes"][0].update(plies=5),
        lambda content: content["puzzles"][0]["nodes"][1].update(position=content["puzzles"][0]["position"]),
        lambda content: next(iter(content["puzzles"][-1]["nodes"][0]["right"].values())).update(takes=["a1"]),
        lambda content: next(iter(content["puzzles"][-1]["nodes"][0]["right"].values())).update(reply="a1-a2"),
        lambda content: next(iter(content["puzzles"][-1]["nodes"][0]["wrong"].values())).update(to=1),
    ],
)
def test_damaged_trees_are_named_and_never_rendered(change, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged(monkeypatch, tmp_path, "puzzles/trees.json", change)
    with pytest.raises(InputError, match=r"trees\.json"):
        trees()


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(variant="ashton"),
        lambda content: content["nodes"].clear(),
        lambda content: content["nodes"][0]["moves"].pop(),
        lambda content: content["nodes"][0]["moves"][0].update(to=10**6),
        lambda content: content["nodes"][0]["moves"][0].update(dtm=9),
        lambda content: content["nodes"][5].update(wdl="draw", dtm=None),
        lambda content: content["nodes"][5].update(position="nonsense"),
    ],
)
def test_damaged_walks_are_named_and_never_rendered(change, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged(monkeypatch, tmp_path, "walks/ashton-5-4v0.json", change)
    with pytest.raises(InputError, match=r"ashton-5-4v0\.json"):
        walks()


# -- the folder ----------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a site have few files: what is written where does not depend on what it is."""
    few = [Artefact("site.json", lambda: b'{"format": "tablut-site"}'), Artefact("index.html", lambda: b"<p>one</p>")]
    monkeypatch.setattr("reports.site.pages.site_files", lambda: few)
    monkeypatch.setattr("reports.site.site_files", lambda: few, raising=False)


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


@pytest.mark.parametrize("marker", [None, "", "{", "[]", '{"format": "other"}', "[" * 5000, "link", "folder"])
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
    assert "--site" in printed.err
    assert sorted(folder.rglob("*")) == before


def test_other_bad_folders_are_one_line(small: None, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "file").write_text("no folder")
    for arguments in (
        ["--site", str(tmp_path / "file")],
        ["--site", str(tmp_path / "none"), "--check"],
        ["--site", str(tmp_path / "a"), "--out", str(tmp_path / "b")],
    ):
        assert run(["report", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(OutputError):
        check_folder(tmp_path / "file")


# -- Markdown ------------------------------------------------------------------------------


def test_markdown_of_any_page_is_well_formed() -> None:
    text = (
        "# A & B\n\n## Same\n\n## Same\n\n![a \"b\" <c>](x.svg 'd & e')\n\n| a | b |\n|---|--:|\n| 1 | 1234567890 |\n\n"
        "[gone](../../docs/gone.md) and [here](two.md#part), $$x < y$$\n\n$$\\frac{a}{b} < c$$\n"
    )
    page = convert(text, ["two.html"])
    read = Page(f"<main>{page.body}</main>")
    assert [heading.anchor for heading in page.headings] == ["same", "same-2"]
    assert read.figures == [{"alt": 'a "b" <c>', "caption": "d & e"}]
    assert "gone.md" not in page.body
    assert "gone and" in page.body
    assert "two.html#part" in read.links
    assert "&lt; c" in page.body


@pytest.mark.parametrize("digits", ["1", "12", "123", "1234", "1176096256374262136181970612"])
def test_groups_are_copied_as_the_number(digits: str) -> None:
    assert re.sub(r"<[^>]+>", "", grouped(digits)) == digits
