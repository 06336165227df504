"""Game records in the toolkit's own format and in those of OpenTafl and the Bologna server; `read_record` reads all."""

from tablut.records.game import GameRecord
from tablut.records.kinds import read_record
from tablut.records.native import write_record
from tablut.records.opentafl import read_rules

__all__ = ["GameRecord", "read_record", "read_rules", "write_record"]
