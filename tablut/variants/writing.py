"""The text of a variant file, written from a `Variant`: what `tablut.variants.schema` reads, the other way round."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tablut.variants.rules import rule_fields
from tablut.variants.schema import FORMAT

if TYPE_CHECKING:
    from tablut.variants.model import Variant

__all__ = ["write_variant"]


def write_variant(variant: Variant) -> str:
    """Return the text of a variant file.

    Parameters
    ----------
    variant : Variant
        A rule set, wherever it comes from.

    Returns
    -------
    str
        TOML; read again it is equal to the variant. Comments of a file that it was read from are not kept.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> from tablut.variants.schema import parse_variant
    >>> ashton = load_variant("ashton")
    >>> parse_variant(write_variant(ashton), name="any", origin="text") == ashton
    True
    """
    head: dict[str, Any] = {"format": FORMAT, "name": variant.name, "title": variant.title, "source": variant.source}
    lines = [f"{name} = {_toml(value)}" for name, value in head.items()]
    for name, rows in (("terrain", variant.terrain), ("start", variant.start)):
        lines += ["", f'{name} = """', *rows, '"""']
    lines.append("")
    tables: dict[str, list[str]] = {}
    for field in rule_fields(variant.rules):
        table, _, name = field.name.rpartition(".")
        if field.value is not None:
            tables.setdefault(table, []).append(f"{name} = {_toml(field.value)}")
    # What belongs to no table has to stand before the first one.
    lines += tables.pop("")
    for table, fields in tables.items():
        lines += ["", f"[{table}]", *fields]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Return a value as TOML; what is written of texts, numbers, truth and lists is the same in JSON."""
    return json.dumps(value, ensure_ascii=False)
