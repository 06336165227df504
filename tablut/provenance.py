"""Provenance of a result: the version, commit and command that produced it, and the time and memory it took."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tablut import __version__
from tablut.results import Result
from tablut.work.clocks import compile_seconds
from tablut.work.machine import peak_memory


class Provenance(Result):
    """The provenance of a result. It has the fields that `origin` returns."""

    version: str
    commit: str | None
    command: str
    parameters: dict[str, object]
    seed: int | None
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    compile_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    peak_rss_bytes: Annotated[int | None, Field(ge=0)]


def origin(
    command: str, parameters: dict[str, object], seed: int | None, seconds: float, *, commit: str | None
) -> dict[str, object]:
    """Return the provenance of a result that this process has computed, as plain data."""
    return {
        "version": __version__,
        "commit": commit,
        "command": command,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "seed": seed,
        "seconds": round(seconds, 3),
        "compile_seconds": round(compile_seconds(), 3),
        "peak_rss_bytes": peak_memory(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def commit() -> str | None:
    """Return the commit of the running checkout, with ``+`` if it has uncommitted changes; None outside a checkout."""
    root = Path(__file__).resolve().parents[1]
    project = root / "pyproject.toml"
    if not (root / ".git").exists() or not project.exists():
        return None

    def _git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        if 'name = "tablut"' not in project.read_text(encoding="utf-8", errors="replace"):
            return None  # the packages were copied into another project's checkout
        _git("ls-files", "--error-unmatch", "tablut/provenance.py")
        return _git("rev-parse", "HEAD") + ("+" if _git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        # git is missing, refuses to read the checkout, or does not track these files.
        return None
