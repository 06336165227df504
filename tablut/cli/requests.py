"""Requests of commands: models whose fields are the arguments and options of a command.

A command takes a `Request` and returns a `Reply`. `Argument` and `Option` describe a field, and its type and bounds
decide how its text is read. Each parameter is declared in one place: the help, the documentation, the refusals and, if
the browser explorer offers the command, the schema of its API follow from the field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from tablut.cli.parameters import NumberType, OnceOption, PathType, WordType
from tablut.errors import TablutError

if TYPE_CHECKING:
    from tablut.cli.runtime import Reply


Completion = Callable[[click.Context, click.Parameter, str], list[str]]
"""Type of a function that completes the typed text of a parameter."""


class Request(BaseModel):
    """Base class of the parameters of a command, whose fields are declared with `Argument` and `Option`."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def among(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the fields with the given names, as arguments of a library function."""
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Shown:
    """How a field of a request appears on the command line. A field without names is a positional argument."""

    names: tuple[str, ...] | None
    metavar: str
    complete: Completion | None
    more: Mapping[str, bool] = field(default_factory=dict)

    def __call__(self, _schema: dict[str, Any]) -> None:
        """Leave the JSON schema of the field as it is. The model keeps this object because it can be called."""


def Option(  # noqa: N802
    default: Any,
    help: str,  # noqa: A002
    *names: str,
    metavar: str = "",
    least: float | None = None,
    most: float | None = None,
    complete: Completion | None = None,
    **more: bool,
) -> Any:
    """Describe a field of a request as an option, which is named after the field unless ``names`` are given.

    A default of ``...`` makes the option required. See `OnceOption` for ``form`` and ``recorded``.
    """
    shown = Shown(names, metavar, complete, more)
    return Field(default, description=help, ge=least, le=most, json_schema_extra=shown)


def Argument(metavar: str, help: str, default: Any = ..., complete: Completion | None = None) -> Any:  # noqa: A002, N802
    """Describe a field of a request as a positional argument."""
    return Field(default, description=help, json_schema_extra=Shown(None, metavar, complete))


def beginning(names: Callable[[], Iterable[str]]) -> Completion:
    """Return a function that completes the typed text to one of the given names."""
    return lambda _ctx, _param, incomplete: [name for name in names() if name.startswith(incomplete)]


def params_of(command: Callable[..., Reply]) -> list[click.Parameter]:
    """Return the parameters of a command, beginning with those that its request inherits."""
    model = _request_of(command)
    return [_param_of(name, model.model_fields[name]) for name in _field_names(model)]


def requested(command: Callable[..., Reply]) -> Callable[..., Reply]:
    """Return a function that makes the request of a command from the values of its parameters, and runs the command."""
    model = _request_of(command)

    @wraps(command)
    def run(**values: Any) -> Reply:
        try:
            request = model(**values)
        except ValidationError as error:
            refused = error.errors()[0].get("ctx", {}).get("error")
            raise refused if isinstance(refused, TablutError) else error from None
        return command(request)

    return run


def _request_of(command: Callable[..., Reply]) -> type[Request]:
    model: type[Request] = inspect.get_annotations(command, eval_str=True)["request"]
    return model


def _field_names(model: type[Any]) -> list[str]:
    inherited = [name for base in model.__bases__ if issubclass(base, Request) for name in _field_names(base)]
    return list(dict.fromkeys([*inherited, *(name for name in model.__annotations__ if name in model.model_fields)]))


def _param_of(name: str, info: FieldInfo) -> click.Parameter:
    """Return the parameter that a field describes."""
    shown = info.json_schema_extra
    assert isinstance(shown, Shown), f"{name} is declared with Option or Argument"
    required = info.is_required()
    settings: dict[str, Any] = {"help": info.description, "required": required, "shell_complete": shown.complete}
    kind = info.annotation
    if type(None) in get_args(kind):
        kind = next(part for part in get_args(kind) if part is not type(None))
    parts = get_args(kind) if get_origin(kind) is tuple else (kind,)
    if parts[-1] is Ellipsis:
        settings |= {"nargs": -1} if shown.names is None else {"multiple": True}
        settings["type"] = _type_of(parts[0], [])
    else:
        settings |= {} if required or info.default is None else {"default": info.default}
        types = [_type_of(part, info.metadata) for part in parts]
        settings |= {"is_flag": True} if kind is bool else {"type": types[0] if len(types) == 1 else tuple(types)}
    settings["metavar"] = shown.metavar or getattr(settings.get("type"), "placeholder", None)
    if shown.names is None:
        return click.Argument([name], **settings)
    return OnceOption([*(shown.names or [f"--{name.replace('_', '-')}"]), name], **settings, **shown.more)


def _type_of(kind: Any, bounds: Sequence[Any]) -> click.ParamType[Any]:
    """Return the type of a parameter for a value of the given kind, within the bounds of its field."""
    if get_origin(kind) is Annotated:
        kind, inner = get_args(kind)
        bounds = inner.metadata
    if get_origin(kind) is Literal:
        return WordType(get_args(kind))
    if kind in (int, float):
        least, most = (
            next((getattr(one, name) for one in bounds if hasattr(one, name)), None) for name in ("ge", "le")
        )
        return NumberType(kind, least, most)
    return PathType(path_type=Path) if kind is Path else click.STRING
