from .naive import (
    NaiveGame as NaiveGame,
    NaivePosition as NaivePosition,
    NaiveResult as NaiveResult,
    PlainEngine as PlainEngine,
)
from .outcome import OUTCOMES as OUTCOMES, Outcome as Outcome
