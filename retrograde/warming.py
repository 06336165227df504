"""What `tablut warmup` runs of solving; see `tablut.warming`."""

__all__ = ["COMMANDS"]

COMMANDS = (
    "solve -v ashton-5-4v0 --store {folder}/solution",
    "tablebase verify {folder}/solution",
    "tablebase build --men 3 -v ashton-5-4v0 --store {folder}/tiers",
    "tablebase verify {folder}/tiers",
    "probe -p '5/5/2K2/5/b4 w' {folder}/tiers",
    "puzzle solve -v ashton-5-4v0 --nodes 100000",
    "puzzle solve --nodes 2000",
    "puzzle make -n 1 -v ashton-5-4v0 --games 20 --nodes 20000",
)
