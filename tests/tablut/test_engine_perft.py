"""perft: the published figures, the corpus, and the reduced boards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablut.engine import engine_for
from tablut.position import cells_of_code
from tablut.rules import NaiveGame
from tablut.variants import load_variant
from tests.support.placements import letters

FIGURES = {
    "ashton": [56, 4408, 248456, 19158688, 1074116528],
    "bologna": [56, 4408, 248456, 19159224, 1074150880],
    "mcgill": [72, 3944, 285728, 15940512, 1167783592],
    "leiden": [56, 4408, 251856, 20023952],
    "berkeley": [80, 4400, 353200, 19913864, 1611674360],
    "brandubh": [40, 960, 39512, 1007392, 41843336],
    "ashton-5-4v0": [4, 76, 296, 2648],
    "alea-evangelii": [580, 107492],
}
CORPUS = Path(__file__).parents[1] / "data" / "perft"


def read_corpus():
    """Yield (variant, id, position, figures) of every line of the corpus."""
    for path in sorted(CORPUS.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith(("#", "variant ")):
                name, position, depths, _ = (part.strip() for part in line.split(";"))
                figures = {int(depth): int(nodes) for depth, nodes in (part.split("=") for part in depths.split())}
                yield path.stem, name, position, figures


def board_of(name, text):
    game, engine = NaiveGame(load_variant(name)), engine_for(load_variant(name))
    position = game.read(text)
    return engine, engine.board(letters(game.size, position), position.side)


def assert_perft(name, text, depth, expected):
    """Compare both modes; on a mismatch print the position and the divide."""
    engine, board = board_of(name, text)
    applied, counted = engine.perft_applied(board, depth).nodes, engine.perft(board, depth)
    if not applied == counted == expected:
        game = NaiveGame(load_variant(name))
        divide = {}
        for move, nodes in engine.divide(board, depth).items():
            ends = [(cell % game.size, cell // game.size) for cell in cells_of_code(move, game.size)]
            divide[game.move_name((ends[0], ends[1]))] = nodes
        pytest.fail(f"{name} {text} depth {depth}: {expected} expected, {counted=} {applied=}, {divide=}")


@pytest.mark.parametrize(
    ("name", "depth"),
    [(name, depth) for name, figures in FIGURES.items() for depth in range(1, min(len(figures), 4) + 1)],
)
def test_published_figures(name, depth):
    assert_perft(name, load_variant(name).start_position, depth, FIGURES[name][depth - 1])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, figures in FIGURES.items() if len(figures) > 4])
def test_published_figures_at_depth_5(name):
    assert_perft(name, load_variant(name).start_position, 5, FIGURES[name][4])


@pytest.mark.parametrize("name", sorted(path.stem for path in CORPUS.glob("*.txt")))
def test_corpus(name):
    """Both modes give the figures, and the naive twin those of few moves."""
    game = NaiveGame(load_variant(name))
    for variant, _, text, figures in read_corpus():
        if variant == name:
            for depth, nodes in figures.items():
                assert_perft(name, text, depth, nodes)
            if figures[1] < 25:
                position = game.read(text)
                assert [game.perft(position, depth) for depth in (1, 2)] == [figures[1], figures[2]]


def test_threads_share_the_same_tree():
    engine = engine_for(load_variant("ashton"))
    board = engine.start()
    assert engine.perft(board, 4, threads=2) == 19158688
    divide = engine.divide(board, 3)
    assert len(divide) == 56
    assert sum(divide.values()) == 248456
    assert engine.perft(board, 0) == 1
