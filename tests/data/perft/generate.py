"""Writes the perft corpus: for each variant, positions in which each kind of capture or ending is one move away.

Run as ``python tests/data/perft/generate.py``. The positions are random placements, asymmetric, kept
when they offer a kind that the variant's corpus still lacks for the side to move; every
figure is counted by the naive twin, and the tests count it again with the kernels.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from symmetry import stabiliser
from tablut.rules import NaiveGame, NaivePosition
from tests.support.games import OLDER
from tests.support.strategies import placement

if TYPE_CHECKING:
    from tablut.variants import Variant

SEED = 20180
TRIES = 12000
CROWDED_TRIES = 4000
DEPTH_3_UP_TO = 1500


def kinds(game: NaiveGame, position: NaivePosition) -> set[str]:
    """Name every kind of capture and ending that is one move away."""
    found = set()
    for move in game.legal_moves(position):
        result = game.apply(position, move)
        target = move[1]
        mover = position.piece(move[0])
        if len(result.captured) > 1:
            found.add(f"{mover}-takes-{len(result.captured)}")
        for victim in result.captured:
            behind = (2 * victim[0] - target[0], 2 * victim[1] - target[1])
            letter = game.terrain[behind]
            what = "camp" if letter in "ABCD" else {"T": "castle", "X": "corner"}.get(letter, "cell")
            found.add(
                f"{mover}-takes-{position.piece(victim)}-against-{result.position.piece(behind) or 'no'}-on-{what}"
            )
            if game.terrain[victim] in "ABCD":
                found.add(f"{mover}-takes-in-camp")
        if result.outcome is not None:
            ending = f"{result.outcome.termination}-{result.outcome.winner}"
            if result.outcome.termination == "king_captured":
                king = position.king()
                distance = abs(king[0] - game.castle[0]) + abs(king[1] - game.castle[1])
                black = sum(
                    result.position.piece((king[0] + x, king[1] + y)) == "b"
                    for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0))
                )
                ending += f"-{('on', 'beside')[distance] if distance < 2 else 'off'}-castle-by-{black}"
            found.add(ending)
    return found


def crowded(variant: Variant, random: Random) -> NaivePosition:
    """Return a placement with what random ones hardly ever show: three captures at once, or a besieged castle."""
    game, size = NaiveGame(variant), variant.size
    position = placement(variant, random, soldiers=random.randrange(2, 6))
    pieces = dict(position.pieces)
    file, rank = random.randrange(size), random.randrange(size)
    ways = random.sample([(0, 1), (1, 0), (0, -1), (-1, 0)], 4)
    own, enemy = random.choice(["bw", "wb"])
    pattern = {}
    if random.random() < 0.5:
        for x, y in ways[:3]:
            pattern[file + x, rank + y] = enemy
            pattern[file + 2 * x, rank + 2 * y] = own
        distance = random.randrange(1, size)
        pattern[file + distance * ways[3][0], rank + distance * ways[3][1]] = own
    else:
        pieces = {cell: piece for cell, piece in pieces.items() if piece != "K"}
        (file, rank), (x, y) = game.castle, ways[0]
        pattern = {(file + x, rank + y): "w" for x, y in ways[:1]} | {(file + x, rank + y): "b" for x, y in ways[1:]}
        distance = random.choice([-1, 1]) * random.randrange(1, size)
        pattern |= {(file, rank): "K", (file + 2 * x + distance * y, rank + 2 * y + distance * x): "b"}
    for cell, piece in pattern.items():
        banned = {"b": "TX", "w": "TXABCD", "K": ""}[piece]
        if cell in game.terrain and game.terrain[cell] not in banned and pieces.get(cell) != "K":
            pieces[cell] = piece
    return NaivePosition(pieces, random.choice("wb"))


def corpus(variant: Variant) -> list[str]:
    """Return the lines of one variant."""
    random, game = Random(SEED), NaiveGame(variant)
    cells = [(cell % variant.size, cell // variant.size) for cell in range(variant.size**2)]
    lines, known = [], set()
    for number in range(TRIES + CROWDED_TRIES):
        if number < TRIES:
            position = placement(variant, random, soldiers=random.randrange(3, 11))
        else:
            position = crowded(variant, random)
        if len(stabiliser(variant.symmetries, [position.piece(cell) for cell in cells])) > 1:
            continue
        new = {f"{position.side}:{kind}" for kind in kinds(game, position)} - known
        if not new:
            continue
        known |= new
        figures = [game.perft(position, 1), game.perft(position, 2)]
        if figures[1] <= DEPTH_3_UP_TO:
            figures.append(game.perft(position, 3))
        depths = " ".join(f"{depth}={nodes}" for depth, nodes in enumerate(figures, 1))
        lines.append(f"{','.join(sorted(new))}; {game.write(position)}; {depths}; naive twin, seed {SEED}")
    return lines


def main() -> None:
    """Write one file a variant, beside this one."""
    for variant in OLDER:
        header = f"# id (side:kinds first shown here); position; depth=nodes; source\nvariant {variant.name}\n"
        path = Path(__file__).parent / f"{variant.name}.txt"
        path.write_text(header + "\n".join(corpus(variant)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
