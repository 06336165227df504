"""The compiled engine: one implementation of the rules for boards, counting, solving and search.

Importing this package imports numba, which takes long. Code that can run without numba (help texts of the command line,
variants, formulas) should therefore import it inside the functions that need it.
"""

from tablut.errors import InputError
from tablut.running.machine import check_address_space

try:
    check_address_space(600)
    import numba
except ValueError as error:
    raise InputError("correct or unset NUMBA_NUM_THREADS", subject=f"numba refuses its settings ({error})") from error
if any(feature[:1] not in "+-" for feature in (vars(numba.config)["CPU_FEATURES"] or "").split(",")):
    raise InputError(
        "expected features with + or - before each, with commas between: unset it", subject="NUMBA_CPU_FEATURES"
    )
if vars(numba.config)["DISABLE_JIT"]:
    raise InputError("NUMBA_DISABLE_JIT is set, but the engine is compiled code: unset it")

from tablut.engine.engine import Children, Engine, LeafStatistics, engine_for
from tablut.engine.tables import BLACK, WHITE, Tables, build_tables

__all__ = ["BLACK", "WHITE", "Children", "Engine", "LeafStatistics", "Tables", "build_tables", "engine_for"]
