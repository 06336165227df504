"""What a player may be told when it is made, and how it reads the settings that are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tablut.errors import InputError
from tablut.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SHIPPED_TABLE_MIB", "PlayerOptions", "Setting", "parse_settings", "read_settings"]

SHIPPED_TABLE_MIB: Final = 32
"""Memory for what search loads of the tables that ship: every tier of up to four men, in 35 ms."""


class PlayerOptions(NamedTuple):
    """Settings that a player takes as far as they concern it.

    Attributes
    ----------
    seed : int
        Of everything random in it.
    hash_mib : int
        Memory for transpositions, or for the states of a Monte Carlo player.
    tablebase : str or None
        A store to probe; by default what ships with the installed packages.
    table_mib : int
        Memory for tables that search probes; what does not fit is probed at the root alone. Of what ships
        `SHIPPED_TABLE_MIB` at most, which is every tier of up to four men.
    settings : tuple of (str, str)
        What only this player knows: names and values. A player refuses a name that it does not know.
    threads : int
        That search at once, by a player that can use them.
    """

    seed: int = 0
    hash_mib: int = 64
    tablebase: str | None = None
    table_mib: int = 512
    settings: tuple[tuple[str, str], ...] = ()
    threads: int = 1

    @property
    def text(self) -> str:
        """All of it in one line; threads only where there are several, since matches were kept before there were."""
        said = self._asdict()
        if self.threads == 1:
            del said["threads"]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said.items())})"


class Setting(NamedTuple):
    """A setting that a player declares.

    Attributes
    ----------
    default : str, int or float
        Its value if nothing is said; a value given is read as one of the same type.
    choices : tuple of str
        The values of a text; none of a number.
    least, most : float
        The range of a number.
    """

    default: str | int | float
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 1_000_000

    def read(self, name: str, text: str) -> str | int | float:
        """Return the value that a text gives.

        Parameters
        ----------
        name : str
            Of the setting, for the message.
        text : str
            Its value.

        Returns
        -------
        str, int or float
            Of the type of the default.

        Raises
        ------
        InputError
            If it is no value of the setting.

        Examples
        --------
        >>> Setting(8, least=1, most=512).read("depth", "12")
        12
        >>> Setting("root", ("root", "leaf")).read("from", "top")
        Traceback (most recent call last):
            ...
        tablut.errors.InputError: option from='top': expected root or leaf
        """
        if self.choices:
            if text not in self.choices:
                raise InputError(f"option {name}={excerpt(text)}: expected {' or '.join(self.choices)}")
            return text
        try:
            value = type(self.default)(text)
        except (ValueError, OverflowError):
            value = None
        # A NaN is in no range.
        if value is None or not self.least <= float(value) <= self.most:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise InputError(f"option {name}={excerpt(text)}: expected {kind} from {self.least:g} to {self.most:g}")
        return value


def read_settings(player: str, options: PlayerOptions, declared: Mapping[str, Setting]) -> dict[str, str | int | float]:
    """Return the value of each setting that a player declares; the last one given counts.

    Parameters
    ----------
    player : str
        Its name, for the message.
    options : PlayerOptions
        With what was said.
    declared : mapping of str to Setting
        What it knows.

    Returns
    -------
    dict of str to str, int or float
        All that are declared.

    Raises
    ------
    InputError
        If a name is unknown, or a value is none of its setting.

    Examples
    --------
    >>> read_settings("payoff", PlayerOptions(settings=(("own", "50"),)), {"own": Setting(60), "other": Setting(30)})
    {'own': 50, 'other': 30}
    """
    values = {name: setting.default for name, setting in declared.items()}
    for name, text in options.settings:
        if name not in declared:
            known = f"its options are {', '.join(declared)}" if declared else "it has none"
            raise InputError(f"option {excerpt(name)}: unknown to player {player}; {known}")
        values[name] = declared[name].read(name, text)
    return values


def parse_settings(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and values of texts ``name=value``.

    Parameters
    ----------
    texts : sequence of str
        Any number of them.

    Returns
    -------
    tuple of (str, str)
        For `PlayerOptions.settings`.

    Raises
    ------
    InputError
        If one has no ``=``, or no name before it.

    Examples
    --------
    >>> parse_settings(["depth=8", "c=1.4"])
    (('depth', '8'), ('c', '1.4'))
    """
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"option {excerpt(text)}: expected NAME=VALUE")
        found.append((name.strip(), value.strip()))
    return tuple(found)
