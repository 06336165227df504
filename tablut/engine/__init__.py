"""The compiled engine: one implementation of the rules for boards, counting, solving and search.

Importing this package imports numba, which takes long, so code that can run without it imports it inside functions.
"""

import sys

from tablut.errors import InputError
from tablut.work.machine import check_address_space

try:
    check_address_space(600)
    import numba
except ValueError as error:
    remedy = "correct or unset NUMBA_NUM_THREADS"
    raise InputError(f"rejects its settings ({error})", subject="numba", remedy=remedy) from error
if tuple(map(int, numba.__version__.split(".")[:2])) < (0, 63):
    raise InputError("is too old", subject=f"numba {numba.__version__}", remedy="install numba 0.63 or later")
if sys.maxsize < 1 << 62:
    raise InputError("has 32 bits", subject="this Python", remedy="the engine needs a 64-bit Python")
if any(feature[:1] not in "+-" for feature in (vars(numba.config)["CPU_FEATURES"] or "").split(",")):
    raise InputError(
        "expected features with + or -, separated by commas", subject="NUMBA_CPU_FEATURES", remedy="unset it"
    )
if vars(numba.config)["DISABLE_JIT"]:
    raise InputError("is set, but the engine needs compiled code", subject="NUMBA_DISABLE_JIT", remedy="unset it")

from tablut.engine.engine import Children, Engine, LeafStatistics, engine_for
from tablut.engine.tables import BLACK, WHITE, Tables, build_tables

__all__ = ["BLACK", "WHITE", "Children", "Engine", "LeafStatistics", "Tables", "build_tables", "engine_for"]
