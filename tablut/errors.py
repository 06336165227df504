"""The errors of the toolkit: a shallow tree, each message naming the input and the way out; and words of messages.

On the command line every `TablutError` becomes one line on standard error; its class
gives the exit code.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from reprlib import Repr
from typing import Any

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
"""System errors that another name would avoid; all others are failures of the machine."""


class TablutError(Exception):
    """Base class of every error that the toolkit raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong, without the subject if the next two fields name it.
    parameter : str
        Name of the parameter that is to blame; empty if the message names its subject.
    value : object
        Value of that parameter.
    remedy : str
        What to do, if the message does not say it. Parameters stand between backquotes. The command line replaces
        them, and ``parameter``, by the options that the user knows.

    Attributes
    ----------
    exit_code : int
        Exit code of a command that ends with the error.
    parameter, value, remedy : str
        The fields above, as text.
    """

    exit_code = 2

    def __init__(self, message: str = "", *, parameter: str = "", value: object = "", remedy: str = "") -> None:
        super().__init__(message)
        self.parameter, self.value, self.remedy = parameter, str(value), remedy

    def __str__(self) -> str:
        return "; ".join(filter(None, [self.problem, self.remedy]))

    @property
    def problem(self) -> str:
        """The message without its remedy."""
        subject = f"{self.parameter} {self.value}".strip()
        return ": ".join(filter(None, [subject, super().__str__()]))

    def within(self, place: str) -> None:
        """Put the place of an error in front of its message.

        Parameters
        ----------
        place : str
            A file and line, or whatever else the error is about.
        """
        self.args = (f"{place}: {self.problem}",)
        self.parameter = self.value = ""

    def rename(self, name: Callable[[str], str | None]) -> None:
        """Replace the names of parameters in the error by those that a user interface has for them.

        Parameters
        ----------
        name : callable
            Takes a parameter and returns its name for users, or None if it has none.
        """
        self.parameter = name(self.parameter) or self.parameter
        self.remedy = re.sub("`([a-z_]+)`", lambda found: name(found[1]) or found[0], self.remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the fields; a copy is not made by the parameters of a class, which may be others."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[TablutError], arguments: tuple[Any, ...], fields: dict[str, Any]) -> TablutError:
    """Return a copy of an error; a system error would lose its arguments if only its class was asked for one."""
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(fields)
    return error


class InputError(TablutError, ValueError):
    """An input that cannot be read or makes no sense."""


class IllegalMoveError(InputError):
    """A move that the rules do not allow; the message carries the position.

    Attributes
    ----------
    why : str
        The reason alone; empty if the message is all there is to say.
    """

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message)
        self.why = why


class NoMoveError(InputError, IndexError):
    """A move taken back or asked for on a board on which none was made."""


class VariantError(InputError):
    """A rule set that is unknown, or a variant file that does not say what it must."""


class UncompiledError(InputError):
    """A board or a rule that the compiled rules do not hold; the message says what the plain ones answer."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(
            f"{name}: the compiled rules know {what}; by the plain ones go moves, apply, perft, replay, convert and "
            "games by hand or against the player random (play, serve)"
        )


class UseError(TablutError, RuntimeError):
    """A use that an object does not allow: a copy of it, or a call while it serves another one."""


class UnknownError(TablutError):
    """A question that is still open when the limits of the search ran out."""

    exit_code = 3


class OutputError(TablutError, OSError):
    """A file or folder that cannot be written under that name."""


class MachineError(OutputError):
    """The machine failed: a full disk, no permission, no memory, no answer at an address. Finished work is kept."""

    exit_code = 74


def input_failure(message: str, error: OSError) -> TablutError:
    """Return the error to raise where the system cannot read: an `InputError` if another name would help."""
    return InputError(message) if error.errno in _WRONG_NAME else MachineError(message)


def output_failure(message: str, error: OSError, remedy: str = "") -> OutputError:
    """Return the error to raise where the system cannot write: a `MachineError` unless another name would help."""
    return (OutputError if error.errno in _WRONG_NAME else MachineError)(message, remedy=remedy)


# -- words of messages: the nearest known name, and what a model of pydantic found wrong ---


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a question that names the known word nearest to an unknown one; ``otherwise`` if none is near."""
    from difflib import get_close_matches

    # A number is near to itself: ashton-1 means ashton-01, not ashton-21.
    plain = partial(re.sub, r"(?<!\d)0+(?=\d)", "")
    names = {plain(name.lower()): name for name in known}
    found = get_close_matches(plain(word[:80].lower()), names, n=1)
    return f"did you mean {names[found[0]]!r}?" if found else otherwise


_SAID = {"missing": "is missing", "extra_forbidden": "is no field here", "json_invalid": "is no JSON"}
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
    """Return a value from outside for an error message, however long or deep it is."""
    words = {"None": "null", "True": "true", "False": "false"}
    return words.get(text := _VALUE.repr(value), text)


def whole_number(parameter: str, value: object, least: int = 0) -> int:
    """Return a whole number that a caller gave, or raise an error about the parameter."""
    if not isinstance(value, Integral) or value < least:
        why = f"expected a whole number, {least:,} or more"
        raise InputError(why, parameter=parameter, value=shown_value(value))
    return int(value)


def text_value(what: str, value: object) -> str:
    """Return a text that a caller gave, or raise an error about what it should have been."""
    if not isinstance(value, str):
        raise InputError(f"{what} {shown_value(value)}: expected a text")
    return value


def problem_of(detail: Mapping[str, Any], kinds: Mapping[str, str] = _KINDS) -> str:
    """Return in our words what pydantic found wrong with a value; ``kinds`` names what it may have expected."""
    kind = detail["type"]
    if kind in _SAID:
        return kinds.get(kind, _SAID[kind])
    said = detail["msg"].removeprefix("Value error, ")
    if kind == "value_error" and not said.startswith("expected "):
        return str(said)
    if kind in _LIMITS:
        expected = _LIMITS[kind].format(**detail["ctx"])
    elif re.search("_(type|parsing|from_float)", kind) and (plain := kind.partition("_")[0]) in kinds:
        expected = kinds[plain]
    else:
        expected = re.sub("^(expected |.*? should (be|have) )| after validation.*", "", said)
    return f"expected {expected}, not {shown_value(detail['input'])}"


def fault_of(details: Sequence[Mapping[str, Any]], kinds: Mapping[str, str] = _KINDS) -> str:
    """Return in our words the first fault that pydantic found, with its field, and how many more there are."""
    first, more = details[0], len(details) - 1
    field = ".".join(str(part) for part in first["loc"])
    named, others = f"field {shown_value(field)}: " if field else "", f" (and {more} more error{'s' * (more > 1)})"
    return named + problem_of(first, kinds) + (others if more else "")
