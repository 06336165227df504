"""Verification of any folder of stored work: a pass over all its files, and checks that depend on its kind.

The pass over the files checks what all kinds of stores have in common: the seals of records (`tablut.work.records`)
and every block of every part (`tablut.work.parts`). Each kind of store adds a check of its contents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tablut.errors import InputError, TablutError
from tablut.work.files import store_path
from tablut.work.parts import MAGIC, TAIL, open_part
from tablut.work.records import sealed_format

Check = Callable[[Path], list[str]]
"""Function that checks a folder of one kind, and returns descriptions of its failures."""


class Verified(NamedTuple):
    """The results of a verification.

    Attributes
    ----------
    kinds : tuple of str
        The formats of the records, one for each kind of record.
    records, parts : int
        Numbers of files checked.
    failures : tuple of str
        Descriptions of all failures.
    """

    kinds: tuple[str, ...]
    records: int
    parts: int
    failures: tuple[str, ...]


def verify(folder: Path | str, checks: Mapping[str, Check]) -> Verified:
    """Verify a folder of finished or unfinished work.

    Parameters
    ----------
    folder : Path or str
        The folder.
    checks : mapping of str to callable
        The check of each kind of store. The keys are patterns for the file names of head records.

    Returns
    -------
    Verified
        The numbers of files checked, and all failures.

    Raises
    ------
    InputError
        If the folder contains nothing that can be verified.
    """
    root, kinds = store_path(folder), dict[str, None]()
    if not root.is_dir():
        raise InputError("is not a folder", subject=f"store {str(root)!r}", remedy="name the folder of a store")
    records = parts = 0
    failures: list[str] = []
    for path in sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
        try:
            if path.suffix == ".json" and (found := sealed_format(path)):
                records += 1
                kinds[found] = None
            elif _is_part(path):
                parts += 1
                open_part(path).check()
        except TablutError as error:
            failures.append(str(error))
    checked = [check for pattern, check in checks.items() if any(root.glob(pattern))]
    if not kinds and not parts and not checked:
        raise InputError("contains no stored work", subject=f"store {str(root)!r}", remedy="name the folder of a store")
    for check in checked:
        try:
            failures += [failure for failure in check(root) if failure not in failures]
        except TablutError as error:
            failures.append(str(error))
    return Verified(tuple(kinds), records, parts, tuple(dict.fromkeys(failures)))


def _is_part(path: Path) -> bool:
    """Return whether a file is a part, judged by its name or by its tail."""
    if path.suffix in (".rows", ".slice", ".part"):
        return True
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL.size))
        return file.read().startswith(MAGIC)
