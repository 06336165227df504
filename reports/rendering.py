"""Shared code that reads stored results and renders files for all pages of the report.

Stored results are the ``--json`` output of commands. When a file is read, its fields and its consistency are checked,
and a damaged file is reported by name. Rendered pages and data are compared byte for byte. Figures are compared by a
fingerprint in their metadata: the SHA-256 of the data and the code from which a figure is drawn.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydantic import ValidationError, create_model

from tablut import __version__
from tablut.board import Board
from tablut.errors import InputError, TablutError, fault_of
from tablut.position import Position
from tablut.provenance import Provenance
from tablut.results import Result, grouped, scientific
from tablut.variants import load_variant
from tablut.work.files import read_bytes, write_bytes
from tablut.work.sealed_records import read_model

if TYPE_CHECKING:
    import jinja2
    import matplotlib.figure

# -- stored results ---------------------------------------------------------------------------------

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
"""The boards that have been completely counted, sampled and solved, in page order."""

Stored = TypeVar("Stored", bound=Result)


@cache
def with_provenance(model: type[Stored]) -> type[Stored]:
    """Return the model for a command's JSON output: the result's fields plus its provenance."""
    if "provenance" in model.model_fields:
        return model
    name = f"{model.__name__.removesuffix('Result')}Answer"
    return create_model(name, __base__=model, __doc__=model.__doc__, provenance=(Provenance, ...))


def read_stored(
    folder: str | Path, name: str, model: type[Stored], check: Callable[[Stored, str], None], *, signed: bool = True
) -> dict[str, Any]:
    """Read and validate a stored result, and return it as plain data.

    The file is ``NAME.json`` in a folder. If ``signed`` is set, it must also contain the result's provenance.
    """
    path = DATA / folder / f"{name}.json"
    model = with_provenance(model) if signed else model
    where = f"report data {str(path)!r}"
    remedy = "restore the file, or make it again with the command in its provenance"
    try:
        content = read_bytes(path, "report data", _MOST_BYTES)
        stored = read_model(model, content)
        plain: dict[str, Any] = stored.model_dump(mode="json", by_alias=True)
        check_numbers(plain)
        if signed and not re.fullmatch(r"(tablut|python -m) [^`|\n]*", plain["provenance"]["command"]):
            raise ValueError("provenance.command: is not a command of this toolkit")
        check(stored, name)
    except ValidationError as error:
        raise InputError(fault_of(error.errors()), subject=where, remedy=remedy) from error
    except TablutError as error:
        if error.subject == where:
            raise
        raise InputError(str(error), subject=where, remedy=remedy) from error
    except ValueError as error:
        raise InputError(str(error), subject=where, remedy=remedy) from error
    return plain


def read_stored_all(
    folder: str | Path, names: Iterable[str], model: type[Stored], check: Callable[[Stored, str], None]
) -> dict[str, dict[str, Any]]:
    """Return the results stored in a folder, keyed by name, in the order of ``names``.

    Names without a file are left out.
    """
    return {
        name: read_stored(folder, name, model, check) for name in names if (DATA / folder / f"{name}.json").exists()
    }


@cache
def quoted(kind: str, folder: Path = DATA.parent) -> list[dict[str, Any]]:
    """Return the entries of one kind in ``quoted.toml``, which contains facts that no command computes."""
    entries: list[dict[str, Any]] = tomllib.loads((folder / "quoted.toml").read_text(encoding="utf-8"))[kind]
    return entries


def check_numbers(plain: Any, place: str = "") -> None:
    """Raise `ValueError` if a number is infinite, NaN or, except for a few fields, negative."""
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
    """Raise `ValueError` with the message ``otherwise`` if a claim about stored data is false."""
    if not claim:
        raise ValueError(otherwise)


def check_line(variant: str, position: str, line: list[str]) -> None:
    """Raise an error if a line of play contains an illegal move."""
    rules = load_variant(variant)
    board = Board(rules, Position.parse(position, rules.size))
    for move in line:
        board.push_text(move)


# -- files ------------------------------------------------------------------------------------------

Figure: TypeAlias = "matplotlib.figure.Figure"
"""A matplotlib figure. Matplotlib is imported only when something is drawn."""

_FINGERPRINT = re.compile(rb"sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Artefact:
    """A report file, rendered on demand."""

    path: str
    render: Callable[[], bytes]
    fingerprint: str | None = None

    def differs(self, existing: bytes | None) -> bool:
        """Return whether an existing file's content differs from this artefact; a missing file (None) differs."""
        if existing is None:
            return True
        if self.fingerprint is None:
            return self.render() != existing
        found = _FINGERPRINT.search(existing)
        return found is None or found[1].decode() != self.fingerprint


def _scaled(value: float | None, unit: float, digits: int) -> str:
    """Return a measurement in the given unit with the given number of decimals, or ``not known`` if it is None."""
    return "not known" if value is None else f"{value / unit:.{digits}f}"


@cache
def templates(folder: str, *, html: bool = False) -> jinja2.Environment:
    """Return the template environment for a folder of `reports`.

    The templates are Markdown, or HTML with escaping if ``html`` is set.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not html,
        autoescape=html,
    )
    environment.filters["scaled"] = _scaled
    environment.filters["grouped"] = environment.globals["grouped"] = lambda value: grouped(int(value))
    environment.filters["scientific"] = lambda value, digits=4: scientific(int(value), digits)
    return environment


def page(path: str, template: str, /, _folder: str = "templates", **values: Any) -> Artefact:
    """Return a Markdown page rendered from a template in ``reports/templates``, or in another folder of `reports`."""
    return Artefact(path, lambda: templates(_folder).get_template(template).render(**values).encode())


def json_data(path: str, content: dict[str, Any]) -> Artefact:
    """Return a JSON file with the content and the reproducible part of its provenance.

    Time, memory and commit are omitted, because they differ between runs and would make every check fail.
    """
    provenance = {"version": __version__, "command": "tablut report"}
    text = json.dumps({"provenance": provenance, **content}, ensure_ascii=False, indent=1)
    return Artefact(path, lambda: (text + "\n").encode())


def drawing(path: str, svg: str) -> Artefact:
    """Return an SVG file that is compared byte for byte. This is for drawings that are always rendered identically."""
    return Artefact(path, svg.encode)


def figure(path: str, draw: Callable[[Any], Figure], data: Any, title: str) -> Artefact:
    """Return an SVG figure that is compared by the fingerprint of its data, title and drawing function."""
    content = json.dumps([data, _statements(draw), title], sort_keys=True)
    fingerprint = hashlib.sha256(content.encode()).hexdigest()
    return Artefact(path, lambda: _rendered(draw, data, title, fingerprint), fingerprint)


def axes_of(width: float, height: float, *shape: int, **how: Any) -> tuple[Figure, Any]:
    """Return an empty figure of the given size (in inches) and its axes, without the top and right spines."""
    from matplotlib.figure import Figure as Empty

    figure = Empty(figsize=(width, height))
    axes = figure.subplots(*shape, squeeze=False, **how)
    for single in axes.flat:
        single.spines[["top", "right"]].set_visible(False)
    return figure, axes.flat if shape else axes[0, 0]


def draw_shares(bars: list[tuple[str, float]], label: str, rest: str) -> Figure:
    """Draw shares as bars, each in front of a bar of length 1 in the colour `rest`."""
    figure, axes = axes_of(6.6, 0.45 * len(bars) + 0.9)
    for place, (_, share) in enumerate(bars):
        axes.barh(place, 100, height=0.6, color=rest)
        axes.barh(place, 100 * share, height=0.6, color="#54803c")
        axes.text(101, place, f"{100 * share:.2f} %", va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), [name for name, _ in bars])
    axes.invert_yaxis()
    axes.set(xlim=(0, 112), xlabel=label)
    return figure


def _statements(function: Callable[..., Any]) -> str:
    """Return the source of a function without its name and docstring, which do not affect the figure it draws."""
    source = textwrap.dedent(inspect.getsource(function))
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[1 if ast.get_docstring(definition) is not None else 0]
    return "\n".join(source.splitlines()[first.lineno - 1 :])


def _rendered(draw: Callable[[Any], Figure], data: Any, title: str, fingerprint: str) -> bytes:
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": fingerprint, "svg.fonttype": "path", "font.size": 9}):
        buffer = io.BytesIO()
        metadata = {"Date": None, "Title": title, "Identifier": f"sha256:{fingerprint}"}
        draw(data).savefig(buffer, format="svg", metadata=metadata, bbox_inches="tight")
    return buffer.getvalue()


def write(folder: Path, artefact: Artefact) -> None:
    """Write an artefact to a folder, atomically."""
    write_bytes(folder / artefact.path, artefact.render(), remedy="choose another folder with `out`")
