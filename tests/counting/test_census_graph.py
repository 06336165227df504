"""The state graph: the same edges as the plain rules give, written and read back."""

from pathlib import Path

import numpy as np
import pytest

from counting.census import census
from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError, OutputError
from tablut.variants import Variant, load_variant
from tests.twins.census import naive_census


def small_board(size: int) -> Variant:
    """A king and one attacker, so that the graph stays small on a board whose positions take two words."""
    rules = load_variant("ashton-5-4v0").rules
    middle = size // 2
    terrain = ["." * size for _ in range(size)]
    terrain[middle] = "." * middle + "T" + "." * middle
    terrain[0] = "*" * size
    start = ["." * size for _ in range(size)]
    start[middle] = "." * middle + "K" + "." * middle
    start[size - 1] = "b" + "." * (size - 1)
    return Variant("drawn", "", "", tuple(terrain), tuple(start), rules)


def test_the_graph_and_its_numbers(tmp_path: Path) -> None:
    variant, path = small_board(7), tmp_path / "graph.npz"
    report = census(variant, graph=path)
    numbers = report.graph
    assert numbers is not None
    assert numbers.nodes == report.total_classes + report.decided_total_classes
    assert numbers.undecided == report.total_classes
    assert numbers.eccentricity == report.plies[-1].ply
    arrays = np.load(path)
    assert str(arrays["variant"]) == variant.name
    columns = {name: arrays[name] for name in ("source", "target", "moves")}
    assert len(columns["source"]) == numbers.edges
    for end in ("source", "target"):
        columns |= {f"{end}_{name}": arrays[name][columns[end]] for name in ("ply", "winner", "position")}
    # Every move of a representative is in one edge; decided nodes have none.
    assert columns["moves"].sum() == report.children
    assert not columns["source_winner"].any()
    assert (columns["target_ply"] <= columns["source_ply"] + 1).all()
    assert ((columns["target_ply"] - columns["source_ply"]) % 2 == 1).all()
    assert len(np.unique(columns["target"])) >= numbers.nodes - 1
    assert [ply.new for ply in report.plies] == [
        ply["new"] for ply in naive_census(variant) if ply["new"] or ply["decided"]
    ]
    # Positions are joined by the moves of their edges.
    assert columns["source_position"][columns["source"] == 0][0] == variant.start_position
    by_source: dict[str, dict[str, int]] = {}
    for source, target, moves in zip(
        *(columns[name] for name in ("source_position", "target_position", "moves")), strict=True
    ):
        by_source.setdefault(source, {})[target] = moves
    for source in list(by_source)[::90]:
        expected: dict[str, int] = {}
        board = Board(variant, source)
        for move in list(board.legal_moves):
            board.push(move)
            images = {str(board.position.transformed(one)) for one in board.variant.start_symmetries}
            (target,) = images & by_source[source].keys()
            expected[target] = expected.get(target, 0) + 1
            board.pop()
        assert by_source[source] == expected


def test_graphs_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    variant = small_board(5)
    with pytest.raises(InputError, match=r"^graph: .*complete"):
        census(variant, plies=2, graph=tmp_path / "graph.npz")
    blocker = tmp_path / "file"
    blocker.write_text("no folder")
    with pytest.raises(OutputError, match="another file with `graph`"):
        census(variant, graph=blocker / "graph.npz")
    blocker.unlink()
    monkeypatch.setattr("counting.census.graph.MOST_NODES", 20)
    with pytest.raises(InputError, match="smaller board"):
        census(variant, graph=tmp_path / "graph.npz")
    assert run(["census", "-v", "ashton-5-4v0", "--plies", "1", "--graph", str(tmp_path / "g")]) == 2
    assert "--all" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
