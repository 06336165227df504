"""The errors of the toolkit: a shallow tree, each message naming the input and the way out.

On the command line every `TablutError` becomes one line on standard error and
exit code 2.
"""

__all__ = ["IllegalMoveError", "InputError", "OutputError", "TablutError", "VariantError"]


class TablutError(Exception):
    """Base class of everything that the toolkit refuses."""


class InputError(TablutError, ValueError):
    """An input that cannot be read or makes no sense."""


class IllegalMoveError(InputError):
    """A move that the rules do not allow; the message carries the position."""


class VariantError(InputError):
    """A rule set that is unknown, or a variant file that does not say what it must."""


class OutputError(TablutError, OSError):
    """A file or folder that cannot be written."""
