"""What `tablut warmup` runs of solving; see `tablut.warming`."""

__all__ = ["COMMANDS", "values_of_a_tablebase"]


def values_of_a_tablebase() -> None:
    """Have a proof search keep what a tablebase knows, which short searches do not come to."""
    import numpy as np

    from retrograde.proofs.search.table import keep_values, new_table

    for words in (1, 3):
        plies = np.ones(1, dtype=np.int64)
        keep_values(new_table(1 << 10, words), np.ones((1, words), dtype=np.uint64), plies, plies - 1)


COMMANDS = (
    values_of_a_tablebase,
    "solve -v ashton-5-4v0 --store {folder}/solution",
    "tablebase verify {folder}/solution",
    "tablebase build --men 3 -v ashton-5-4v0 --store {folder}/tiers",
    "tablebase verify {folder}/tiers",
    # Slices, since no tier of so many men fits.
    "tablebase build --men 6 -v brandubh-5-4v4 --memory 1 --store {folder}/slices",
    "probe -p '5/5/2K2/5/b4 w' {folder}/tiers",
    "puzzle solve -v ashton-5-4v0 --nodes 100000",
    "puzzle solve -v ashton-5-4v0 --tablebase {folder}/tiers -p '5/1b3/2K2/5/b3b w' --nodes 100000",
    "puzzle solve --nodes 2000",
    "puzzle make -n 1 -v ashton-5-4v0 --from placements --samples 50 --nodes 5000",
    "puzzle make -n 1 -v brandubh --games 3 --nodes 5000",
)
