"""Building the site: documentation, results and playable pages, made by Sphinx as one folder that needs no server.

This module is also a Sphinx extension, loaded by ``docs/conf.py``, which adds the playable pages.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reports.site.play import pages, pictures
from tablut import __version__
from tablut.errors import InputError, MachineError, OutputError
from tablut.work.files import excerpt, read_text, write_bytes
from tablut.work.records import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

MARKER: Final = "site.json"
"""Name of the file that identifies a folder as a site."""
_MOST: Final = 1 << 20
_DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
_NEEDED: Final = ("sphinx", "myst_parser", "furo", "numpydoc", "sphinx_copybutton", "latex2mathml")


# -- the extension ---------------------------------------------------------------------------------


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the playable pages, their scripts and their drawings with Sphinx."""
    app.connect(
        "config-inited", lambda _, config: config.html_static_path.append(str(Path(__file__).parent / "static"))
    )
    app.connect("html-collect-pages", _collect)
    app.add_css_file("play.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _collect(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    for name, text in pictures().items():
        write_bytes(Path(app.outdir) / "figures" / name, text.encode())
    for page in pages():
        yield page.name, {"title": page.title, "body": page.body}, "page.html"


# -- the folder ------------------------------------------------------------------------------------


def check_folder(folder: Path) -> bool:
    """Return whether a folder contains a site; refuse a folder with any other content."""
    where = f"site folder {excerpt(str(folder))}"
    try:
        if folder.exists() and not folder.is_dir():
            raise OutputError("is not a folder", subject=where, remedy="choose another")
        if not folder.exists() or not any(folder.iterdir()):
            return False
    except PermissionError as error:
        raise MachineError(str(error.strerror), subject=where, remedy="choose another") from error
    marker = folder / MARKER
    try:
        sound = not marker.is_symlink() and read_json(read_text(marker, "site", _MOST))["format"] == "tablut-site"
    except (InputError, ValueError, RecursionError, KeyError, TypeError):
        sound = False
    if not sound:
        raise OutputError("is not empty and does not contain a site", subject=where, remedy="choose another")
    return True


def build_site(folder: Path, *, check: bool) -> dict[str, bool]:
    """Build the site and return, for each file, whether it changed; with ``check``, write nothing."""
    if not check_folder(folder) and check:
        raise InputError(
            "has no site", subject=f"site folder {str(folder)!r}", remedy="make one with `tablut report --site DIR`"
        )
    with tempfile.TemporaryDirectory() as place:
        files = _built(Path(place))
    content = {"format": "tablut-site", "version": 2, "program": __version__}
    # Write the marker first, so that the folder is recognised as a site even if the run is interrupted.
    files = {MARKER: (json.dumps(content) + "\n").encode(), **files}
    there = {name: folder / name for name in files}
    changed = {name: not path.is_file() or path.read_bytes() != files[name] for name, path in there.items()}
    for name in files if not check else ():
        if changed[name]:
            write_bytes(folder / name, files[name], remedy="choose another folder with `site`")
    return changed


def _built(place: Path) -> dict[str, bytes]:
    """Build the documentation with Sphinx and return the files by path."""
    if not (_DOCS / "conf.py").is_file():
        raise InputError(
            "the site can only be built in a checkout with the documentation",
            remedy="write only the results with `tablut report --out DIR`",
        )
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise InputError(f"the site needs {', '.join(missing)}", remedy="install the extra: pip install 'tablut[docs]'")
    command = [sys.executable, "-m", "sphinx", "-q", "-d", str(place / "trees"), str(_DOCS), str(place / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_DOCS.parent)
    if done.returncode:
        raise MachineError(" ".join(done.stderr.split())[-300:], subject="Sphinx failed")
    made = place / "html"
    return {
        path.relative_to(made).as_posix(): path.read_bytes()
        for path in sorted(made.rglob("*"))
        if path.is_file() and path.name != ".buildinfo"
    }
