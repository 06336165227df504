"""Tutorials as notebooks: made from the page, and each runs from its first cell to its last."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.pages import ROOT, TUTORIALS, read

if TYPE_CHECKING:
    from pathlib import Path

NEEDS = "needs nbclient, nbformat and ipykernel; install them with: pip install 'tablut[docs]'"
for package in ("nbclient", "nbformat", "ipykernel"):
    pytest.importorskip(package, reason=NEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_is_current_and_runs(page: Path) -> None:
    # A program of its own: what Jupyter warns of is not ours. The blocks themselves run in `test_docs.py`.
    command = [sys.executable, "-m", "docs.building.sessions", "--check", page.stem]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_tutorial_has_a_notebook_and_no_other_is_kept() -> None:
    kept = {path.stem for path in (ROOT / "docs" / "notebooks").iterdir()}
    assert kept == {page.stem for page in TUTORIALS}
    for page in TUTORIALS:
        assert f"(../notebooks/{page.stem}.ipynb)" in read(page)
