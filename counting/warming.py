"""What `tablut warmup` runs of counting; see `tablut.warming`."""

__all__ = ["COMMANDS", "middles_apart", "moves_backward"]


def moves_backward() -> None:
    """Take positions by their numbers and list where they came from, which short estimates do not come to."""
    from counting.reachable.drawing import drawer_for
    from tablut.engine.unmoves import predecessors
    from tablut.variants import load_variant

    for name in ("ashton-5-4v0", "ashton"):
        variant = load_variant(name)
        predecessors(variant, drawer_for(variant).positions([0, 1]))


def middles_apart() -> None:
    """Take one placement apart, which the lower bound does for many at once."""
    from counting.reachable.construction.middle import comes_apart, middle_tables

    t = middle_tables()
    comes_apart(1, 2, t.victims, t.anvils, t.ways)


COMMANDS = (
    "census --plies 3 --full -v ashton-5-4v0",
    "census --plies 2 --store {folder}/census -v ashton",
    "census --plies 2 --passes 2 -v ashton-5-4v0",
    "census --plies 3 --count-last -v ashton-5-4v0",
    "reachable estimate --samples 20 --lemma-samples 40 -v ashton",
    "reachable estimate --samples 4 --space decided -v ashton",
    "reachable lower --placements 25",
    middles_apart,
    moves_backward,
)
