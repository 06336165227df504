"""Generator of the API reference, which has one page for each public package or module (a *door*).

A door is a package with ``__all__``, or one of the modules in `MODULES`. In such a module, every public name is
exported. A name that several doors export is described only on the page of the outermost door; the other pages link to
it.
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("tablut", "counting", "retrograde", "symmetry")
MODULES = (
    "tablut.errors",
    "tablut.formats.reading",
    "tablut.pictures",
    "tablut.play.analysis",
    "tablut.prober",
    "tablut.records",
    "tablut.status",
    "tablut.strip",
    "tablut.svg",
)
"""Public modules of the Python interface, in addition to the packages."""
SHELL = {"tablut.cli", "tablut.commands"}
"""Packages of the command line. They have no page here, because ``tablut help`` documents the commands."""


class Door(NamedTuple):
    """A door: its name, the first line of its docstring, and the names that it exports."""

    name: str
    title: str
    names: tuple[str, ...]


def _listed(name: str) -> tuple[str, ...]:
    """Return the names in ``__all__``, or the public functions and classes of a module in `MODULES` that lacks it."""
    module = import_module(name)
    if name not in MODULES or hasattr(module, "__all__"):
        return tuple(getattr(module, "__all__", ()))
    body = ast.parse(inspect.getsource(module)).body
    defined = [node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return tuple(sorted(name for name in defined if not name.startswith("_")))


def doors() -> list[Door]:
    """Return all doors in the order of the packages. Outer doors come before inner doors."""
    found = []
    for package in PACKAGES:
        inits = sorted((ROOT / package).rglob("__init__.py"), key=lambda path: (len(path.parts), path))
        names = [".".join(path.parent.relative_to(ROOT).parts) for path in inits]
        names += [module for module in MODULES if module.split(".")[0] == package]
        for name in names:
            listed = _listed(name)
            if listed and name not in SHELL:
                title = (import_module(name).__doc__ or name).strip().splitlines()[0].rstrip(".")
                found.append(Door(name, title, listed))
    return found


def _entry(door: str, name: str) -> list[str]:
    thing = getattr(import_module(door), name)
    if inspect.isclass(thing):
        return [f".. autoclass:: {name}", "   :members:", "   :exclude-members: model_config", ""]
    if inspect.isroutine(thing):
        return [f".. autofunction:: {name}", ""]
    if inspect.ismodule(thing):
        return [f".. automodule:: {thing.__name__}", "   :members:", "", f".. currentmodule:: {door}", ""]
    value = repr(thing)
    lines = [f".. py:data:: {name}"]
    if len(value) < 60 and "<" not in value:
        lines.append(f"   :value: {value}")
    return [*lines, "", *(f"   {line}" for line in _told(door, name).splitlines()), ""]


def _told(door: str, name: str) -> str:
    """Return the docstring of a constant, found below the constant's assignment in one of the door's modules."""
    place = ROOT.joinpath(*door.split("."))
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, below in zip(body, [*body[1:], None], strict=True):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if (
                any(isinstance(target, ast.Name) and target.id == name for target in targets)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                return inspect.cleandoc(str(below.value.value))
    return ""


def _page(door: Door, owner: dict[int, str]) -> str:
    """Return the page of a door, and record in ``owner`` the names that the page describes."""
    lines = [f"``{door.name}``", "=" * (len(door.name) + 4), "", f".. automodule:: {door.name}", ""]
    lines += [f".. currentmodule:: {door.name}", ""]
    elsewhere = []
    for name in sorted(door.names, key=str.lower):
        thing = getattr(import_module(door.name), name)
        # Only classes and functions get an owner, because unrelated constants may be the same object.
        told = owner.setdefault(id(thing), f"{door.name}.{name}") if inspect.isclass(thing) or callable(thing) else None
        if told in (None, f"{door.name}.{name}"):
            lines += _entry(door.name, name)
        else:
            elsewhere.append(f"- :py:obj:`{name} <{told}>`")
    if elsewhere:
        lines += ["Also here, described elsewhere:", "", *elsewhere, ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Return all pages in reStructuredText, keyed by file name."""
    owner: dict[int, str] = {}
    return {f"{door.name}.rst": _page(door, owner) for door in doors()}
