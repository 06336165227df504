"""From results to files: templates, figures with a fingerprint, writing and comparing.

Pages and data are compared byte for byte. Figures are compared by the SHA-256 of
the data and parameters they were drawn from, which each carries in its metadata:
the bytes that a drawing library writes may differ for the same content.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import json
import re
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from tablut import __version__
from tablut.results import grouped, scientific
from tablut.store.files import write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import jinja2
    import matplotlib.figure

Figure: TypeAlias = "matplotlib.figure.Figure"
"""What is drawn; the library is loaded when something is."""

_FINGERPRINT = re.compile(rb"sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Artefact:
    """A file of the report."""

    path: str
    render: Callable[[], bytes]
    fingerprint: str | None = None

    def differs(self, existing: bytes | None) -> bool:
        """Return whether a file's bytes are not this artefact's."""
        if existing is None:
            return True
        if self.fingerprint is None:
            return self.render() != existing
        found = _FINGERPRINT.search(existing)
        return found is None or found[1].decode() != self.fingerprint


def _scaled(value: float | None, unit: float, digits: int) -> str:
    """Return a measurement in a unit, so many digits after the point; ``not known`` where a machine could not tell."""
    return "not known" if value is None else f"{value / unit:.{digits}f}"


@cache
def templates(folder: str, *, html: bool = False) -> jinja2.Environment:
    """Return the templates of a folder of `reports`: pages of Markdown, or of HTML, in which texts are escaped."""
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
    environment.filters["grouped"] = lambda value: grouped(int(value))
    environment.filters["scientific"] = lambda value, digits=4: scientific(int(value), digits)
    return environment


def page(path: str, template: str, /, _folder: str = "templates", **values: Any) -> Artefact:
    """Return a Markdown page from a template of ``reports/templates``, or of another folder of `reports`."""
    return Artefact(path, lambda: templates(_folder).get_template(template).render(**values).encode())


def json_data(path: str, content: dict[str, Any]) -> Artefact:
    """Return a JSON file of the content and the lasting part of its provenance.

    Time, memory and commit are left out: they would make every check fail.
    """
    provenance = {"version": __version__, "command": "tablut report"}
    text = json.dumps({"provenance": provenance, **content}, ensure_ascii=False, indent=1)
    return Artefact(path, lambda: (text + "\n").encode())


def drawing(path: str, svg: str) -> Artefact:
    """Return a drawing that is the same to the byte every time."""
    return Artefact(path, svg.encode)


def figure(path: str, draw: Callable[[Any], Figure], data: Any, title: str) -> Artefact:
    """Return an SVG figure."""
    content = json.dumps([data, _statements(draw), title], sort_keys=True)
    fingerprint = hashlib.sha256(content.encode()).hexdigest()
    return Artefact(path, lambda: _rendered(draw, data, title, fingerprint), fingerprint)


def axes_of(width: float, height: float, *shape: int, **how: Any) -> tuple[Figure, Any]:
    """Return an empty figure of so many inches with its axes, one pair or several, open above and to the right."""
    from matplotlib.figure import Figure as Empty

    figure = Empty(figsize=(width, height))
    axes = figure.subplots(*shape, squeeze=False, **how)
    for one in axes.flat:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes.flat if shape else axes[0, 0]


def draw_shares(bars: list[tuple[str, float]], label: str, rest: str) -> Figure:
    """Draw shares of 1 as bars, each before the whole in a colour for the rest."""
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
    """Return the source of a function without its name and docstring: other words draw the same figure."""
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
    """Write an artefact into a folder, all of it or nothing."""
    write_bytes(folder / artefact.path, artefact.render(), remedy="choose another folder with `out`")
