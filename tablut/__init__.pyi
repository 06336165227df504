from .board import Board as Board
from .errors import (
    IllegalMoveError as IllegalMoveError,
    InputError as InputError,
    MachineError as MachineError,
    OutputError as OutputError,
    TablutError as TablutError,
    VariantError as VariantError,
)
from .position import Move as Move, Position as Position
from .rules.outcome import Outcome as Outcome
from .status import Status as Status
from .variants import Variant as Variant, load_variant as load_variant, variant_names as variant_names

__version__: str
