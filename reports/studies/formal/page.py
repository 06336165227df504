"""The reader's page about the proof, rendered from the stored result of ``prove`` and from the definitions."""

from __future__ import annotations

import re
from typing import Any, Final

from counting.complexity import bounds
from reports.rendering import Artefact, hold, page, read_stored
from reports.studies.formal.generate import FOLDER, PROVED, module_name, path_of
from reports.studies.formal.proving import PAPER, Proof, theorem_names
from tablut.variants import load_variant

DATA: Final = FOLDER / "data"
_SHOWN: Final = ("placed", "undecided", "all_captured", "escaped", "escaped_last", "king_captured", "counted")
"""Definitions that the page shows in full."""


def results() -> dict[str, Any]:
    """Return the stored result of ``prove`` as plain data."""
    return read_stored(DATA, "proved", Proof, _check)


def _check(stored: Proof, _: str) -> None:
    """Check that a result is a success, and that its theorems are those of the stored files."""
    hold(not stored.failures, "failures: the proof has failed")
    hold(all(one.closed and one.agrees is not False for one in stored.theorems), "theorems: one is not proved")
    files = {**{module_name(load_variant(name)): path_of(name) for name in PROVED}, PAPER: FOLDER / f"{PAPER}.v"}
    names = [f"{module}.{name}" for module, path in files.items() for name in theorem_names(path.read_text("utf-8"))]
    hold([one.theorem for one in stored.theorems] == names, "theorems: do not match the files")


def definition(name: str) -> str:
    """Return a definition from ``definitions.v``, as it stands there."""
    text = (FOLDER / "definitions.v").read_text("utf-8")
    found = re.search(rf"^Definition {name} p :=.*?\.$", text, flags=re.MULTILINE | re.DOTALL)
    hold(found is not None, f"definitions.v: {name} is missing")
    return found[0] if found else ""


def artefacts() -> list[Artefact]:
    """Return the page."""
    stored = results()
    statements = {one["theorem"]: one["statement"] for one in stored["theorems"]}
    values = {
        "proof": stored,
        "statements": statements,
        "definitions": [definition(name) for name in _SHOWN],
        "sets": [(name, module_name(load_variant(name)), bounds(name)) for name in PROVED],
        "terms": bounds("ashton").terms,
    }
    return [page("page.md", "page.md.j2", _folder="studies/formal", **values)]
