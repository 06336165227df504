"""Pages that the build makes below ``docs/generated``: the API reference, the rendered results, the changelog.

What is in the repository is never written to. A link to one of these files becomes a link to its copy while pages are
read; a link to another file of the repository becomes plain text, since a reader of the built pages has none of them.
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
# What is copied, and to where.
COPIES = {
    ROOT / "reports" / "rendered": MADE / "results",
    ROOT / "CHANGELOG.md": MADE / "changelog.md",
    ROOT / "README.md": MADE / "readme.md",
    # Sphinx has a page of that name itself.
    DOCS / "search.md": MADE / "search.md",
}
_LINK = re.compile(r"""(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)((?:\s+"[^"]*")?)\)""")


def make_pages(_: Sphinx) -> None:
    """Write what is made, replacing what an earlier build made."""
    shutil.rmtree(MADE, ignore_errors=True)
    (MADE / "api").mkdir(parents=True)
    for name, text in pages().items():
        (MADE / "api" / name).write_text(text, encoding="utf-8")
    for real, built in COPIES.items():
        if real.is_file():
            shutil.copyfile(real, built)
    _write_results()


def _write_results() -> None:
    """Write the results as they are now: what was rendered last where it is current, made again where it is not."""
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
    """Return the first page of the results, which lists the others."""
    top = sorted(page.stem for page in (MADE / "results").glob("*.md"))
    below = sorted(page.stem for page in (MADE / "results" / "solutions").glob("*.md"))
    listed = "\n".join([*top, *(f"solutions/{name}" for name in below)])
    return f"{first_page()}\n## All pages\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"


def _swapped(file: Path, places: dict[Path, Path]) -> Path:
    """Return a file as it lies in the other tree, or itself."""
    for old, new in places.items():
        if file == old or old in file.parents:
            return new / file.relative_to(old)
    return file


def redirected(text: str, page: Path) -> str:
    """Return a page with its links as the build needs them."""
    origin = _swapped(page, {built: real for real, built in COPIES.items()})

    def _changed(match: re.Match[str]) -> str:
        picture, label, target, title = match.groups()
        path, hash_, anchor = target.partition("#")
        real = (origin.parent / path).resolve()
        if re.match(r"[a-z]+:", target) or not path or not real.exists():
            return match[0]  # a link that leads nowhere stays, and Sphinx warns of it
        file = _swapped(real, COPIES)
        if not real.is_file() or DOCS not in file.parents:
            return label
        return f"{picture}[{label}]({Path(os.path.relpath(file, page.parent)).as_posix()}{hash_}{anchor}{title})"

    return _LINK.sub(_changed, text)


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Change the links of a page that Sphinx is about to read."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md":
        source[0] = redirected(source[0], page)


def skip_fields(*told: object) -> bool | None:
    """Leave out the fields of a named tuple that Python describes by their number; the class describes them itself."""
    return True if str(getattr(told[3], "__doc__", "")).startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the pages when a build begins, and change links as it reads."""
    app.connect("builder-inited", make_pages)
    app.connect("source-read", read_page)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
