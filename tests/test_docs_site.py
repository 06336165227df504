"""The documentation as a whole: every page has its place, every door its page; it can be cited."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

import tablut
from docs.building.doors import doors
from docs.building.generated import COPIES, redirected
from tests.support.pages import PAGES, ROOT, links, read

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
PARTS = ["Tutorials", "How to", "Explanation", "Reference"]


def toctrees() -> dict[str, list[str]]:
    """Return the entries of each part of the index."""
    found = {}
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", read(DOCS / "index.md"), re.MULTILINE | re.DOTALL):
        caption = re.search(r"^:caption: (.*)$", block, re.MULTILINE)
        assert caption
        lines = [line for line in block.splitlines() if line and not line.startswith(":")]
        found[caption[1]] = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]
    return found


def test_every_page_stands_in_one_of_the_four_parts() -> None:
    parts = toctrees()
    assert list(parts) == PARTS
    # Sphinx has a page named search itself, so ours is copied.
    names = {"generated/search": "search", "generated/readme": "README", "generated/changelog": "CHANGELOG"}
    listed = [names.get(entry, entry) for entries in parts.values() for entry in entries]
    assert len(listed) == len(set(listed))
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES[1:]} - {"index"}
    assert pages == set(listed) - {"README", "CHANGELOG", "generated/results/index"}, (
        "docs/index.md: a page has no place"
    )
    for folder, part in (("tutorials", "Tutorials"), ("howto", "How to")):
        assert {page for page in pages if page.startswith(f"{folder}/")} == set(parts[part])


def test_the_index_links_to_every_page() -> None:
    """For those who read it without building it."""
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in links(read(DOCS / "index.md"))}
    assert set(PAGES[1:]) - {DOCS / "index.md"} <= linked


def test_the_page_on_python_names_every_door() -> None:
    page = read(DOCS / "api.md")
    assert {door.name for door in doors()} == set(
        re.findall(r"`((?:tablut|counting|retrograde|symmetry)[\w.]*)`", page)
    )
    assert len(doors()) > 25


def test_links_are_changed_to_what_is_built() -> None:
    page = DOCS / "howto" / "x.md"
    text = "[a](../bounds.md#b) [c](../../reports/rendered/census.md) [d](../search.md#e) [f](../../pyproject.toml) [g](https://h)"
    assert redirected(text, page) == (
        "[a](../bounds.md#b) [c](../generated/results/census.md) [d](../generated/search.md#e) f [g](https://h)"
    )
    built = COPIES[ROOT / "reports" / "rendered"] / "variants.md"
    assert redirected("[i](../../docs/variants.md)", built) == "[i](../../variants.md)"
    assert redirected("![k](figures/nowhere.svg)", built) == "![k](figures/nowhere.svg)"
    picture = '![j](../../docs/figures/start.svg "The start")'
    assert redirected(picture, built) == picture.replace("../../docs", "../..")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Author(_Strict):
    """A person, or a group by its name."""

    name: str | None = None
    family_names: str | None = Field(None, alias="family-names")
    given_names: str | None = Field(None, alias="given-names")


class _Work(_Strict):
    type: Literal["article", "software"]
    title: str
    authors: list[_Author] = Field(min_length=1)


class _Citation(_Work):
    """What the Citation File Format 1.2.0 demands, and the fields that we use."""

    version_of_format: Literal["1.2.0"] = Field(alias="cff-version")
    message: str
    abstract: str
    version: str
    license: str
    keywords: list[str]
    references: list[_Work]


def test_the_citation_is_valid_and_says_what_the_package_says() -> None:
    cited = _Citation.model_validate(yaml.safe_load(read(ROOT / "CITATION.cff")))
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    assert cited.version == tablut.__version__
    assert (cited.license, cited.keywords) == (project["license"], project["keywords"])
    assert [author.name for author in cited.authors] == [author["name"] for author in project["authors"]]
    for work in (cited, *cited.references):
        assert all(author.name or author.family_names for author in work.authors)
    page = read(DOCS / "howto" / "cite.md")
    assert f"version = {{{cited.version}}}" in page
    assert f"title   = {{{cited.title}}}" in page


@pytest.mark.parametrize("wrong", ["cff-version: 1.2.0", "version: [0]", "extra: field"])
def test_a_wrong_citation_is_refused(wrong: str, tmp_path: Path) -> None:
    text = read(ROOT / "CITATION.cff")
    changed = text.replace(wrong, "") if wrong in text else f"{text}{wrong}\n"
    with pytest.raises(ValueError, match="validation error"):
        _Citation.model_validate(yaml.safe_load(changed))
