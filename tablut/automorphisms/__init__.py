"""Whether the symmetries of a rule set act as automorphisms of its game, tested on positions; and the command."""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from tablut.automorphisms.checks import SymmetryCheck, verify
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["SymmetryCheck", "verify"]
