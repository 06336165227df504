"""Exceptions of the toolkit, and helpers for error messages.

Every message names the faulty input and suggests how to correct it. On the command line, a `TablutError` becomes one
line on standard error, and its class determines the exit code.
"""

from __future__ import annotations

import errno
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from numbers import Integral, Real
from pathlib import PurePath
from reprlib import Repr
from typing import Any, Final, TypeVar, cast

__all__ = ["IllegalMoveError", "InputError", "MachineError", "NoMoveError", "OutputError", "TablutError"]
__all__ += ["UncompiledError", "UnknownError", "UseError", "VariantError"]

Function = TypeVar("Function", bound=Callable[..., Any])
Record = TypeVar("Record")

_WRONG_NAME = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EEXIST,
        errno.ENAMETOOLONG,
        errno.EINVAL,
        errno.ELOOP,
        errno.ENOTEMPTY,
        errno.ENXIO,
    }
)
"""System errors that the user can avoid with another file name. All others count as failures of the machine."""


class TablutError(Exception):
    """Base class of every error that the toolkit raises on purpose.

    An error reads ``SUBJECT: PROBLEM; REMEDY``. The parts are stored separately, so that each user interface can adapt
    the wording.

    Parameters
    ----------
    problem : str
        Description of what is wrong.
    subject : str
        What the error is about, such as a file and a line. By default, the parameter's name and value.
    parameter : str
        Name of the parameter at fault, if there is one. The command line prints the name of its option instead.
    value : object
        Value of that parameter.
    remedy : str
        What to do. Parameter names are written in backquotes; the command line prints the names of its options instead.

    Attributes
    ----------
    exit_code : int
        Exit code of a command that fails with the error.
    """

    exit_code = 2

    def __init__(
        self, problem: str = "", *, subject: str = "", parameter: str = "", value: object = "", remedy: str = ""
    ) -> None:
        super().__init__(problem)
        self.subject = subject or f"{parameter} {value}".strip()
        self.parameter, self.remedy = parameter, remedy

    def __str__(self) -> str:
        return "; ".join(filter(None, [": ".join(filter(None, [self.subject, self.problem])), self.remedy]))

    @property
    def problem(self) -> str:
        """Description of what is wrong, without the subject and the remedy."""
        return str(self.args[0]) if self.args else ""

    def within(self, place: str) -> None:
        """Prefix the subject with the ``place`` of the error, for example a file and a line."""
        self.subject = ": ".join(filter(None, [place, self.subject]))
        self.parameter = ""

    def rename(self, name: Callable[[str], str | None]) -> None:
        """Replace parameter names in the error with those that ``name`` returns.

        ``name`` maps a parameter name to its name in a user interface, or to None if the interface has no such
        parameter.
        """
        if self.parameter and (shown := name(self.parameter)):
            self.subject = shown + self.subject.removeprefix(self.parameter)
            self.parameter = shown
        self.remedy = re.sub("`([a-z_]+)`", lambda found: name(found[1]) or found[0], self.remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the fields, because the constructors of subclasses may take other parameters."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[TablutError], arguments: tuple[Any, ...], fields: dict[str, object]) -> TablutError:
    """Rebuild a pickled error. ``args`` is set directly, because an error derived from `OSError` would lose it."""
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(fields)
    return error


class InputError(TablutError, ValueError):
    """An input that cannot be read, or that makes no sense in its context."""


class IllegalMoveError(InputError):
    """A move that the rules do not allow. ``why`` is the reason, or an empty string if none is given."""

    def __init__(self, problem: str, why: str = "", **parts: str) -> None:
        super().__init__(problem, **parts)
        self.why = why


class NoMoveError(InputError, IndexError):
    """A call to `pop` or `peek` on a board where no move has been made."""


class VariantError(InputError):
    """An unknown rule set, or an invalid variant file."""


class UncompiledError(InputError):
    """A board or a rule that the compiled engine does not support. The message lists what works without the engine."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(
            f"{name}: the compiled engine supports {what}; moves, apply, perft, replay, convert and "
            "games by hand or against the player random (play, serve) work without it"
        )


class UseError(TablutError, RuntimeError):
    """An invalid use of an object, such as copying it or calling it while another call is running."""


class UnknownError(TablutError):
    """A question that a search could not settle within its limits."""

    exit_code = 3


class OutputError(TablutError, OSError):
    """A file or folder that cannot be written under the given name."""


class MachineError(OutputError):
    """A failure of the machine, such as a full disk, a missing permission or lack of memory. Finished work is kept."""

    exit_code = 74


def input_failure(subject: str, error: OSError, remedy: str = "") -> TablutError:
    """Return the error for an unreadable file: a `MachineError`, or an `InputError` if the file name is wrong."""
    kind = InputError if error.errno in _WRONG_NAME else MachineError
    return kind(str(error.strerror or error), subject=subject, remedy=remedy)


def output_failure(subject: str, error: OSError, remedy: str = "") -> OutputError:
    """Return the error for an unwritable file: a `MachineError`, or an `OutputError` if the file name is wrong."""
    kind = OutputError if error.errno in _WRONG_NAME else MachineError
    return kind(str(error.strerror or error), subject=subject, remedy=remedy)


# -- helpers for messages: suggestions of names, and the errors of pydantic ----------------


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a suggestion of the known word most similar to an unknown word, or ``otherwise`` if none is similar."""
    from difflib import get_close_matches

    def plain(name: str) -> str:
        # Leading zeros do not matter: ashton-1 means ashton-01, not ashton-21. A common suffix makes no names similar.
        return re.sub(r"(?<!\d)0+(?=\d)", "", name.lower().removesuffix(suffix))

    suffix = PurePath(word[-80:].lower()).suffix
    names = {plain(name): name for name in known}
    found = get_close_matches(plain(word[:80]), names, n=1)
    return f"did you mean {names[found[0]]!r}?" if found else otherwise


_SAID = {"missing": "is missing", "extra_forbidden": "is not a known field", "json_invalid": "is not valid JSON"}
_KINDS = {
    "bool": "true or false",
    "dict": "an object",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "model": "an object",
    "string": "text",
    "tuple": "a list",
}
_LIMITS = {
    "greater_than_equal": "{ge:,} or more",
    "greater_than": "more than {gt:,}",
    "less_than_equal": "{le:,} at most",
    "string_pattern_mismatch": "text of the form {pattern}",
}
_VALUE = Repr()
_VALUE.maxstring = _VALUE.maxother = 80


def shown_value(value: Any) -> str:
    """Return a value for display in an error message, shortened if it is long or deeply nested."""
    words = {"None": "null", "True": "true", "False": "false"}
    return words.get(text := _VALUE.repr(value), text)


LARGEST: Final = 2**63 - 1
"""Largest whole number that compiled code can handle."""


def whole_number(parameter: str, value: object, least: float = 0, most: float = LARGEST) -> int:
    """Return an argument as an int; raise an error about its parameter unless it is a whole number in the range."""
    return int(_within(Integral, "a whole number", parameter, value, least, most))


def real_number(parameter: str, value: object, least: float = 0, most: float = 1e9) -> float:
    """Return an argument as a float or int; raise an error about its parameter unless it is in the range."""
    return _within(Real, "a number", parameter, value, least, most)


def _within(kind: type, name: str, parameter: str, value: Any, least: float, most: float) -> float:
    plain = type(value) is int or (isinstance(value, kind) and not isinstance(value, bool))  # the first test is fast
    if plain and least <= value <= most:
        return int(value) if isinstance(value, Integral) else float(value)
    above = f", {most:,} at most" if isinstance(value, (int, float)) and value > most else ""
    raise InputError(f"expected {name}, {least:,} or more{above}", parameter=parameter, value=shown_value(value))


SOME: Final = partial(whole_number, least=1)
"""Check of a whole number that must not be 0."""
SIGNED: Final = partial(whole_number, least=-LARGEST)
"""Check of a whole number of either sign, such as a seed."""
REAL: Final = partial(real_number, least=-1e9)
"""Check of a real number of either sign."""
MOST_THREADS: Final = 256
"""Maximum number of threads for any task. More threads would only wait for each other."""
THREADS: Final = partial(whole_number, least=1, most=MOST_THREADS)
"""Check of a number of threads."""
PORT: Final = partial(whole_number, most=65535)
"""Check of a port number. A server takes any free port if the number is 0."""
TIME: Final = partial(real_number, least=1e-9)
"""Check of a time limit in seconds, which must not be 0."""


def numbers(**checks: Callable[[str, Any], Any]) -> Callable[[Function], Function]:
    """Return a decorator that checks and converts the arguments of a function, except those that are None."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)

        @wraps(function)
        def checked(*arguments: Any, **named: Any) -> Any:
            bound = signature.bind(*arguments, **named)
            bound.arguments |= _checked(checks, bound.arguments)
            return function(*bound.args, **bound.kwargs)

        return cast("Function", checked)

    return decorate


def numbers_of(record: Record, **checks: Callable[[str, Any], Any]) -> Record:
    """Return a named tuple or dataclass with checked and converted fields, as `numbers` checks arguments."""
    values: Any = record
    found = _checked(checks, {name: getattr(values, name, None) for name in checks})
    return cast("Record", values._replace(**found) if hasattr(values, "_replace") else replace(values, **found))


def _checked(checks: Mapping[str, Callable[[str, Any], Any]], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: check(name, values[name]) for name, check in checks.items() if values.get(name) is not None}


def text_value(what: str, value: object) -> str:
    """Return an argument unchanged, or raise an error if it is not a string."""
    if not isinstance(value, str):
        raise InputError(f"{what} {shown_value(value)}: expected text")
    return value


def problem_of(detail: Mapping[str, Any], kinds: Mapping[str, str] = _KINDS) -> str:
    """Return the message for an error that pydantic found in a value. ``kinds`` maps error types to texts."""
    kind = detail["type"]
    if kind in _SAID:
        return kinds.get(kind, _SAID[kind])
    message = detail["msg"].removeprefix("Value error, ")
    if kind == "value_error" and not message.startswith("expected "):
        return str(message)
    if kind in _LIMITS:
        expected = _LIMITS[kind].format(**detail["ctx"])
    elif re.search("_(type|parsing|from_float)", kind) and (plain := kind.partition("_")[0]) in kinds:
        expected = kinds[plain]
    else:
        expected = re.sub("^(expected |.*? should (be|have) )| after validation.*", "", message)
    return f"expected {expected}, not {shown_value(detail['input'])}"


def fault_of(details: Sequence[Mapping[str, Any]], kinds: Mapping[str, str] = _KINDS) -> str:
    """Return the message for pydantic's first error, including its field and the number of further errors."""
    first, more = details[0], len(details) - 1
    field = ".".join(str(part) for part in first["loc"])
    named, others = f"field {shown_value(field)}: " if field else "", f" (and {more} more error{'s' * (more > 1)})"
    return named + problem_of(first, kinds) + (others if more else "")
