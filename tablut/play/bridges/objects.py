"""Python classes, objects and functions as players, passed as values or named as ``MODULE:NAME``.

Such a player has a method ``choose(board, limits)``, or is a function with these parameters. It returns a `Move`, the
text of a move, or a `Choice`. An error that it raises loses its game and is reported with its place in the code.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol, cast

from tablut.board import Board
from tablut.cli.streams import one_line
from tablut.errors import InputError, TablutError, shown_value
from tablut.formats.reading import read_move
from tablut.play.bridges.programs import UnreadableMoveError
from tablut.play.players import Choice, PlayerOptions
from tablut.play.players.registry import bare_choice, read_settings, refuse_threads
from tablut.play.search.limits import SearchLimits
from tablut.position import Move
from tablut.variants import Variant
from tablut.work.files import excerpt

_EXPECTED: Final = "expected a class or an object with a method choose(board, limits), or a function of both"
_LONGEST_NAME: Final = 80


class Chooser(Protocol):
    """Protocol of a user's own player."""

    def choose(self, board: Board, limits: SearchLimits, /) -> Choice | Move | str:
        """Return a move in an undecided position.

        Parameters
        ----------
        board : Board
            Board with the game history. It is a copy, so it may be changed.
        limits : SearchLimits
            Limits for the move, such as ``limits.movetime`` in seconds.
        """


PlayerLike = str | Chooser | type[Chooser] | Callable[[Board, SearchLimits], Choice | Move | str]
"""Everything that can play: the text of a contestant, an object, a class, or a function."""


class PlayerError(InputError):
    """Error raised when a player written in Python has failed."""


def named_object(name: str) -> Any:
    """Import the module in ``MODULE:NAME``, and return the object with that name.

    As with ``python -m``, modules in the current folder are found, but they never hide installed ones.
    """
    module, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    subject = f"player {excerpt(name)}"
    try:
        return attrgetter(attribute)(import_module(module))
    except (Exception, SystemExit) as error:
        # Importing runs arbitrary code of the user, which may fail in any way.
        raise InputError(
            f"cannot be imported: {_described(error)}", subject=subject, remedy="name it as MODULE:CLASS"
        ) from error


def title_of(given: Any) -> tuple[str, str]:
    """Return the name of a player for results, and a longer name that identifies its code.

    An object can choose its name with an attribute ``name``, so that two objects of one class differ.
    """
    kind = given if hasattr(given, "__qualname__") else type(given)
    name = getattr(given, "name", None)
    title = one_line(name, _LONGEST_NAME) if isinstance(name, str) and name.strip() else kind.__qualname__
    place = f"{kind.__module__}:{kind.__qualname__}"
    return title, place if title == kind.__qualname__ else f"{place} {title}"


def chooser_of(given: Any, parameter: str = "player") -> Callable[..., Any]:
    """Return a player's function, which is unbound for a class. Raise InputError if the object is not a player."""
    choose: Any = getattr(given, "choose", None if isinstance(given, type) else given)
    fitting = callable(choose)
    with suppress(ValueError):  # some functions of extension modules have no signature
        try:
            if fitting:
                unbound = isinstance(given, type) and inspect.isfunction(inspect.getattr_static(given, "choose"))
                inspect.signature(choose).bind(*[None] * (2 + unbound))
        except TypeError:
            fitting = False
    if not fitting:
        raise InputError(_EXPECTED, parameter=parameter, value=shown_value(given))
    return cast("Callable[..., Any]", choose)


class PythonPlayer:
    """Player written in Python by a user, which is a class, an object or a function.

    A class gets the parameters ``variant`` and ``options`` if its constructor has parameters with these names.
    """

    def __init__(self, given: Any, name: str, variant: Variant, options: PlayerOptions) -> None:
        self.name = name
        choose = chooser_of(given)
        offered = {"variant": variant, "options": options}
        own: dict[str, Any] = {}
        if isinstance(given, type):
            with suppress(ValueError):
                own = {key: offered[key] for key in inspect.signature(given).parameters if key in offered}
        if "options" not in own:
            read_settings(name, options, {})
            refuse_threads(name, options)
        if isinstance(given, type):
            try:
                choose = given(**own).choose
            except TablutError:
                raise
            except (Exception, SystemExit) as error:
                raise InputError(
                    f"cannot be created: {_described(error)}", subject=f"player {excerpt(name)}"
                ) from error
        self._choose = choose

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the move that the user's code chooses."""
        try:
            answer = self._choose(board.copy(), limits)
        except (Exception, SystemExit) as error:
            raise PlayerError(_described(error), subject=f"player {excerpt(self.name)}") from error
        if isinstance(answer, str):
            with suppress(InputError):
                answer = read_move(answer, board.size).move
        if isinstance(answer, Move):
            return bare_choice(answer)
        if isinstance(answer, Choice) and [type(part) for part in (answer.move, answer.nodes)] == [Move, int]:
            return answer
        raise UnreadableMoveError(
            f"returned {shown_value(answer)}; expected a Move, its text or a Choice",
            subject=f"player {excerpt(self.name)}",
        )


def _described(error: BaseException) -> str:
    """Return an error as text, with its place in the code that the toolkit called."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if "importlib" not in frame.filename]
    lines = [frame for frame in own if frame.filename == own[0].filename]
    place = f" ({Path(lines[-1].filename).name}, line {lines[-1].lineno})" if lines else ""
    return one_line(f"{type(error).__name__}: {error}") + place
