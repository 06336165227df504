"""Every number in the paper on the software comes from a command or from a stored result that other tests verify."""

import json
import re
from pathlib import Path

from counting import bounds
from reports.reachable import lower_bounds
from retrograde.puzzles.puzzle_file import shipped_ids
from tablut.variants import variant_names

ROOT = Path(__file__).resolve().parents[2]
PAPER = (ROOT / "docs" / "paper" / "paper.md").read_text(encoding="utf-8").partition("# Summary")[2]


def stored(kind: str) -> list[dict[str, object]]:
    return [json.loads(file.read_bytes()) for file in (ROOT / "reports" / "data" / kind).glob("*.json")]


def test_every_number_is_computed() -> None:
    found = bounds("ashton")
    solved = stored("solutions")
    intervals = re.findall(
        r"between ([0-9.]+ % and [0-9.]+ %) can", (ROOT / "reports/rendered/reachable.md").read_text(encoding="utf-8")
    )
    words = {7: "Seven"}
    expected = {
        f"any of the {len(variant_names())} built-in": 1,
        f"{found.corrected.distinct:,}": 1,
        f"{found.classes_tightened.distinct:,}": 1,
        f"{int(lower_bounds()['ashton']['positions']):,}": 1,
        f"{words[len(solved)]} reduced boards": 1,
        f"{max(int(str(report['positions'])) for report in solved):,} positions": 1,
        f"all {len(shipped_ids())} collected puzzles": 1,
        f"between {intervals[0]} can be reached": 1,
        f"{found.terms[-1].published}".replace("e27", "·10²⁷") + " states": 1,
    }
    text = re.sub(r"\s+", " ", PAPER)
    assert {part: text.count(part.replace(",", " ")) for part in expected} == expected
