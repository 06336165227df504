"""The page on the rule sets: every board drawn, every field side by side."""

from __future__ import annotations

from reports.rendering import Artefact, drawing, page
from tablut import svg
from tablut.variants import Variant, rule_fields, shipped_variants


def artefacts() -> list[Artefact]:
    """Return the files of the page on the rule sets."""
    variants = shipped_variants()
    reduced = [variant for variant in variants if "-" in variant.name]
    full = [variant for variant in variants if variant not in reduced]
    return [
        page("variants.md", "variants.md.j2", full=full, reduced=reduced, fields=_fields(full)),
        *(drawing(f"figures/board-{variant.name}.svg", svg.board(variant)) for variant in variants),
    ]


def _fields(variants: list[Variant]) -> list[tuple[str, str, list[str]]]:
    """Rows of field, meaning and the value under each variant."""
    by_variant = [rule_fields(variant.rules) for variant in variants]
    rows = []
    for fields in zip(*by_variant, strict=True):
        values = [", ".join(field.value) if isinstance(field.value, list) else str(field.value) for field in fields]
        shown = [{"True": "yes", "False": "no", "None": "–", "": "–"}.get(value, value) for value in values]
        rows.append((fields[0].name, fields[0].meaning, shown))
    return rows
