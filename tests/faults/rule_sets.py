"""Random rule sets on small boards, as TOML files; and random positions for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, get_args, get_origin

from tablut.errors import VariantError
from tablut.position import FILES
from tablut.variants.model import CampRules, CastleRules, CornerRules, KingRules, Repetition, Rules, Shieldwall
from tablut.variants.schema import parse_variant

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel


_TERRAINS = (
    ("+*A*+", "*...*", "B.T.C", "*...*", "+*D*+"),
    ("X...X", ".....", "..T..", ".....", "X...X"),
    ("+...+", ".....", "..T..", ".....", "X...+"),
    ("*****", "*...*", "*.T.*", "*...*", "*****"),
    ("+.+", ".T.", "+.X"),
    ("X.X", ".T.", "X.X"),
    ("+**A**+", "*.....*", "*.....*", "B..T..C", "*.....*", "*.....*", "+**D**+"),
)


def random_rule_set(rng: random.Random, name: str) -> str:
    """Return a variant file: one of a few boards, every rule drawn."""
    return _accepted(lambda: _small(rng, name), name)


def crowded_rule_set(rng: random.Random, name: str) -> str:
    """Return a variant file: any board, most of them small, with up to as many men as fit, every rule drawn."""
    return _accepted(lambda: _crowded(rng, name), name)


def _accepted(draw: Callable[[], str], name: str) -> str:
    """Draw until fields, terrain and start contradict each other nowhere."""
    while True:
        text = draw()
        try:
            parse_variant(text, name=name, origin=name)
        except VariantError:
            continue
        return text


def _small(rng: random.Random, name: str) -> str:
    terrain = rng.choice(_TERRAINS)
    start = random_position(rng, terrain, men=4, king_at_castle=True)[0]
    return _variant_file(rng, name, terrain, start)


def _crowded(rng: random.Random, name: str) -> str:
    size = rng.choices([3, 5, 7, 9, 11, 13, 19], [45, 35, 14, 3, 3, 1, 1])[0]
    images = _images(rng, size)
    cells = [(row, column) for row in range(size) for column in range(size)]
    weights = [30, rng.choice([0, 2, 10, 30]), *(rng.choice([0, 0, 1, 4]) for _ in "ABCD")]
    terrain: dict[tuple[int, int], str] = {}
    for cell in cells:
        corner = cell[0] in (0, size - 1) and cell[1] in (0, size - 1)
        letter = rng.choice("+X*.") if corner else rng.choices(".*ABCD", weights)[0]
        terrain.setdefault(cell, letter)
        for image in images:
            terrain.setdefault(image(*cell), letter)
    castle = (size // 2, size // 2) if len(images) > 1 or rng.random() < 0.5 else rng.choice(cells)
    terrain[castle] = "T"
    board = dict.fromkeys(cells, ".")
    king = castle if rng.random() < 0.7 else rng.choice([cell for cell in cells if terrain[cell] in ".+T"])
    board[king] = "K"
    free = rng.sample(cells, len(cells))
    # Few men or any number of them, up to a full board of either kind.
    left = rng.choice([rng.randrange(1, 5), rng.randrange(1, len(cells)), len(cells)])
    defending = rng.choice([0.0, 0.1, 0.3, 0.6])
    for cell in free:
        for image in images if rng.random() < 0.9 else images[:1]:
            place, piece = image(*cell), "w" if rng.random() < defending else "b"
            if left and board[place] == "." and terrain[place] not in ("TX" if piece == "b" else "TXABCD"):
                board[place] = piece
                left -= 1
    if "b" not in board.values():
        homes = [cell for cell in cells if terrain[cell] not in "TX" and cell != king]
        if not homes:
            return _crowded(rng, name)
        board[rng.choice(homes)] = "b"
    diagrams = (["".join(of[row, column] for column in range(size)) for row in range(size)] for of in (terrain, board))
    camps = [f"{FILES[column]}{size - row}" for row, column in cells if terrain[row, column] in "ABCD"]
    return _variant_file(rng, name, *diagrams, [camp for camp in camps if rng.random() < 0.2])


def _images(rng: random.Random, size: int) -> list[Callable[[int, int], tuple[int, int]]]:
    """Return a group of symmetries of a square, by what they do to a row and a column; the identity comes first."""
    last = size - 1
    halves: list[Callable[[int, int], tuple[int, int]]] = [
        lambda row, column: (row, column),
        lambda row, column: (last - row, last - column),
        lambda row, column: (row, last - column),
        lambda row, column: (last - row, column),
    ]
    turned = [lambda row, column, half=half: half(column, row) for half in halves]
    return rng.choice([halves[:1], halves[:1], halves[:2], [halves[0], halves[2]], halves, [*halves, *turned]])


def _variant_file(
    rng: random.Random, name: str, terrain: Sequence[str], start: Sequence[str], inert: Sequence[str] = ()
) -> str:
    """Return a variant file with these diagrams, every rule drawn."""
    letters = set("".join(terrain))
    lines = [f'name = "{name}"', 'terrain = """', *terrain, '"""', 'start = """', *start, '"""', *_drawn(rng, Rules)]
    lines += [_later(rng)]
    lines += [f"move_limit = {rng.randrange(1, 9)}"] if rng.random() < 0.6 else []
    for table, model, needed in (
        ("castle", CastleRules, "T"),
        ("camps", CampRules, "ABCD"),
        ("king", KingRules, "T"),
        ("corners", CornerRules, "X"),
    ):
        if letters & set(needed):
            lines += [f"[{table}]", *_drawn(rng, model), *([f"inert = {list(inert)}"] if table == "camps" else [])]
    return "\n".join(lines) + "\n"


def _later(rng: random.Random) -> str:
    """Return the lines of the rules that are tables; camps go with no fort."""
    results = get_args(Repetition.model_fields["result"].annotation)
    word, times = json.dumps(rng.choice(["draw", "mover_loses"])), rng.randrange(2, 5)
    table = f"{{ times = {times}, result = {json.dumps(rng.choice(results))} }}"
    lines = [
        f"repetition = {rng.choice([word, word, table])}",
        f'fort = "{rng.choice(["none", "on_edge", "on_edge_counted"])}"',
    ]
    if rng.random() < 0.3:
        lines.append(f"shieldwall = {{ {', '.join(_drawn(rng, Shieldwall))} }}")
    return "\n".join(lines)


def _drawn(rng: random.Random, model: type[BaseModel]) -> list[str]:
    """Return a line for each rule of a table that has a few values; wide corners ask for more of a board."""
    kinds = {info.alias or name: info.annotation for name, info in model.model_fields.items()}
    return [
        f"{name} = {json.dumps(rng.choice([True, False] if kind is bool else get_args(kind)))}"
        for name, kind in kinds.items()
        if name not in ("fort", "wide") and (kind is bool or get_origin(kind) is Literal)
    ]


def random_position(
    rng: random.Random, terrain: tuple[str, ...], men: int, *, king_at_castle: bool = False
) -> tuple[list[str], str]:
    """Return the rows and the one-line text of a random placement with a random side to move."""
    cells = {(row, column): letter for row, text in enumerate(terrain) for column, letter in enumerate(text)}
    castle = next(cell for cell, letter in cells.items() if letter == "T")
    plain = [cell for cell, letter in cells.items() if letter in ".+"]
    king = castle if king_at_castle else rng.choice([cell for cell in plain if cells[cell] == "."] or plain)
    board = dict.fromkeys(cells, ".")
    board[king] = "K"
    free = [cell for cell in plain if cell != king]
    rng.shuffle(free)
    defenders = rng.choice([0, 0, 1, 2])
    soldiers = ["b"] * max(1, men - 1 - defenders) + ["w"] * min(defenders, men - 2)
    for cell, piece in zip(free, soldiers, strict=False):
        board[cell] = piece
    rows = ["".join(board[row, column] for column in range(len(terrain))) for row in range(len(terrain))]
    return rows, one_line(rows, rng.choice("wb"))


def one_line(rows: list[str], side: str) -> str:
    """Return the one-line text of rows from the top."""
    texts = []
    for row in rows:
        text, run = "", 0
        for letter in row:
            if letter == ".":
                run += 1
            else:
                text += (str(run) if run else "") + letter
                run = 0
        texts.append(text + (str(run) if run else ""))
    return "/".join(texts) + f" {side}"
