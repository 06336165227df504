"""The errors of the toolkit: a shallow tree, each message naming the input and the way out.

On the command line every `TablutError` becomes one line on standard error; its class
gives the exit code.
"""

from __future__ import annotations

import errno

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
    """Base class of everything that the toolkit refuses.

    Attributes
    ----------
    exit_code : int
        That of a command which ends with the error.
    """

    exit_code = 2


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


class VariantError(InputError):
    """A rule set that is unknown, or a variant file that does not say what it must."""


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


def output_failure(message: str, error: OSError) -> OutputError:
    """Return the error to raise where the system cannot write: a `MachineError` unless another name would help."""
    return OutputError(message) if error.errno in _WRONG_NAME else MachineError(message)
