"""The rule sets that long loops of tests go over: those that ship without the rules of the tafl family."""

from tablut.variants.library import older_variants

OLDER = older_variants()
OLDER_NAMES = [variant.name for variant in OLDER]
