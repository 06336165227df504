"""Sphinx extension that generates pages below ``docs/generated``: API reference, rendered results, changelog.

Files of the repository are never changed. While Sphinx reads a page, links to copied files are redirected to their
copies. Links to other files of the repository become plain text, because the built pages do not contain them.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docs.building.doors import ROOT, pages
from reports.catalogue import GENERATORS, first_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = ROOT / "docs"
MADE = DOCS / "generated"
# Files and folders that are copied, with their targets.
COPIES = {
    ROOT / "reports" / "rendered": MADE / "results",
    ROOT / "CHANGELOG.md": MADE / "changelog.md",
    ROOT / "README.md": MADE / "readme.md",
    # Sphinx has a page of that name itself.
    DOCS / "search.md": MADE / "search.md",
}
_LINK = re.compile(r"""(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)((?:\s+"[^"]*")?)\)""")


def make_pages(_: Sphinx) -> None:
    """Write all generated pages, replacing those of an earlier build."""
    shutil.rmtree(MADE, ignore_errors=True)
    (MADE / "api").mkdir(parents=True)
    for name, text in pages().items():
        (MADE / "api" / name).write_text(text, encoding="utf-8")
    for real, built in COPIES.items():
        if real.is_file():
            shutil.copyfile(real, built)
    _write_results()


def _write_results() -> None:
    """Write the pages of results: the rendered files of the repository, rendered again where they are out of date."""
    for generate in GENERATORS.values():
        for artefact in generate():
            last = ROOT / "reports" / "rendered" / artefact.path
            kept = last.read_bytes() if last.is_file() else None
            content = artefact.render() if kept is None or artefact.differs(kept) else kept
            target = MADE / "results" / artefact.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    (MADE / "results" / "index.md").write_text(_results(), encoding="utf-8")


def _results() -> str:
    """Return the index page of the results."""
    top = sorted(page.stem for page in (MADE / "results").glob("*.md"))
    below = sorted(page.stem for page in (MADE / "results" / "solutions").glob("*.md"))
    listed = "\n".join([*top, *(f"solutions/{name}" for name in below)])
    return f"{first_page()}\n## All pages\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"


def _swapped(file: Path, places: dict[Path, Path]) -> Path:
    """Return the corresponding file in the other tree, or the file itself if there is none."""
    for old, new in places.items():
        if file == old or old in file.parents:
            return new / file.relative_to(old)
    return file


def redirected(text: str, page: Path) -> str:
    """Return the text of a page with its links adapted to the built documentation."""
    origin = _swapped(page, {built: real for real, built in COPIES.items()})

    def _changed(match: re.Match[str]) -> str:
        picture, label, target, title = match.groups()
        path, hash_, anchor = target.partition("#")
        real = (origin.parent / path).resolve()
        if re.match(r"[a-z]+:", target) or not path or not real.exists():
            return match[0]  # a broken link is kept, so that Sphinx warns about it
        file = _swapped(real, COPIES)
        if not real.is_file() or DOCS not in file.parents:
            return label
        return f"{picture}[{label}]({Path(os.path.relpath(file, page.parent)).as_posix()}{hash_}{anchor}{title})"

    return _LINK.sub(_changed, text)


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Adapt the links of a page that Sphinx is about to read."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md":
        source[0] = redirected(source[0], page)


def skip_fields(*told: object) -> bool | None:
    """Skip the fields of named tuples whose docstrings Python generated; the docstring of the class describes them."""
    return True if str(getattr(told[3], "__doc__", "")).startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension: generate pages when a build begins, and adapt links when pages are read."""
    app.connect("builder-inited", make_pages)
    app.connect("source-read", read_page)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
