"""The documentation as a whole: every page has its place, every door its page; it can be cited."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tablut
from docs.building.doors import doors
from tests.support.pages import PAGES, ROOT, read

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
PARTS = ["Start", "Tutorials", "How to", "Explanation", "Reference", "Research notes"]


def toctrees(page: Path = DOCS / "index.md") -> dict[str, list[str]]:
    """Return the entries of each table of contents of a page, by its caption (an empty one if it has none)."""
    found = {}
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL):
        caption = re.search(r"^:caption: (.*)$", block, re.MULTILINE)
        lines = [line for line in block.splitlines() if line and not line.startswith(":")]
        found[caption[1] if caption else ""] = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]
    return found


def test_every_page_stands_in_one_of_the_parts() -> None:
    parts = toctrees()
    assert list(parts) == PARTS
    # Sphinx has a page named search itself, so ours is copied.
    names = {"generated/search": "search", "generated/readme": "README", "generated/changelog": "CHANGELOG"}
    listed = [names.get(entry, entry) for entries in parts.values() for entry in entries]
    (notes,) = toctrees(DOCS / "notes" / "index.md").values()
    listed += [f"notes/{entry}" for entry in notes]
    assert len(listed) == len(set(listed))
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES[1:]} - {"index"}
    assert pages == set(listed) - {"README", "CHANGELOG", "generated/results/index"}, (
        "docs/index.md or docs/notes/index.md: a page has no place"
    )
    for folder, part in (("tutorials", "Tutorials"), ("howto", "How to")):
        assert {page for page in pages if page.startswith(f"{folder}/")} == set(parts[part])


def test_the_page_on_python_names_every_door() -> None:
    page = read(DOCS / "api.md")
    assert {door.name for door in doors()} == set(
        re.findall(r"`((?:tablut|counting|retrograde|symmetry)[\w.]*)`", page)
    )
    assert len(doors()) > 25


def test_the_citations_name_the_version_of_the_package() -> None:
    assert f"\nversion: {tablut.__version__}\n" in read(ROOT / "CITATION.cff")
    assert f"version = {{{tablut.__version__}}}" in read(DOCS / "howto" / "cite.md")
