"""The compiled engine: one implementation of the rules for boards, counting, solving and search.

Importing this package imports numba. Code that can run without numba (the command line's
help, variants, formulas) must therefore import it where it uses it, not at the top.
"""

from tablut.engine.engine import Children, Engine, LeafStatistics, engine_for
from tablut.engine.tables import BLACK, WHITE, Tables, build_tables

__all__ = ["BLACK", "WHITE", "Children", "Engine", "LeafStatistics", "Tables", "build_tables", "engine_for"]
