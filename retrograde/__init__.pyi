from .solver.build import build_tablebase as build_tablebase
from .solver.solution import SolvedGame as SolvedGame, solve_game as solve_game
from .tablebase import Tablebase as Tablebase, open_tablebase as open_tablebase
