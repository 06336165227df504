"""Completion on the tab key: the script for each shell, and the answers that it gets."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from tablut.errors import InputError, output_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["complete", "completion", "player_names_from", "variant_names_from"]


def completion(shell: str, shells: Sequence[str], *, install: bool) -> str:
    """Install completion for a shell, or return the script that does it.

    Parameters
    ----------
    shell : str
        Its name; empty for the one that the program was started from.
    shells : sequence of str
        The names that there are.
    install : bool
        Put the script where the shell finds it.

    Returns
    -------
    str
        What to print.

    Raises
    ------
    InputError
        If it is none of them, or the shell that asks cannot be determined.
    OutputError
        If it cannot be installed.
    """
    typers: Any = import_module("typer.completion")
    name = shell or _asking()
    option = "--install-completion" if install else "--show-completion"
    if name not in shells:
        what = f"{name!r} is not a shell with completion" if name else "cannot tell which shell asks"
        raise InputError(f"{option}: {what}; name one: {', '.join(shells)}")
    if not install:
        return str(typers.get_completion_script(prog_name="tablut", complete_var="_TABLUT_COMPLETE", shell=name))
    try:
        _, path = typers.install(shell=name, prog_name="tablut", complete_var="_TABLUT_COMPLETE")
    except OSError as error:
        raise output_failure(f"{option}: {error.filename or ''}: {error.strerror}", error) from error
    return f"completion for {name} is in {path}; it takes effect in a new terminal"


def _asking() -> str:
    """Return the name of the shell that the program was started from; empty if there is none."""
    import shellingham  # type: ignore[import-untyped]

    try:
        return str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        return ""


def complete(group: Any, variable: str) -> NoReturn:
    """Answer a shell that asks how the line goes on, and exit; nothing else is ever printed.

    Parameters
    ----------
    group : click.Group
        The commands.
    variable : str
        The environment variable that holds the question.
    """
    import_module("typer.completion").completion_init()
    try:
        group.main([], "tablut", complete_var=variable)
        sys.exit(0)
    except Exception:
        # Half a line often makes no sense to a command; this is not the place to report that.
        if os.environ.get("TABLUT_TRACE"):
            raise
        sys.exit(0)


def variant_names_from(incomplete: str) -> list[str]:
    """Return the shipped rule sets whose names begin so, for ``autocompletion=``.

    Parameters
    ----------
    incomplete : str
        What the user has typed.

    Returns
    -------
    list of str
        In the order of `tablut.variants.variant_names`.

    Examples
    --------
    >>> variant_names_from("b")
    ['bologna', 'berkeley', 'brandubh', 'brandubh-5-4v0', 'brandubh-5-4v4', 'brandubh-7-4v1']
    """
    from tablut.variants import variant_names

    return [name for name in variant_names() if name.startswith(incomplete)]


def player_names_from(incomplete: str) -> list[str]:
    """Return the players whose names begin so, for ``autocompletion=``.

    Parameters
    ----------
    incomplete : str
        What the user has typed.

    Returns
    -------
    list of str
        In the order of `tablut.play.players.player_names`.

    Examples
    --------
    >>> player_names_from("a")
    ['alphabeta']
    """
    from tablut.play.players import player_names

    return [name for name in player_names() if name.startswith(incomplete)]
