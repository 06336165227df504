"""Lines that a person types, or that come from a pipe; and what was probably meant by one that is nothing."""

from __future__ import annotations

import sys
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from tablut.errors import InputError, input_failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tablut.cli.live import Live

__all__ = ["LineReader", "did_you_mean"]

_LONGEST: Final = 10_000


class LineReader:
    """Asks for lines on standard input.

    Parameters
    ----------
    live : Live
        Where the prompt goes.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._typed = sys.stdin.isatty() and sys.stdout.isatty() and live.watched
        if self._typed:
            # Editing and earlier lines for `input`, where the system has them.
            with suppress(ImportError):
                import readline  # noqa: F401

    def ask(self, prompt: str) -> str | None:
        """Return the next line without its end; None if there is none any more.

        Parameters
        ----------
        prompt : str
            Shown before it.

        Returns
        -------
        str or None
            Trimmed.

        Raises
        ------
        InputError
            If it has more than 10,000 characters, or is no text.
        """
        try:
            if self._typed:
                return input(prompt).strip()
            line = sys.stdin.readline(_LONGEST + 1)
        except EOFError:
            self._live.print()
            return None
        except UnicodeDecodeError as error:
            raise InputError("standard input: not a UTF-8 text") from error
        except OSError as error:
            raise input_failure(f"standard input: {error.strerror or error}", error) from error
        if not line:
            return None
        if len(line) > _LONGEST:
            raise InputError(f"standard input: has a line of more than {_LONGEST:,} characters")
        # Nobody saw it being typed.
        self._live.print(prompt + line.strip())
        return line.strip()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question about the nearest known word, empty if none is near.

    Parameters
    ----------
    word : str
        What was typed.
    known : iterable of str
        What could have been meant.

    Returns
    -------
    str
        To be put behind a message.

    Examples
    --------
    >>> did_you_mean("hlep", ["help", "hint"]), did_you_mean("xyz", ["help"])
    (", did you mean 'help'?", '')
    """
    found = get_close_matches(word[:40].lower(), list(known), n=1)
    return f", did you mean {found[0]!r}?" if found else ""
