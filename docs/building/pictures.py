"""Pictures of the documentation, drawn by the toolkit; ``python -m docs.building.pictures`` redraws all of them.

The scenes on the three rules pages are defined in `reports.rulebook`. The engine plays each scene, and the result
determines the framed pieces and the text below the picture. The tables of scenes are between ``<!-- scenes: NAME -->``
and ``<!-- scenes: end -->``. The pictures of tutorials come from the tutorials' own code; see `docs.building.sessions`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from docs.building.doors import ROOT
from reports.rulebook import game_of, play, points
from tablut import svg
from tablut.strip import draw_strip

if TYPE_CHECKING:
    from pathlib import Path

    from reports.rulebook import Point, Scene, Value

DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
_PIXELS = 210


class Excluded(NamedTuple):
    """A position of copenhagen that a lemma excludes only because of one field of the rules. The squares are framed."""

    field: str
    lemma: str
    position: str
    squares: str


EXCLUDED: Final = (
    Excluded(
        "shieldwall", "locked", "11/11/11/11/11/11/11/1bwb7/bwb8/wwK8/1bbw7 b", "a2 a3 b1 b2 b3 b4 c1 c2 c3 c4 d1 d4"
    ),
    Excluded("fort", "last_move", "3b1b5/11/2b5b2/5b5/11/b9b/11/3b3b3/b9b/3bww2b2/2bwK1w1b2 b", "d1 e1 e2 f2 g1"),
    Excluded(
        "encirclement",
        "last_move",
        "11/5b5/4b1b4/3b1w1b3/2bw3wb2/3b1K1b3/4b1b4/5b5/11/11/11 b",
        "c7 d6 d8 e5 e9 f10 f4 g5 g9 h6 h8 i7",
    ),
)


def _cell(point: Point, scene: Scene, value: Value | None, made: dict[str, str]) -> str:
    """Return the table cell of a scene under a value of a rule: a picture and its text. Add the picture to ``made``."""
    if scene.rules.get(point.name, value) != value:
        return ""
    game = game_of(scene, None, "" if value is None else point.name, value)
    picture = play(scene, game)
    words = re.split(r"[._]", point.name)
    words += [] if value is None else re.findall(r"[a-z0-9]+", json.dumps(value)) or ["none"]
    file = f"rule-{'-'.join(words)}-{point.scenes.index(scene) + 1}.svg"
    made[file] = svg.board(game, picture.position, arrows=picture.arrows, highlights=picture.taken, pixels=_PIXELS)
    return f"![{scene.heading}, {scene.tried}](figures/{file})<br>{picture.said}"


def _table(point: Point, made: dict[str, str]) -> str:
    """Return the table for a point of the rules, and add its pictures to ``made``."""
    if point.values:
        shown = [json.dumps(value) if isinstance(value, tuple) else _plain(value) for value in point.values]
        rows = [["", *(f"`{value}`" for value in shown)], ["in words", *map(point.text_of, point.values)]]
        rows += [
            [scene.heading, *(_cell(point, scene, value, made) for value in point.values)] for scene in point.scenes
        ]
    else:
        rows = [[scene.heading for scene in point.scenes], [_cell(point, scene, None, made) for scene in point.scenes]]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _plain(value: Value) -> str:
    return json.dumps(value).strip('"')


def _repetition(point: Point, made: dict[str, str]) -> str:
    """Return the table for the repetition rule. It shows a strip of boards, because the scene has several moves."""
    (scene,) = point.scenes
    rows = ["| value | in words | what happens |", "|---|---|---|"]
    for value in point.values:
        happens = play(scene, game_of(scene, None, point.name, value)).said
        rows.append(f"| `{_plain(value)}` | {point.text_of(value)} | {happens} |")
    moves = scene.tried.split()
    made["rule-repetition.svg"] = draw_strip(game_of(scene), scene.position, moves, columns=5, pixels=150)
    picture = "![Five boards: the king moves away and back, and so does an attacker](figures/rule-repetition.svg)"
    return "\n".join([picture, "", *rows])


def rule_pictures() -> tuple[dict[str, str], dict[str, str]]:
    """Return the pictures of the rules pages, keyed by file name, and the tables, keyed by the name of the point."""
    made: dict[str, str] = {}
    tables = {
        point.name: (_repetition if point.name == "repetition" else _table)(point, made)
        for point in points()
        if point.scenes
    }
    return made, tables


def with_tables(text: str, tables: dict[str, str]) -> str:
    """Return the text of a page with its tables of pictures updated."""
    return re.sub(
        r"(<!-- scenes: ([\w.]+) -->\n).*?(<!-- scenes: end -->)",
        lambda match: f"{match[1]}{tables[match[2]]}\n{match[3]}",
        text,
        flags=re.DOTALL,
    )


def other_pictures() -> dict[str, str]:
    """Return the pictures that are not on the rules pages, keyed by file name."""
    return {"start.svg": svg.board("ashton", pixels=380)} | {
        f"excluded-{field}.svg": svg.board("copenhagen", position, highlights=squares.split(), pixels=290)
        for field, _, position, squares in EXCLUDED
    }


def pictures() -> dict[Path, str]:
    """Return all files that this module generates, with their contents."""
    made, tables = rule_pictures()
    files = {FIGURES / name: text for name, text in (made | other_pictures()).items()}
    pages = [DOCS / name for name in ("rules.md", "rules-family.md")]
    return files | {page: with_tables(page.read_text(encoding="utf-8"), tables) for page in pages}


def write() -> None:
    """Redraw all pictures, and remove the rule pictures that are no longer needed."""
    files = pictures()
    for old in FIGURES.glob("rule-*.svg"):
        if old not in files:
            old.unlink()
    for path, text in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))  # noqa: T201


if __name__ == "__main__":
    write()
