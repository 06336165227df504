"""The figures in README and docs are those that the project stores or computes, found in the Markdown itself.

Every integer from 10,000 up that stands in the prose or in a table is looked for among the stored results. What is not
there is computed here, is a limit in the code, or was measured; then its section names a command that measures it.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from counting import bounds
from counting.spaces import fixed_material, spaces
from reports.census import results as censuses
from reports.reachable import explanations, share
from reports.reachable import results as estimates
from reports.rendering import DATA, STUDIES
from reports.solutions import results as solutions
from retrograde.proofs.certificate import MOST_POSITIONS
from tablut.cli import runtime, shell
from tablut.cli import streams as interrupts
from tablut.engine import engine_for
from tablut.errors import MachineError
from tablut.play.search.limits import EVALUATION_LIMIT, REPETITION, TABLEBASE
from tablut.results import scientific
from tablut.variants import load_variant, variant_names
from tablut.variants.library import older_variants
from tablut.variants.model import MOST_PLIES, Rules
from tests.support.commands import integers
from tests.support.pages import PAGES, ROOT, read, sections, without_blocks

STORED = [
    *sorted(DATA.rglob("*.json")),
    *sorted(STUDIES.rglob("*.json")),
    ROOT / "reports" / "rendered" / "data" / "bounds.json",
    ROOT / "counting" / "census" / "published.json",
    ROOT / "retrograde" / "tablebase" / "published.json",
    ROOT / "tests" / "data" / "faults.json",
]
# Limits and scores that pages state.
NODES_OF_A_TEST = 10_000  # what a move of the matches of docs/notes/search-strength.md may take
LIMITS = {MOST_POSITIONS, MOST_PLIES, EVALUATION_LIMIT, REPETITION, TABLEBASE, NODES_OF_A_TEST}
# What measures a number that only a long run gives again.
COMMAND = re.compile(r"^(?:tablut|pytest|python -m) |`[^`\n]*\b(?:tablut|pytest|python -m) [^`\n]*`", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.·-])\d{1,3}(?:[, ]\d{3})+(?!\d)|(?<![\w.·/-])\d{5,}(?![\w.])")


@cache
def classes_of_men(name: str, men: int) -> tuple[int, int]:
    """Return the counted positions of at most so many men, and their classes, from the formulas."""
    space, variant = spaces(load_variant(name))["no_end"], load_variant(name)
    pairs = [(a, d) for a in range(1, men) for d in range(min(men - a, variant.defenders + 1))]
    whole = sum(space.material().rows[a][d] for a, d in pairs)
    fixed = [fixed_material(space, symmetry) for symmetry in variant.symmetries]
    return 2 * whole, 2 * sum(sum(material.rows[a][d] for material in fixed) // len(fixed) for a, d in pairs)


@cache
def perft_of_the_tour() -> int:
    """Return the number that the tour shows beside ``tablut perft -d 5``."""
    engine = engine_for(load_variant("ashton"))
    return engine.perft(engine.start(), 5)


@cache
def known() -> set[int]:
    found = {number for path in STORED for number in integers(json.loads(path.read_text(encoding="utf-8")))}
    for path in sorted((ROOT / "tests" / "data" / "perft").glob("*.txt")):
        found |= {int(number) for number in re.findall(r"=(\d+)", path.read_text(encoding="utf-8"))}
    children = 0
    for ply in censuses()["ashton"]["plies"]:
        children += ply["children"]
        found.add(children)
    for men in (5, 6):
        found |= set(classes_of_men("ashton", men))
    found |= {rung.number for rung in bounds("ashton").ladder()}
    return found | LIMITS | {perft_of_the_tour()}


def numbers_of(text: str) -> list[int]:
    prose = re.sub(r"`[^`]*`", "`…`", without_blocks(text))
    return [int(re.sub(r"\D", "", found)) for found in NUMBER.findall(" ".join(prose.split(" ")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_large_number_is_stored_computed_or_measured(page: Path) -> None:
    for head, text in sections(read(page)).items():
        unknown = [number for number in numbers_of(text) if number >= 10_000 and number not in known()]
        where = f"{page.name}, {head}: {unknown}"
        assert not unknown or COMMAND.search(text), (
            f"{where}: store it, compute it here, or say what command measures it"
        )


def rows_of(page: str, first: str) -> Iterator[list[str]]:
    """Yield the rows of the table of a page whose header begins with these cells."""
    text = without_blocks(read(ROOT / page))
    table = text[text.index(f"| {first} |") :].split("\n\n", 1)[0].splitlines()[2:]
    for row in table:
        yield [cell.strip() for cell in row.strip("|").split("|")]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_the_table_of_censuses() -> None:
    tried = 0
    for name, positions, classes, children, *_ in rows_of("docs/notes/census.md", "census | positions | classes"):
        if not positions:
            continue
        stored = censuses()[name.split()[0].rstrip(",")]
        if plies := re.search(r"to ply (\d+)", name):
            last = stored["plies"][int(plies[1])]
            whole = sum(ply["children"] for ply in stored["plies"][: int(plies[1]) + 1])
        else:
            assert stored["complete"]
            last, whole = stored, stored["children"]
        assert (number(positions), number(classes)) == (last["total"], last["total_classes"]), name
        assert number(children) == whole, name
        tried += 1
    assert tried == 5


def test_the_table_of_boards_explained_whole() -> None:
    rows = {name: cells for name, *cells in rows_of("docs/notes/reachability.md", "board (computed)")}
    assert rows.keys() == explanations().keys()
    for name, (counted, reached, locked, stuck, closed, circles, layers) in rows.items():
        found = explanations()[name]
        assert number(counted) == found["counted"]["positions"] == int(censuses()[name]["bound"])
        assert number(reached) == found["reached"]["positions"] == censuses()[name]["total"]
        assert number(locked) == found["excluded"]["locked"]["positions"]
        assert number(stuck) == found["excluded"]["last_move"]["positions"]
        assert number(closed) == found["closed"]["all"]["positions"]
        assert number(circles) == sum(found["closed"][part]["positions"] for part in ("recurrent", "after"))
        assert number(layers) == len(found["closed"]["layers"])
        assert number(counted) - number(reached) == number(locked) + number(stuck) + number(closed)
    assert max(len(found["closed"]["layers"]) for found in explanations().values()) == 9  # "nine plies backward"
    few = [row for row in explanations()["ashton-5-4v0"]["material"] if row["attackers"] < 4]
    assert not any(row["reached"] for row in few)


def test_what_a_position_takes_in_a_tablebase() -> None:
    known = {1_737_174: ("ashton", 5), 3_251_331: ("mcgill", 5), 58_285_314: ("ashton", 6), 74_735_940: ("brandubh", 7)}
    notes = ROOT / "docs" / "notes"
    text = " ".join((read(notes / "solving.md") + read(notes / "tablebases.md")).split())
    found = re.findall(r"([\d,]+) bytes(?: with those)?, (0\.\d{4}) a position", text)
    found += [(size, each) for _, size, each, _ in rows_of("docs/notes/tablebases.md", "how | bytes | a position")]
    assert len(found) > 7
    for size, each in found:
        assert f"{number(size) / classes_of_men(*known.get(number(size), ('ashton', 5)))[0]:.4f}" == each, size


def test_the_table_of_patterns() -> None:
    """What is confirmed is won by white in as many plies; what is refuted is won by black."""
    stored = json.loads((DATA / "puzzles" / "collection.json").read_text(encoding="utf-8"))
    found = {puzzle["id"]: puzzle["solution"] for puzzle in stored["puzzles"]}
    tried = set()
    for _, result in rows_of("docs/notes/puzzles.md", "pattern | result"):
        for name in re.findall(r"`([a-z-]+)`", result):
            tried.add(name)
            assert found[name]["winner"] == ("black" if "refuted" in result else "white")
        if confirmed := re.match(r"confirmed, (\d) plies \(`([a-z-]+)`", result):
            assert found[confirmed[2]]["dtm"] == int(confirmed[1])
    assert len(tried) == 7
    # Black moves first there, so white's line is a ply longer.
    assert found["corner-capture-two-men"]["dtm"] + 1 == found["corner-capture"]["dtm"] + 4


def test_the_readmes_numbers() -> None:
    readme = " ".join(read(ROOT / "README.md").split())
    rungs = [f"{rung.number:,}".replace(",", " ") for rung in bounds("ashton").ladder()]
    assert f"**{rungs[2]}** placements" in readme
    assert f"symmetric placements once, {rungs[4]}." in readme
    assert scientific(int(rungs[2].replace(" ", "")), 3) == "1.18e27"
    assert "At most 1.18·10²⁷" in readme
    reached = share("ashton")
    assert reached is not None
    low, high = estimates()["ashton"]["interval99"]
    assert float(reached.low) <= 100 * low < 100 * high <= float(reached.high)
    assert f"About {float(reached.low):.1f} % of" in readme
    assert round(float(reached.low), 1) == round(float(reached.high), 1)
    largest = max(int(found["positions"]) for found in solutions().values())
    assert f"the largest with {largest:,} positions".replace(",", " ") in readme
    older = older_variants()
    reduced = [variant for variant in older if "-" in variant.name]
    assert (len(variant_names()), len(older), len(reduced), len(solutions())) == (22, 13, 7, 7)
    tour = " ".join(read(ROOT / "docs" / "tour.md").split())
    assert "the rule sets that ship: six full games, seven reduced boards, nine games of the tafl family" in tour


def is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def rule_values(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, tuple[Any, ...], Any]]:
    """Yield the name, the values and the default of each rule field, in the order of the model."""
    for name, info in model.model_fields.items():
        # A table may be left out: that is None.
        table = next((kind for kind in (info.annotation, *get_args(info.annotation)) if is_table(kind)), None)
        if table is not None:
            yield from rule_values(table, f"{info.alias or name}.")
        else:
            values = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
            yield f"{prefix}{info.alias or name}", values, info.get_default()


def test_the_table_of_rule_fields() -> None:
    fields = {name: (values, default) for name, values, default in rule_values(Rules)}
    rows = {name.strip("`"): said for name, said, _ in rows_of("docs/variants.md", "field | values | meaning")}
    assert set(rows) == set(fields)
    compared = 0
    for name, (values, default) in fields.items():
        if values:
            said = {value.removesuffix(" (default)") for value in rows[name].split(", ")}
            assert said == set(values), name
            defaults = [value for value in rows[name].split(", ") if value.endswith(" (default)")]
            assert defaults == ([] if default in (None, PydanticUndefined) else [f"{default} (default)"]), name
            compared += 1
    assert compared > 8


def test_the_table_of_exit_codes() -> None:
    modules = (interrupts, runtime, shell)
    codes = {value for module in modules for name, value in vars(module).items() if name.startswith("EXIT_")}
    rows = {int(code) for code, _ in rows_of("docs/command-line.md", "code | meaning")}
    assert rows == codes | {0, MachineError.exit_code}
