"""Small tablebases, solved and written once a session."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from retrograde.solver.build import build_tablebase
from retrograde.solver.tier_solver import TierSolver
from retrograde.tablebase import open_tablebase
from retrograde.tablebase.store import Store, open_store
from retrograde.tablebase.writer import create, write_tier
from tablut.indexing.values import ALIAS, ALIAS_CODE, code_of, value_of
from tablut.variants import Variant, load_variant
from tests.support.endings import GAME, MEN, POSITIONS

# One corner to escape to: many draws, and wins of up to 23 plies.
LONE_CORNER = ("+...+", ".....", "..T..", ".....", "X...+")
DEEP = ((1, 0), (1, 1), (2, 0), (2, 1), (3, 0))
SMALL = ((1, 0), (1, 1), (2, 0), (1, 2), (2, 1), (3, 0))
Codes = dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="session")
def solve_codes() -> Callable[[Variant, Sequence[tuple[int, int]]], Codes]:
    """What `write_tier` takes, by material: codes, aliases marked."""

    def solve(variant: Variant, materials: Sequence[tuple[int, int]]) -> Codes:
        solver = TierSolver(variant, sorted(materials, key=sum))
        found = {}
        for material in solver.materials:
            items = solver.solve(material)
            found[material] = tuple(
                np.where(side == ALIAS, np.uint16(ALIAS_CODE), code_of(side)).astype(np.uint16) for side in items
            )
        return found

    return solve


@pytest.fixture(scope="session")
def write_store() -> Callable[[Path, Variant, Codes], Store]:
    """Write codes as a tablebase."""

    def write(root: Path, variant: Variant, codes: Codes) -> Store:
        from tablut.indexing.tiers import tier_index

        create(root, variant, list(codes))
        for material, (white, black) in codes.items():
            write_tier(root, tier_index(variant, *material), white, black, {"seconds": 1.0})
        return open_store(root)

    return write


@pytest.fixture(scope="session")
def small_variant() -> Variant:
    return load_variant("ashton-5-4v2")


@pytest.fixture(scope="session")
def small_codes(solve_codes, small_variant) -> Codes:
    return solve_codes(small_variant, SMALL)


@pytest.fixture(scope="session")
def small_store(tmp_path_factory, write_store, small_variant, small_codes) -> Path:
    """All positions of at most four men of ashton-5-4v2; do not change it, copy it."""
    root = tmp_path_factory.mktemp("tablebase") / "small"
    write_store(root, small_variant, small_codes)
    return root


@pytest.fixture(scope="session")
def deep_variant() -> Variant:
    start = ("..b..", "..w..", "b.K..", "..b..", ".....")
    return replace(load_variant("brandubh-5-4v4"), name="lone-corner", terrain=LONE_CORNER, start=start)


@pytest.fixture(scope="session")
def deep_codes(solve_codes, deep_variant) -> Codes:
    return solve_codes(deep_variant, DEEP)


@pytest.fixture(scope="session")
def deep_store(tmp_path_factory, write_store, deep_variant, deep_codes) -> Path:
    """Most positions of at most four men of a game with draws; do not change it, copy it."""
    root = tmp_path_factory.mktemp("tablebase") / "deep"
    write_store(root, deep_variant, deep_codes)
    return root


@pytest.fixture(scope="session")
def shallow_store(tmp_path_factory, write_store, deep_variant, deep_codes) -> Path:
    """The smallest tiers of the same; do not change it, copy it."""
    root = tmp_path_factory.mktemp("tablebase") / "shallow"
    write_store(root, deep_variant, {material: deep_codes[material] for material in ((1, 0), (1, 1), (2, 0))})
    return root


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store as it is built; do not change it, copy it."""
    root = tmp_path_factory.mktemp("sound") / "store"
    build_tablebase(root, GAME, MEN)
    return root


@pytest.fixture(scope="session")
def truth(sound: Path) -> list[int]:
    """The values of `tests.support.endings.POSITIONS` in it."""
    table = open_tablebase(sound)
    return [value_of(table.probe(position)) for position in POSITIONS]


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Stores of other games, and of this one with another name: what may be swapped in."""
    found = []
    for name in ("brandubh-5-4v0", "ashton-5-4v2"):
        root = tmp_path_factory.mktemp("other") / name
        build_tablebase(root, load_variant(name), MEN)
        found.append(root)
    return found
