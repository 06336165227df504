"""Every command with a quick example of it; commands in this process: their JSON object, the one line of a refusal."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from tablut.cli.command import Group
from tablut.cli.parameters import NumberType
from tablut.cli.shell import program, run

_ROOT = Path(__file__).resolve().parents[2]
_DATA = _ROOT / "tests" / "data"
_STORE = str(_ROOT / "retrograde" / "data" / "ashton-5-4v0")
SMALL = "ashton-5-4v0"
WON_IN_ONE = "5/5/1K3/5/b3b w"

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


def integers(value: Any) -> Iterator[int]:
    """Yield the integers of a JSON value, those in strings and keys too."""
    if isinstance(value, dict):
        yield from integers([*value, *value.values()])
    elif isinstance(value, list):
        for part in value:
            yield from integers(part)
    elif isinstance(value, int) or (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 60):
        yield int(value)


# -- every command -------------------------------------------------------------------------


@cache
def command_tree() -> dict[str, Any]:
    """Return every command by its name, as click describes it."""
    found: dict[str, Any] = {}

    def walk(name: str, command: Any) -> None:
        if not isinstance(command, Group):
            found[name] = command
            return
        if command.own is not None:
            found[name] = command.own
        for word in command.list_commands(context):
            walk(f"{name} {word}".lstrip(), command.get_command(context, word))

    context = click.Context(program)
    walk("", program)
    return found


def number_of(item: Any) -> type | None:
    """Return whether a parameter takes an integer or a real number, None if it takes neither."""
    return item.type.kind if isinstance(item.type, NumberType) else None


def example_of(name: str, variant: str, **fills: str) -> list[str]:
    """Return the command line of an example, under a variant where it takes one; `fills` are its move and places."""
    filled = [re.sub(r"\{(\w+)\}", lambda match: fills[match[1]], part) for part in EXAMPLES[name]]
    return [*name.split(), *filled, *([] if name in SAYS_ITSELF else ["-v", variant])]


# Arguments that make a command answer quickly; without --variant where SAYS_ITSELF names the command.
EXAMPLES: dict[str, list[str]] = {
    "analyse": [str(_DATA / "records" / "ashton.txt"), "--nodes", "100", "--proof-nodes", "0", "--hash", "1"],
    "apply": ["{move}"],
    "bench": [],
    "bestmove": ["--nodes", "200", "--movetime", "0.5", "--hash", "1"],
    "bounds": [],
    "census": ["--plies", "2", "--against-bounds"],
    "census count": ["--plies", "2"],
    "census verify": ["{census}"],
    "convert": ["--to", "grid"],
    "engine": ["--line", "setoption name hash value 1", "--line", "uci", "--line", "go nodes 200"],
    "exclusions": ["--pieces", "2"],
    "book make": ["{folder}/my.book", str(_DATA / "records" / "games.csv")],
    "games": [str(_DATA / "records" / "games.csv")],
    "match": ["random", "random", "-n", "2", "--nodes", "1", "--most-plies", "20"],
    "measure": ["random", "-n", "2", "--nodes", "1", "--most-plies", "20"],
    "moves": [],
    "perft": ["-d", "2", "--divide"],
    "play": ["--side", "none", "--player", "random"],
    "position rank": [],
    "position show": [],
    "position status": [],
    "position unrank": ["17"],
    "probe": [_STORE, "-p", "5/5/2K2/5/2b2 w"],
    "prove": ["-p", WON_IN_ONE, "--claim", "white", "--memory", "1"],
    "puzzle check": ["{proof}"],
    "puzzle list": ["ashton", "--max-plies", "5"],
    "puzzle play": ["ashton-10", "-m", "c6-c7", "-m", "c8-a8", "-m", "c7-a7"],
    "puzzle show": ["ashton-01", "--hint"],
    "puzzle solve": ["-p", WON_IN_ONE],
    "reachable check": [str(_DATA / "reachable" / "few.jsonl")],
    "reachable estimate": ["--samples", "1"],
    "referee": ["--white", "random", "--black", "random", "--port-white", "0", "--port-black", "0", "--wait", "1"],
    "replay": [str(_DATA / "records" / "ashton.txt")],
    "report": ["--out", "{folder}"],
    "serve": ["--port", "0", "--no-browser", "--seconds", "0.3"],
    "solve": [],
    "symmetry show": [],
    "symmetry verify": ["--samples", "20", "--most", "100"],
    "tablebase build": ["--men", "2", "--store", "{folder}/store"],
    "tablebase info": [_STORE],
    "tablebase query": [_STORE, "--wdl", "loss", "--most", "3"],
    "tablebase verify": [_STORE, "--quick"],
    "tournament": ["random", "random", "-n", "2", "--nodes", "1", "--most-plies", "20"],
    "variants": [],
    "variants diff": ["ashton-5-4v0", "brandubh-5-4v0", "--plies", "1", "--samples", "200"],
    "verify": [_STORE],
    "warmup": [],
}
# These have no --variant, or a store or a file that says it.
SAYS_ITSELF = {
    "analyse", "bench", "census verify", "probe", "puzzle check", "puzzle list", "puzzle play", "puzzle show",
    "reachable check", "replay", "report", "serve", "tablebase info", "tablebase query", "tablebase verify",
    "variants", "variants diff", "verify", "warmup",
}  # fmt: skip
SLOW = {"warmup", "bench", "report", "puzzle check", "serve", "tablebase build"}
