"""Pictures of the pages, drawn by the toolkit itself: ``python -m docs.building.pictures`` draws them again.

The scenes of the rules page are played by the engine: it decides which piece is framed and what is said below a
picture. Tables of pictures stand between ``<!-- scenes: NAME -->`` and ``<!-- scenes: end -->``. The pictures of a
tutorial are what its own code gives; `docs.building.sessions` runs it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docs.building.doors import ROOT
from docs.building.scenes import REPETITION, REPETITION_VALUES, SUBJECTS, game_of
from tablut import Board, svg
from tablut.notation import square_name
from tablut.strip import draw_strip

if TYPE_CHECKING:
    from pathlib import Path

    from docs.building.scenes import Scene, Subject
    from tablut import Move, Variant

DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
_PIXELS = 210
_NOTHING = "nothing is captured"


def _farthest(board: Board, square: str) -> list[Move]:
    """Return the longest legal move of a piece in each direction."""
    found: dict[tuple[int, int], Move] = {}
    for move in board.legal_moves:
        if square_name(move.start, board.size) == square:
            steps = [
                b - a for a, b in zip(divmod(move.start, board.size), divmod(move.target, board.size), strict=True)
            ]
            way = (steps[0] > 0) - (steps[0] < 0), (steps[1] > 0) - (steps[1] < 0)
            longest = found.get(way)
            if longest is None or abs(move.target - move.start) > abs(longest.target - longest.start):
                found[way] = move
    return list(found.values())


def _said(board: Board, squares: list[str]) -> str:
    """Return what a ply did, in words."""
    outcome = board.outcome()
    king = board.captured_king()
    if king is not None:
        said = "the king is captured"
    elif squares:
        said = " and ".join([", ".join(squares[:-1]), squares[-1]] if squares[1:] else squares)
        said += f" {'are' if squares[1:] else 'is'} captured"
    else:
        said = _NOTHING
    if outcome is None:
        return said
    if outcome.termination == "no_moves":
        return f"{'black' if outcome.winner == 'white' else 'white'} cannot move: {outcome.winner} has won"
    if outcome.termination == "king_escaped":
        return "white has won"
    return f"{said}: {outcome.winner} has won" if king is None else said


def drawn(scene: Scene, variant: Variant) -> tuple[str, str]:
    """Return a scene's picture and what is said below it."""
    board = Board(variant, scene.position)
    before = board.position
    if "-" not in scene.tried:
        moves = _farthest(board, scene.tried)
        number = sum(square_name(move.start, board.size) == scene.tried for move in board.legal_moves)
        picture = svg.board(variant, before, arrows=moves, pixels=_PIXELS)
        return picture, f"{number} move{'s' * (number != 1)}"
    move = board.push_text(scene.tried)
    king = board.captured_king()
    taken = [*board.captured(), *([] if king is None else [king])]
    said = _said(board, [square_name(square, board.size) for square in board.captured()])
    return svg.board(variant, before, arrows=[move], highlights=taken, pixels=_PIXELS), said


def _cell(subject: Subject, number: int, value: str, made: dict[str, str]) -> str:
    """Return the picture of a scene under a value with what is said below it, and put it into `made`."""
    scene = subject.scenes[number]
    words = [*re.split(r"[._]", subject.name), *(re.findall(r"[a-z0-9]+", value) or ["none"] if value else [])]
    file = f"rule-{'-'.join(words)}-{number + 1}.svg"
    made[file], said = drawn(scene, game_of(scene, subject.name if value else "", value))
    if subject.name == "no_moves" and said == _NOTHING:
        said = "the game goes on"
    return f"![{scene.heading}, {scene.tried}: {said}](figures/{file})<br>{said}"


def _table(subject: Subject, made: dict[str, str]) -> str:
    """Return the table of a subject, and put its pictures into `made`."""
    numbers = range(len(subject.scenes))
    if subject.values:
        shown = [value if value[0] == "[" else value.strip('"') for value in subject.values]
        rows = [["", *(f"`{value}`" for value in shown)]]
        for number in numbers:
            cells = [_cell(subject, number, value, made) for value in subject.values]
            rows.append([subject.scenes[number].heading, *cells])
    else:
        rows = [[scene.heading for scene in subject.scenes], [_cell(subject, number, "", made) for number in numbers]]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _repetition(made: dict[str, str]) -> str:
    rows = ["| value | what happens |", "|---|---|"]
    for value in REPETITION_VALUES:
        board = Board(game_of(REPETITION, "repetition", value), REPETITION.position)
        for move in REPETITION.tried.split():
            board.push_text(move)
        outcome = board.outcome()
        said = "the game goes on" if outcome is None else f"{outcome.winner} has won" if outcome.winner else "a draw"
        rows.append(f"| `{value[1:-1]}` | {said} |")
    made["rule-repetition.svg"] = draw_strip(
        game_of(REPETITION), REPETITION.position, REPETITION.tried.split(), columns=5, pixels=150
    )
    picture = "![Five boards: the king goes and comes back, and so does an attacker](figures/rule-repetition.svg)"
    return "\n".join([picture, "", *rows])


def rule_pictures() -> tuple[dict[str, str], dict[str, str]]:
    """Return the pictures of the rules page by file name, and its tables by the name of their subject."""
    made: dict[str, str] = {}
    tables = {subject.name: _table(subject, made) for subject in SUBJECTS}
    tables["repetition"] = _repetition(made)
    return made, tables


def with_tables(text: str, tables: dict[str, str]) -> str:
    """Return a page with its tables of pictures made again."""
    return re.sub(
        r"(<!-- scenes: ([\w.]+) -->\n).*?(<!-- scenes: end -->)",
        lambda match: f"{match[1]}{tables[match[2]]}\n{match[3]}",
        text,
        flags=re.DOTALL,
    )


def other_pictures() -> dict[str, str]:
    """Return the pictures that stand alone, by file name."""
    return {"start.svg": svg.board("ashton", pixels=380)}


def pictures() -> dict[Path, str]:
    """Return every file that this module makes, with its text."""
    made, tables = rule_pictures()
    page = DOCS / "rules.md"
    files = {FIGURES / name: text for name, text in (made | other_pictures()).items()}
    return files | {page: with_tables(page.read_text(encoding="utf-8"), tables)}


def write() -> None:
    """Draw everything again; pictures that nothing draws any more are removed."""
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
