"""Finding variants: by shipped name, or by the path of a user's file."""

from __future__ import annotations

import difflib
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from tablut.errors import VariantError
from tablut.variants.schema import parse_variant

if TYPE_CHECKING:
    from tablut.variants.model import Variant

__all__ = ["load_variant", "shipped_name", "shipped_variants", "variant_names"]

_DATA = resources.files("tablut.variants") / "data"

# The full sets in the order of the documentation, then the reduced boards.
_FULL = ("ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh")


@lru_cache(maxsize=1)
def variant_names() -> tuple[str, ...]:
    """Return the names of the variants that ship with the package.

    Returns
    -------
    tuple of str
        The six full rule sets first, then the reduced boards in alphabetical order.

    Examples
    --------
    >>> variant_names()[:3]
    ('ashton', 'bologna', 'mcgill')
    """
    found = {entry.name.removesuffix(".toml") for entry in _DATA.iterdir() if entry.name.endswith(".toml")}
    return _FULL + tuple(sorted(found.difference(_FULL)))


def shipped_variants() -> tuple[Variant, ...]:
    """Return every variant that ships with the package, in the order of `variant_names`."""
    return tuple(load_variant(name) for name in variant_names())


def shipped_name(variant: Variant) -> str | None:
    """Return the name by which others find the same game: that of a variant that ships; None for rules of one's own.

    Parameters
    ----------
    variant : Variant
        Its own name plays no part: a user's file may be called after a shipped one, and say something else.

    Examples
    --------
    >>> from dataclasses import replace
    >>> ashton = load_variant("ashton")
    >>> shipped_name(ashton), shipped_name(replace(ashton, rules=load_variant("leiden").rules))
    ('ashton', None)
    """
    own = [variant.name] if variant.name in variant_names() else []
    return next((name for name in (*own, *variant_names()) if load_variant(name).same_game(variant)), None)


@cache
def _shipped(name: str) -> Variant:
    text = (_DATA / f"{name}.toml").read_text(encoding="utf-8")
    return parse_variant(text, name=name, origin=f"{name}.toml")


def load_variant(name: str) -> Variant:
    """Return a variant by shipped name or by the path of a TOML file.

    Parameters
    ----------
    name : str
        A name of `variant_names`, or a path: anything that ends in ``.toml`` or
        contains a path separator.

    Returns
    -------
    Variant
        Validated and frozen.

    Raises
    ------
    VariantError
        If no such variant or file exists, or the file is not valid.

    Examples
    --------
    >>> load_variant("ashton").attackers
    16
    >>> load_variant("asthon")
    Traceback (most recent call last):
        ...
    tablut.errors.VariantError: variant 'asthon': no such rule set; did you mean 'ashton'? ...
    """
    if name in variant_names():
        return _shipped(name)
    path = Path(name)
    if path.suffix == ".toml" or len(path.parts) > 1:
        return _from_file(path)
    close = difflib.get_close_matches(name, variant_names(), n=1)
    hint = f"did you mean {close[0]!r}? (`tablut variants` lists them)" if close else "`tablut variants` lists them"
    raise VariantError(f"variant {name!r}: no such rule set; {hint}")


def _from_file(path: Path) -> Variant:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise VariantError(f"variant file {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise VariantError(f"variant file {str(path)!r}: not a UTF-8 text file") from error
    return parse_variant(text, name=path.stem, origin=str(path))
