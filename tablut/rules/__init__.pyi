from . import naive as naive
from .naive import NaiveGame as NaiveGame, NaivePosition as NaivePosition, NaiveResult as NaiveResult
from .outcome import OUTCOMES as OUTCOMES, Outcome as Outcome
