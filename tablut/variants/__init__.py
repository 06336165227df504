"""Rule sets as data. A frozen `Variant` is loaded from a TOML file, either a built-in file or a user's file."""

from tablut.variants.library import (
    VariantLike,
    as_variant,
    load_variant,
    shipped_name,
    shipped_variant,
    shipped_variants,
    variant_names,
)
from tablut.variants.model import Camp, Regions, Rules, Variant, rule_fields

__all__ = [
    "Camp",
    "Regions",
    "Rules",
    "Variant",
    "VariantLike",
    "as_variant",
    "load_variant",
    "rule_fields",
    "shipped_name",
    "shipped_variant",
    "shipped_variants",
    "variant_names",
]
