"""Random rule sets on small boards, as TOML files; and random positions for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

__all__ = ["random_position", "random_rule_set"]

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
    terrain = rng.choice(_TERRAINS)
    size, letters = len(terrain), "".join(terrain)

    def flag() -> str:
        return rng.choice(["true", "false"])

    start = [list(row) for row in random_position(rng, terrain, men=4, king_at_castle=True)[0]]
    lines = [
        f'name = "{name}"',
        'terrain = """',
        *terrain,
        '"""',
        'start = """',
        *("".join(row) for row in start),
        '"""',
        f'first = "{rng.choice(["white", "black"])}"',
        f'no_moves = "{rng.choice(["side_to_move_loses", "either_after_ply"])}"',
        f'repetition = "{rng.choice(["draw", "mover_loses", "none"])}"',
        *([f"move_limit = {rng.randrange(1, 9)}"] if rng.random() < 0.6 else []),
        "[castle]",
        f'pass = "{rng.choice(["nobody", "king", "everyone"])}"',
        f'stop = "{rng.choice(["nobody", "king"])}"',
        f'hostile_to_white = "{rng.choice(["never", "empty", "empty_or_besieged", "always"])}"',
        f'hostile_to_black = "{rng.choice(["never", "empty", "always"])}"',
        "[camps]",
        f"hostile = {flag()}",
        f"shelter = {flag()}",
        "inert = []",
        "[king]",
        f"armed = {flag()}",
        f'on_castle = "{rng.choice(["four", "two"])}"',
        f'beside_castle = "{rng.choice(["as_on_castle", "as_elsewhere"])}"',
        f'elsewhere = "{rng.choice(["two", "four"])}"',
        *(["[corners]", f"hostile = {flag()}"] if "X" in letters else []),
    ]
    if not set(letters) & set("ABCD"):
        at = lines.index("[camps]")
        del lines[at : at + 4]
    if size < 3:
        raise ValueError(f"{name}: a board of {size} cells a side")
    return "\n".join(lines) + "\n"


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
