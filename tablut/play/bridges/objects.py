"""Python classes, objects and functions as players, passed as values or named as ``MODULE:NAME``.

A player's ``choose(board, limits)`` returns a `Move`, the text of a move, or a `Choice`. An error that it raises loses
its game and is reported with its place in the code.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol, cast

from tablut.board import Board
from tablut.cli.streams import one_line
from tablut.errors import LARGEST, InputError, numbers_of, real_number, shown_value, whole_number
from tablut.formats.reading import read_move
from tablut.play.bridges.programs import UnreadableMoveError
from tablut.play.players import Choice, PlayerOptions
from tablut.play.players.registry import bare_choice, read_settings, refuse_threads
from tablut.play.search.limits import SearchLimits
from tablut.position import Move
from tablut.variants import Variant
from tablut.work.files import excerpt

_SIGNED: Final = partial(whole_number, least=-LARGEST)
_PARTS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "score": _SIGNED,
    "mate": _SIGNED,
    "depth": whole_number,
    "nodes": whole_number,
    "points": partial(real_number, most=1),
}
"""Checks of the numbers in a choice. The other parts, apart from the moves, are not used."""
_EXPECTED: Final = "expected a class or an object with a method choose(board, limits), or a function of both"


class Chooser(Protocol):
    """Protocol of a user's own player."""

    def choose(self, board: Board, limits: SearchLimits, /) -> Choice | Move | str:
        """Return a move in an undecided position. The board is a copy with the game history, so it may be changed."""


PlayerLike = str | Chooser | type[Chooser] | Callable[[Board, SearchLimits], Choice | Move | str]
"""Everything that can play: the text of a contestant, an object, a class, or a function."""


class PlayerError(InputError):
    """Error raised when a player written in Python has failed."""


def named_object(name: str) -> Any:
    """Import the module in ``MODULE:NAME``, and return the object. The current folder never hides installed modules."""
    module, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return attrgetter(attribute)(import_module(module))
    except (Exception, SystemExit) as error:  # importing runs arbitrary code, which may fail in any way
        raise _failure(name, f"cannot be imported: {_described(error)}", "name it as MODULE:CLASS") from error


def title_of(given: Any) -> tuple[str, str]:
    """Return the name of a player for results, and a longer name that identifies its code."""
    kind = given if hasattr(given, "__qualname__") else type(given)
    name = getattr(given, "name", None)
    title = one_line(name, 80) if isinstance(name, str) and name.strip() else kind.__qualname__
    place = f"{kind.__module__}:{kind.__qualname__}"
    return title, place if title == kind.__qualname__ else f"{place} {title}"


def chooser_of(given: Any, parameter: str = "player") -> Callable[..., Any]:
    """Return a player's function, which is unbound for a class. Raise InputError if the object is not a player."""
    kind = inspect.getattr_static(given, "choose", None) if isinstance(given, type) else given
    choose: Any = getattr(given, "choose", None if isinstance(given, type) else given)
    try:
        with suppress(ValueError):  # some functions of extension modules have no signature
            inspect.signature(choose).bind(*[None] * (2 + (isinstance(given, type) and inspect.isfunction(kind))))
    except TypeError:
        raise InputError(_EXPECTED, parameter=parameter, value=shown_value(given)) from None
    return cast("Callable[..., Any]", choose)


class PythonPlayer:
    """Player written in Python by a user, which is a class, an object or a function."""

    def __init__(self, given: Any, name: str, variant: Variant, options: PlayerOptions) -> None:
        self.name, choose, own = name, chooser_of(given), {}
        if isinstance(given, type):
            offered = {"variant": variant, "options": options}
            own = {key: offered[key] for key in inspect.signature(given).parameters if key in offered}
        if "options" not in own:
            read_settings(name, options, {})
            refuse_threads(name, options)
        if isinstance(given, type):
            try:
                choose = given(**own).choose
            except (Exception, SystemExit) as error:
                raise _failure(name, f"cannot be created: {_described(error)}") from error
        self._choose = choose

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the move that the user's code chooses."""
        try:
            answer = self._choose(board.copy(), limits)
        except (Exception, SystemExit) as error:
            raise _failure(self.name, _described(error)) from error
        if isinstance(answer, str):
            with suppress(InputError):
                answer = read_move(answer, board.size).move
        if isinstance(answer, Move):
            return bare_choice(answer)
        subject, problem = f"player {excerpt(self.name)}", f"returned {shown_value(answer)}"
        if isinstance(answer, Choice) and isinstance(answer.move, Move) and None not in (answer.depth, answer.nodes):
            try:
                found = numbers_of(answer, **_PARTS)
            except InputError as error:
                raise UnreadableMoveError(f"{problem}; {error}", subject=subject) from error
            if isinstance(found.pv, tuple) and all(isinstance(move, Move) for move in found.pv):
                return bare_choice(found.move)._replace(**{name: getattr(found, name) for name in ("pv", *_PARTS)})
        raise UnreadableMoveError(f"{problem}; expected a Move, its text or a Choice", subject=subject)


def _failure(name: str, problem: str, remedy: str = "") -> PlayerError:
    return PlayerError(problem, subject=f"player {excerpt(name)}", remedy=remedy)


def _described(error: BaseException) -> str:
    """Return an error as text, with its place in the code that the toolkit called."""
    frames = [one for one in traceback.extract_tb(error.__traceback__)[1:] if "importlib" not in one.filename]
    lines = [one for one in frames if one.filename == frames[0].filename]
    place = f" ({Path(lines[-1].filename).name}, line {lines[-1].lineno})" if lines else ""
    return one_line(f"{type(error).__name__}: {error}") + place
