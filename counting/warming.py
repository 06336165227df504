"""What `tablut warmup` runs of counting; see `tablut.warming`."""

__all__ = ["COMMANDS"]

COMMANDS = (
    "census --plies 3 --full -v ashton-5-4v0",
    "census --plies 2 --store {folder}/census -v ashton",
    "reachable estimate --samples 20 --lemma-samples 40 -v ashton",
)
