"""The symmetry reduction: verified on every variant, and caught when it is wrong."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from symmetry import dihedral
from tablut.automorphisms.checks import breaks, random_placements, verify
from tablut.cli.shell import run
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.variants import Variant, load_variant
from tests.support.commands import answer
from tests.support.effort import OLDER_CASES


@pytest.mark.parametrize("name", [*OLDER_CASES, "copenhagen"])
def test_every_shipped_variant_passes(name: str) -> None:
    checks = verify(load_variant(name), samples=80, most=2000)
    assert [check for check in checks if check.failures] == []
    assert len(checks) == 10
    assert all(check.cases > 0 for check in checks)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ashton-5-4v0", "brandubh-5-4v0"])
def test_exhaustively_on_a_reduced_board(name: str) -> None:
    checks = verify(load_variant(name))
    assert [check for check in checks if check.failures] == []
    assert any("every position that the start can reach" in check.name for check in checks)


def lopsided() -> Variant:
    """Ashton with one camp cell moved from f1 to g1."""
    ashton = load_variant("ashton")
    return dataclasses.replace(
        ashton, name="lopsided", terrain=(*ashton.terrain[:-1], "+**DD*D*+"), start=(*ashton.start[:-1], "...bb.b..")
    )


def test_a_moved_camp_cell_is_caught() -> None:
    variant = lopsided()
    assert [element.name for element in variant.symmetries] == ["identity"]
    words = random_placements(variant, 300, np.random.default_rng(1))
    for element in dihedral(9)[1:]:
        position = breaks(variant, element, words)
        assert position is not None, element.name
        assert not carries_over(variant, element, position)
    # The rules claimed to be symmetric after all: moves, perft and cells contradict.
    failed = {check.name for check in verify(variant, samples=200, most=500, group=dihedral(9)) if check.failures}
    assert any(name.startswith("they keep castle") for name in failed)
    assert any(name.startswith("moves, captures and outcomes") for name in failed)
    assert "perft(g·p, 2) = perft(p, 2)" in failed


def carries_over(variant: Variant, element, position: Position) -> bool:  # type: ignore[no-untyped-def]
    """Whether the plain rules see the image of every move, capture and outcome; apart from the engine."""
    game, size = NaiveGame(variant), variant.size

    def plies(text: str, table: tuple[int, ...]) -> set[tuple]:
        at = game.read(text)

        def moved(cell: tuple[int, int]) -> int:
            return table[cell[1] * size + cell[0]]

        found = set()
        for move in game.legal_moves(at):
            result = game.apply(at, move)
            captured = frozenset(map(moved, result.captured))
            found.add((moved(move[0]), moved(move[1]), captured, result.outcome))
        return found

    identity = tuple(range(size * size))
    return plies(str(position), element.table) == plies(str(position.transformed(element)), identity)


def test_what_is_no_group_is_caught() -> None:
    (identity, turn, *_) = load_variant("ashton").symmetries
    checks = verify(load_variant("ashton"), samples=50, most=100, group=(identity, turn))
    assert checks[0].failures > 0
    assert any(check.failures for check in checks if check.name.startswith("it is the same for all"))


def test_verify_from_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--samples", "50", "--most", "500"]
    result = answer(capsys, "symmetry", "verify", *options)
    assert (result["group_order"], result["start_group_order"], result["orbits_of_cells"]) == (8, 8, 15)
    assert {"name", "cases", "failures"} <= result["checks"][0].keys()
    assert result["provenance"]["seed"] == 1
    assert answer(capsys, "symmetry", "verify", "-v", "ashton-7-4v1", *options)["start_group_order"] == 2
    assert run(["symmetry", "verify", *options]) == 0
    assert "holds" in capsys.readouterr().out


def test_verify_names_what_is_no_symmetry(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "tablut" / "variants" / "data" / "ashton.toml"
    text = source.read_text(encoding="utf-8").replace("+**DDD**+", "+**DD*D*+").replace('...bbb...\n"', '...bb.b..\n"')
    path = tmp_path / "lopsided.toml"
    path.write_text(text, encoding="utf-8")
    result = answer(capsys, "symmetry", "verify", "-v", str(path), "--samples", "300", "--most", "500")
    assert result["group_order"] == 1
    others = [element for element in result["elements"] if not element["of_the_rules"]]
    assert len(others) == 7
    assert all(" goes to " in element["reason"] and element["counterexample"] for element in others)


def test_an_orbit_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    position = "2b2/1K3/b3b/5/2b2 w"
    options = ["-v", "ashton-5-4v0", "-p", position]
    result = answer(capsys, "symmetry", "show", *options, "--svg", str(tmp_path))
    assert result["orbit_size"] == 4
    assert len(result["stabiliser"]) == 2
    assert len({image["position"] for image in result["images"]}) == 4
    assert result["canonical"] in {image["position"] for image in result["images"]}
    assert len(list(tmp_path.glob("*.svg"))) == 8
    assert run(["symmetry", "show", *options]) == 0
    assert "orbit of 4; stabiliser: identity, antitranspose" in capsys.readouterr().out
