"""The folder that a site is written to: an empty one, a new one, or one that holds a site already."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from reports.rendering import write
from reports.site.pages import MARKER
from tablut.errors import InputError, MachineError, OutputError, TablutError
from tablut.store.files import excerpt, read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reports.rendering import Artefact

_MOST: Final = 1 << 20


def check_folder(folder: Path) -> bool:
    """Return whether a folder holds a site; refuse one that holds anything else."""
    where = f"site folder {excerpt(str(folder))}"
    try:
        if not folder.exists():
            return False
        if not folder.is_dir():
            raise OutputError(f"{where}: is no folder; choose another with --site")
        if not any(folder.iterdir()):
            return False
    except OSError as error:
        if isinstance(error, TablutError):
            raise
        raise MachineError(f"{where}: {error.strerror}; choose another with --site") from error
    if not _is_site(folder):
        raise OutputError(f"{where}: is not empty, and holds no site; choose another with --site")
    return True


def _is_site(folder: Path) -> bool:
    marker = folder / MARKER
    if marker.is_symlink() or not marker.is_file():
        return False
    try:
        content = json.loads(read_text(marker, "site", _MOST))
    except (InputError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == "tablut-site"


def write_site(folder: Path, files: Sequence[Artefact]) -> None:
    """Write files of a site, the marker first: what a broken run leaves is known for what it is."""
    for artefact in sorted(files, key=lambda one: one.path != MARKER):
        write(folder, artefact)
