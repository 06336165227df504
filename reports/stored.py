"""Stored results from which the pages are rendered, checked before use.

Each file is the output of a command with ``--json``. When it is read, its size is limited, it is validated with the
model of the command's result, and its consistency is checked (sums, names, lines of play). A damaged file is reported
by name and never rendered.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field, ValidationError, create_model

from tablut.board import Board
from tablut.errors import InputError, TablutError, fault_of
from tablut.position import Position
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import read_bytes
from tablut.work.records import read_model

DATA = Path(__file__).parent / "data"
STUDIES = Path(__file__).parent / "studies"
_MOST_BYTES = 16 << 20
_SIGNED: Final = ("provenance", "no_win_within", "elo", "elo_interval", "white_elo")

REDUCED_BOARDS: Final = (
    "ashton-5-4v0",
    "ashton-5-4v2",
    "ashton-5-4v4",
    "brandubh-5-4v0",
    "brandubh-5-4v4",
    "ashton-7-4v1",
    "brandubh-7-4v1",
)
"""The boards that have been completely counted, sampled and solved, in the order of the pages."""

Stored = TypeVar("Stored", bound=Result)


class Provenance(Result):
    """Origin of a result, as returned by `tablut.cli.runtime.origin`."""

    version: str
    commit: str | None
    command: str
    parameters: dict[str, Any]
    seed: int | None
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    compile_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    peak_rss_bytes: Annotated[int | None, Field(ge=0)]


@cache
def with_provenance(model: type[Stored]) -> type[Stored]:
    """Return the model of a command's JSON output: the fields of the result plus its provenance."""
    if "provenance" in model.model_fields:
        return model
    name = f"{model.__name__.removesuffix('Result')}Answer"
    return create_model(name, __base__=model, __doc__=model.__doc__, provenance=(Provenance, ...))


def read_stored(
    folder: str | Path, name: str, model: type[Stored], check: Callable[[Stored, str], None], *, signed: bool = True
) -> dict[str, Any]:
    """Read and validate a stored result, and return it as plain data.

    The file is ``NAME.json`` in a folder of `DATA` or at any other path. If ``signed`` is set, the file must also
    contain the provenance of the result.
    """
    path = DATA / folder / f"{name}.json"
    model = with_provenance(model) if signed else model
    where = f"report data {str(path)!r}"
    hint = "; restore the file, or make it again with the command in its provenance"
    try:
        content = read_bytes(path, "report data", _MOST_BYTES)
        stored = read_model(model, content)
        plain: dict[str, Any] = stored.model_dump(mode="json", by_alias=True)
        check_numbers(plain)
        if signed and not re.fullmatch(r"(tablut|python -m) [^`|\n]*", plain["provenance"]["command"]):
            raise ValueError("provenance.command: is not a command of this toolkit")
        check(stored, name)
    except ValidationError as error:
        raise InputError(f"{fault_of(error.errors())}{hint}", subject=where) from error
    except TablutError as error:
        if where in str(error):
            raise
        raise InputError(f"{error}{hint}", subject=where) from error
    except ValueError as error:
        raise InputError(f"{error}{hint}", subject=where) from error
    return plain


def read_stored_all(
    folder: str | Path, names: Iterable[str], model: type[Stored], check: Callable[[Stored, str], None]
) -> dict[str, dict[str, Any]]:
    """Return the results of a folder by name, in the order of `names`.

    Names without a file are left out, which shortens the page.
    """
    return {
        name: read_stored(folder, name, model, check) for name in names if (DATA / folder / f"{name}.json").exists()
    }


@cache
def quoted(kind: str) -> list[dict[str, Any]]:
    """Return the entries of one kind in ``quoted.toml``: facts from other sources, which no command computes."""
    text = Path(__file__).with_name("quoted.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)[kind]
    return found


def check_numbers(plain: Any, place: str = "") -> None:
    """Refuse numbers that are negative, infinite or NaN.

    The provenance is skipped, and so are fields that may be negative: ``no_win_within``, in which -1 stands for none,
    and Elo differences.
    """
    if isinstance(plain, dict):
        for name, value in plain.items():
            if name not in _SIGNED:
                check_numbers(value, f"{place}.{name}" if place else name)
    elif isinstance(plain, list):
        for number, value in enumerate(plain):
            check_numbers(value, f"{place}.{number}")
    elif isinstance(plain, (int, float)) and not 0 <= plain < float("inf"):
        raise ValueError(f"{place}: {plain} is not a count")


def hold(claim: bool, otherwise: str) -> None:
    """Raise `ValueError` with the given message unless a condition on stored data is true."""
    if not claim:
        raise ValueError(otherwise)


def check_line(variant: str, position: str, line: list[str]) -> None:
    """Refuse a line of play that contains an illegal move."""
    rules = load_variant(variant)
    board = Board(rules, Position.parse(position, rules.size))
    for move in line:
        board.push_text(move)
