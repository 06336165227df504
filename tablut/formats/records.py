"""One reader for game records of every kind, and one writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.errors import InputError
from tablut.files import excerpt
from tablut.formats.bologna_logs import looks_like_log, read_log
from tablut.formats.game_record import GameRecord
from tablut.formats.native import read_native, write_native
from tablut.formats.opentafl_records import looks_like_otg, read_game
from tablut.variants import as_variant

if TYPE_CHECKING:
    from tablut.variants import VariantLike

__all__ = ["GameRecord", "read_record", "write_record"]


def read_record(text: str | bytes, variant: VariantLike | None = None, *, origin: str = "") -> GameRecord:
    r"""Return the game of a record of any of the three kinds.

    Parameters
    ----------
    text : str or bytes
        A record of our own, one of OpenTafl, or a game log of Bologna's server. Bytes are
        read as UTF-8; a log that is not UTF-8 as Latin-1, which older servers wrote.
    variant : Variant, str or path-like, optional
        Rules to take instead of those that the record names; where they differ, ``warnings``
        of the record says so. If the record has the digest of its rules, they must match it.
    origin : str
        What error messages call a text that is no record at all: a file's name. By default its beginning.

    Returns
    -------
    GameRecord
        Its moves need not be legal; see `tablut.formats.replay`.

    Raises
    ------
    InputError
        If the text is none of these; or naming what is wrong with it.

    Examples
    --------
    >>> read_record('[Variant "ashton"]\n1. e4-f4').moves[0].move.target
    32
    >>> read_record("once upon a time")
    Traceback (most recent call last):
        ...
    tablut.errors.InputError: record 'once upon a time': expected tags such as [Variant "ashton"], ...
    """
    if isinstance(text, bytes):
        text = _decoded(text, origin)
    text = text.removeprefix("\ufeff")
    rules = None if variant is None else as_variant(variant)
    if looks_like_log(text):
        return read_log(text, rules)
    if looks_like_otg(text):
        return read_game(text, rules)
    if variant is None and not text.lstrip().startswith("["):
        kinds = 'tags such as [Variant "ashton"], an OpenTafl record or a Bologna log'
        shown = excerpt(origin) if origin else excerpt(text.strip(), 40)
        raise InputError(f"record {shown}: expected {kinds}")
    return read_native(text, rules)


def _decoded(content: bytes, origin: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = content.decode("latin-1")
        if not looks_like_log(text.replace("\r\n", "\n")):
            shown = f"record {excerpt(origin)}" if origin else "record"
            raise InputError(f"{shown}: not a UTF-8 text file") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_record(record: GameRecord) -> str:
    """Return the text of a record in our own format.

    Parameters
    ----------
    record : GameRecord
        The game.

    Returns
    -------
    str
        The text, a line feed at its end.

    Raises
    ------
    InputError
        If the format cannot hold it.

    Examples
    --------
    >>> print(write_record(read_record('[Variant "ashton"] 1. e4f4')), end="")
    [Variant "ashton"]
    <BLANKLINE>
    1. e4-f4
    *
    """
    return write_native(record)
