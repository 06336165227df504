"""Commands in this process: the JSON object that they answer with, and the one line of a refusal."""

import json
from typing import Any

import pytest

from tablut.cli.shell import run

Captured = pytest.CaptureFixture[str]


def answer(capsys: Captured, *arguments: str, code: int = 0) -> dict[str, Any]:
    """Return what a command prints with ``--json``; standard error must stay empty."""
    capsys.readouterr()
    assert run([*arguments, "--json"]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    found: dict[str, Any] = json.loads(captured.out)
    return found


def refusal(capsys: Captured, *arguments: str, code: int = 2) -> str:
    """Return the line with which a command refuses bad input; nothing else is printed."""
    capsys.readouterr()
    assert run(arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tablut: ")
    assert captured.err.count("\n") == 1
    return captured.err
