"""Numbers for other programs: comma-separated tables, and b-files as the OEIS takes them."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counting.complexity import BoundsReport

_HEADER = ("group", "id", "description", "exact", "published", "agrees")
_GROUPS = ("corrected", "classes", "tightened", "classes_tightened")


def bfile(values: Iterable[int], start: int, comments: Sequence[str]) -> str:
    r"""Return a sequence as a b-file: lines of index and value, comments behind ``#``."""
    lines = [f"# {comment}" for comment in comments]
    lines += [f"{number} {value}" for number, value in enumerate(values, start)]
    return "".join(f"{line}\n" for line in lines)


def placements_by_men(report: BoundsReport) -> list[int]:
    """Return the labelled states by the number of men, from the king alone on."""
    found = [0] * (1 + max(pair.attackers + pair.defenders for pair in report.material))
    for pair in report.material:
        found[pair.attackers + pair.defenders] += pair.total
    return found


def bounds_csv(report: BoundsReport) -> str:
    """Return every number of a report as comma-separated lines: group, id, description, exact, published, agrees."""
    rows: list[tuple[Any, ...]] = [
        ("equation", term.id, term.description, term.exact, term.published, term.agrees) for term in report.terms
    ]
    rows += [("geometry", "", fact.description, fact.derived, fact.stated, None) for fact in report.geometry]
    for group in _GROUPS:
        rows += [(group, name, "", value, None, None) for name, value in getattr(report, group)]
    rows += [("excluded", space.id, space.description, space.exact, None, None) for space in report.excluded]
    rows += [("with_side_to_move", name, "", value, None, None) for name, value in report.with_side_to_move.items()]
    for pair in report.material:
        name = f"{pair.attackers}v{pair.defenders}"
        rows.append(("material", name, "attackers v defenders, labelled states", pair.total, None, None))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    words = {None: "", True: "yes", False: "no"}
    for *cells, agrees in rows:
        writer.writerow([*("" if cell is None else cell for cell in cells), words[agrees]])
    return text.getvalue()
