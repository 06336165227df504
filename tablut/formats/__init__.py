"""Text formats of other programs, and game records.

Positions and moves live in a module a program: `opentafl`, `bologna`, `berkeley`,
`mcgill`. Game records of every kind go through `read_record` and `write_record`.
"""

from tablut.formats import berkeley, bologna, mcgill, opentafl
from tablut.formats.game_record import GameRecord
from tablut.formats.opentafl_rules import read_rules
from tablut.formats.records import read_record, write_record

__all__ = ["GameRecord", "berkeley", "bologna", "mcgill", "opentafl", "read_record", "read_rules", "write_record"]
