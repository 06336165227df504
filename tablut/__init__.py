"""The game of Tablut and its tafl relatives: variants, positions, rules, engine and the command line.

Importing the package is cheap: no compiled kernel, sympy or rich is loaded.
"""

from typing import TYPE_CHECKING

from tablut.errors import IllegalMoveError, InputError, MachineError, OutputError, TablutError, VariantError
from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.position import Move, Position
    from tablut.rules.outcome import Outcome
    from tablut.status import Status
    from tablut.variants import Variant, load_variant, variant_names
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__version__ = "0.1.0"

__all__ = [
    "Board",
    "IllegalMoveError",
    "InputError",
    "MachineError",
    "Move",
    "Outcome",
    "OutputError",
    "Position",
    "Status",
    "TablutError",
    "Variant",
    "VariantError",
    "__version__",
    "load_variant",
    "variant_names",
]
