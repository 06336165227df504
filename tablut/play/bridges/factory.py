"""Creation of players from their names, which may also stand for external programs and Python objects.

A player is named by its name in the registry, by a protocol and a command, such as ``program:COMMAND``, or by a module
and a class, such as ``MODULE:CLASS``.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tablut.errors import InputError
from tablut.play.players import Player, PlayerOptions, make_player
from tablut.play.players.registry import ready_player
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tablut.play.bridges.programs import IdlePrograms, Words
    from tablut.play.bridges.uci import Front
    from tablut.variants import Variant

PROTOCOLS: Final = ("program", "otep", "taflzero", "htp")
"""Names of the protocols. The player ``PROTOCOL:COMMAND`` is an external program that uses the named protocol."""

_OBJECT: Final = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
"""Name of a Python object as a player: ``MODULE:NAME``."""


def program_of(name: str) -> tuple[type[Words], str] | None:
    """Return the protocol and the command in a name such as ``program:COMMAND``, or None for any other name."""
    protocol, colon, command = name.partition(":")
    if not colon or protocol not in PROTOCOLS:
        return None
    from tablut.play.bridges.htp import HtpWords
    from tablut.play.bridges.otep import OtepWords
    from tablut.play.bridges.uci import TaflZeroWords, UciWords

    return dict(zip(PROTOCOLS, (UciWords, OtepWords, TaflZeroWords, HtpWords), strict=True))[protocol], command


def names_object(name: str) -> bool:
    """Return whether a player's name is that of a Python object, ``MODULE:NAME``."""
    return program_of(name) is None and _OBJECT.fullmatch(name) is not None


def front_of(protocol: str) -> type[Front]:
    """Return the class that implements a third-party protocol for the toolkit's engine."""
    from tablut.play.bridges.htp import HtpFront
    from tablut.play.bridges.otep import OtepFront
    from tablut.play.bridges.uci import TaflZeroFront

    return {"otep": OtepFront, "taflzero": TaflZeroFront, "htp": HtpFront}[protocol]


def player_from_name(
    name: str,
    variant: Variant,
    options: PlayerOptions,
    idle: IdlePrograms | None = None,
    *,
    ready: bool = False,
    given: Any = None,
) -> Player:
    """Return a new player: a registered one, a newly started program, or a Python object, named or ``given``.

    With the setting ``book``, the player begins with moves from a book.
    """
    plain, book = options.split_book()
    if book:
        from tablut.play.book import BookPlayer

        player = player_from_name(name, variant, plain, idle, ready=ready, given=given)
        return BookPlayer(player, variant, book, options.seed)
    found = program_of(name)
    if given is not None or names_object(name):
        from tablut.play.bridges.objects import PythonPlayer, named_object

        return PythonPlayer(named_object(name) if given is None else given, name, variant, options)
    if found is None:
        if {" ", ".", "/"}.intersection(name):
            raise InputError(
                "does not exist", subject=f"player {excerpt(name)}", remedy="start a program with program:COMMAND"
            )
        return (ready_player if ready else make_player)(name, variant, options)
    from tablut.play.bridges.programs import ProgramPlayer

    return ProgramPlayer(*found, variant, options, idle)


@contextmanager
def player_for(name: str, variant: Variant, options: PlayerOptions, *, ready: bool = False) -> Iterator[Player]:
    """Yield the player with the given name, and close it afterwards.

    The name is in the registry or describes an external program, as in ``program:COMMAND``, or a Python class, as in
    ``MODULE:CLASS``. If ``ready`` is true, the player's kernels are compiled or loaded first. The name can run
    arbitrary code, so it must come from a user of this machine and never from the network.
    """
    player = player_from_name(name, variant, options, ready=ready)
    try:
        yield player
    finally:
        close_player(player)


def name_of(player: Player, requested: str) -> str:
    """Return the name that an external program reports. For all other players, return the requested name."""
    return getattr(player, "name", "") or requested


def close_player(player: Player) -> None:
    """Release a player's resources, such as a process. Most players have no such resources."""
    close = getattr(player, "close", None)
    if close is not None:
        close()
