"""Functions that load a built-in variant by its name, or a variant from a user's file by its path."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Final, TypeAlias

from tablut.errors import InputError, VariantError, did_you_mean, shown_value
from tablut.variants.model import Variant, later_rules
from tablut.variants.schema import NAME_LENGTH, parse_variant
from tablut.work.files import beside, excerpt, read_text

VariantLike: TypeAlias = "Variant | str | os.PathLike[str]"
"""Types that `as_variant` accepts."""
FILE_BYTES: Final = 64 << 10
"""Maximum size of a variant file in bytes. Built-in files contain about a thousand bytes."""

_DATA = resources.files("tablut.variants") / "data"

# The names are ordered as follows: the full rule sets, in the order of the documentation; the reduced boards; and the
# tafl games that people play today. These games come last, so that the numbers of the other rule sets in published
# sequences do not change.
_FULL = ("ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh")
_FAMILY = (
    "copenhagen",
    "fetlar",
    "brandubh-federation",
    "saami-tablut",
    "tawlbwrdd",
    "tawlbwrdd-throneless",
    "sea-battle-9",
    "sea-battle-11",
    "alea-evangelii",
)


@lru_cache(maxsize=1)
def variant_names() -> tuple[str, ...]:
    """Return the names of the variants that ship with the package.

    Returns
    -------
    tuple of str
        Names of the six full rule sets, followed by the reduced boards in alphabetical order and by the tafl games
        that people play today.

    Examples
    --------
    >>> variant_names()[:3]
    ('ashton', 'bologna', 'mcgill')
    """
    found = {entry.name.removesuffix(".toml") for entry in _DATA.iterdir() if entry.name.endswith(".toml")}
    return _FULL + tuple(sorted(found.difference(_FULL, _FAMILY))) + _FAMILY


def shipped_variants() -> tuple[Variant, ...]:
    """Return every variant that ships with the package, in the order of `variant_names`."""
    return tuple(load_variant(name) for name in variant_names())


def older_variants() -> tuple[Variant, ...]:
    """Return the built-in variants that use none of the `later_rules`. The whole toolkit supports these variants."""
    return tuple(variant for variant in shipped_variants() if not later_rules(variant))


def shipped_name(variant: Variant) -> str | None:
    """Return the name of the built-in variant with the same rules as a given variant, or None for custom rules.

    Parameters
    ----------
    variant : Variant
        Any rule set. Its name is not trusted, because a variant may have the name of a built-in variant
        but different rules.

    Returns
    -------
    str or None
        One of `variant_names`, or None.

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


def shipped_variant(name: str) -> Variant:
    """Return a built-in variant by its name, in upper or lower case. Paths are not accepted.

    Use this function for names that were read from files, so that a file cannot cause another file to be opened.

    Parameters
    ----------
    name : str
        Name of a built-in variant, not a path.

    Returns
    -------
    Variant
        The variant, validated and frozen.

    Raises
    ------
    VariantError
        If there is no built-in variant with this name.

    Examples
    --------
    >>> shipped_variant("Ashton").name
    'ashton'
    >>> shipped_variant("/dev/zero")
    Traceback (most recent call last):
        ...
    tablut.errors.VariantError: variant '/dev/zero': no such rule set; `tablut variants` lists them
    """
    if (known := name.lower()) in variant_names():
        return _shipped(known)
    hint = did_you_mean(name, variant_names(), "`tablut variants` lists them")
    raise VariantError("no such rule set", subject=f"variant {excerpt(name)}", remedy=hint)


def load_variant(name: str) -> Variant:
    """Load a built-in variant by its name, or a variant from a TOML file.

    Parameters
    ----------
    name : str
        One of `variant_names`, in upper or lower case, or a path. A string that ends in ``.toml`` or contains a path
        separator is treated as a path.

    Returns
    -------
    Variant
        The variant, validated and frozen.

    Raises
    ------
    VariantError
        If no such variant or file exists, or if the file is invalid.
    MachineError
        If the system cannot read the file.

    Examples
    --------
    >>> load_variant("ashton").attackers
    16
    >>> load_variant("asthon")
    Traceback (most recent call last):
        ...
    tablut.errors.VariantError: variant 'asthon': no such rule set; did you mean 'ashton'?
    """
    if not isinstance(name, str):
        return as_variant(name)
    path = Path(name)
    if path.suffix.lower() == ".toml" or "/" in name or os.sep in name:
        return _from_file(path)
    if name.lower() not in variant_names() and os.path.isfile(name):  # noqa: PTH113  # Path.is_file may raise
        raise VariantError(
            "no such rule set",
            subject=f"variant {excerpt(name)}",
            remedy=f"write {excerpt('./' + name)} to load the file",
        )
    return shipped_variant(name)


def as_variant(value: VariantLike) -> Variant:
    """Return the variant for a `Variant`, a built-in name or the path to a file.

    Every function in the toolkit that takes a rule set accepts these kinds of values.

    Parameters
    ----------
    value : Variant, str or path-like
        A variant is returned unchanged. A string is interpreted by `load_variant`. A path object always means a file.

    Returns
    -------
    Variant
        The variant, validated and frozen.

    Raises
    ------
    VariantError
        If the value has another type, or if `load_variant` raises this error.

    Examples
    --------
    >>> as_variant("ashton") is as_variant(as_variant("ashton"))
    True
    >>> as_variant(9)
    Traceback (most recent call last):
        ...
    tablut.errors.VariantError: variant 9: expected a Variant, a name such as 'ashton', or the path of a TOML file
    """
    if isinstance(value, Variant):
        return value
    if isinstance(value, str):
        return load_variant(value)
    if isinstance(value, os.PathLike):
        return _from_file(Path(value))
    way = "expected a Variant, a name such as 'ashton', or the path of a TOML file"
    raise VariantError(way, subject=f"variant {shown_value(value)}")


def is_own_name(variant: Variant) -> bool:
    """Return whether a variant's name is unambiguous, that is, not the name of a built-in variant with other rules."""
    name = variant.name.lower()
    return name not in variant_names() or variant.same_game(_shipped(name))


def check_known(variant: Variant, who: str, unknown: Collection[str] | None = None) -> None:
    """Raise `VariantError` if a variant uses later rules that a part of the toolkit, ``who``, does not support.

    ``unknown`` contains the names of the unsupported rules. By default, all `later_rules` are unsupported.
    """
    if unknown := [rule for rule in later_rules(variant) if unknown is None or rule in unknown]:
        raise VariantError(f"{who} does not support {', '.join(unknown)} yet", subject=f"variant {variant.name!r}")


def _from_file(path: Path) -> Variant:
    try:
        text = read_text(path, "variant file", FILE_BYTES, pipes=True)
    except InputError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        raise VariantError(f"{error}{_other_file(path) if missing else ''}") from error
    variant = parse_variant(text, name=_file_name(path), origin=str(path))
    if not is_own_name(variant):
        raise VariantError(
            f"field 'name': {variant.name!r} is a built-in rule set with other rules",
            subject=str(path),
            remedy="choose another name",
        )
    return variant


def _file_name(path: Path) -> str:
    """Return the default name of a variant whose file has no field ``name``. No built-in variant has this name."""
    stem = path.stem[:NAME_LENGTH]
    if not stem.isprintable() or not stem:
        return "unnamed"
    return f"{stem}.toml" if stem.lower() in variant_names() else stem


def _other_file(path: Path) -> str:
    """Return a hint for a missing file: a file with a similar name in the same folder, or a built-in variant."""
    files = [entry.name for entry in beside(path) if entry.suffix.lower() == ".toml"]
    hint = did_you_mean(path.name, files) or did_you_mean(path.stem, variant_names())
    return hint and f"; {hint}"
