"""New puzzles: reproducible, what they claim, with one first move only; of a tablebase the deepest."""

import json
from itertools import pairwise

import numpy as np
import pytest

from reports.studies.collection.__main__ import NAME
from reports.studies.collection.__main__ import make_command as app
from reports.studies.collection.making import (
    Wanted,
    from_almost,
    from_placements,
    from_self_play,
    is_symmetrical,
    self_play,
)
from reports.studies.collection.mining import from_tablebase
from retrograde.proofs.solver import solve
from retrograde.proofs.win_search import ProofLimits
from retrograde.puzzles.puzzle_file import judge, read_puzzles
from retrograde.solver.build import build_tablebase
from retrograde.tablebase import open_tablebase
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.rules import NaiveGame
from tablut.variants import load_variant
from tests.support.effort import slow_but

pytestmark = pytest.mark.study
FEW = ProofLimits(nodes=100_000, memory_bytes=1 << 22, positions=0)
MANY = ProofLimits(nodes=2_000_000, memory_bytes=1 << 22, positions=0)
PLIES = (3, 99)
MEN = {"ashton-5-4v0": 4, "brandubh-5-4v4": 3}


def assert_sound(made, variant, plies) -> None:
    assert made.puzzles
    boards = [Board(variant, puzzle.position).canonical() for puzzle in made.puzzles]
    assert len(set(boards)) == len(boards)
    for puzzle in made.puzzles:
        assert not Board(variant, puzzle.position).status()
        assert not is_symmetrical(variant, puzzle.position)
        solution = solve(variant, puzzle.position, limits=MANY)
        assert judge(puzzle, solution) == "holds"
        assert solution.dtm is not None
        assert plies[0] <= solution.dtm <= plies[1]
        assert len(solution.winning_moves) == 1
        assert puzzle.first == solution.winning_moves
        assert 1 <= int(puzzle.tags["grade"]) <= 5


def test_self_play_is_legal_and_the_same_for_a_seed() -> None:
    variant = load_variant("mcgill")
    first, second = ([*self_play(variant, np.random.default_rng(seed), 30)] for seed in (1, 1))
    assert first == second
    assert first != [*self_play(variant, np.random.default_rng(2), 30)]
    for before, after in pairwise(first):
        board = Board(variant, before)
        replies = []
        for move in board.legal_moves:
            board.push(move)
            replies.append(board.position)
            board.pop()
        assert after in replies


def test_puzzles_from_self_play() -> None:
    variant = load_variant("brandubh")
    made, again = (
        from_self_play(variant, Wanted(number=3, seed=5, plies=(3, 5), limits=FEW), games=12) for _ in range(2)
    )
    assert made == again
    assert_sound(made, variant, (3, 5))


def test_the_command_writes_what_can_be_read(tmp_path, capsys) -> None:
    out = tmp_path / "new.txt"
    arguments = ["-v", "brandubh-5-4v0", "-n", "1", "--min-plies", "5", "--out", str(out), "--json"]
    assert run(arguments, app, NAME) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["puzzles"] == [str(puzzle) for puzzle in read_puzzles(str(out))]
    assert run([*arguments, "--games", "9", "-n", "50"], app, NAME) == 3
    for wrong in (["--min-plies", "9", "--max-plies", "3"], ["--from", "tablebase", "--theme", "shieldwall"]):
        assert run(wrong, app, NAME) == 2


def test_puzzles_from_placements() -> None:
    variant = load_variant("brandubh")
    made, again = (
        from_placements(variant, Wanted(number=2, seed=1, plies=(5, 9), limits=FEW, winner="white"), samples=300, men=7)
        for _ in range(2)
    )
    assert made == again
    assert_sound(made, variant, (5, 9))
    for puzzle in made.puzzles:
        attackers, defenders = puzzle.position.material
        assert 5 <= attackers + defenders + 1 <= 7
        assert puzzle.position.side == "w"
    with pytest.raises(InputError, match="99"):
        from_placements(variant, Wanted(number=1, seed=1, plies=(1, 9), limits=FEW), samples=10, men=99)


@pytest.mark.parametrize("theme", ["shieldwall", "exit fort", "encirclement"])
def test_puzzles_of_a_theme_have_it_in_their_solution(theme) -> None:
    variant = load_variant("copenhagen")
    wanted = Wanted(number=1, seed=1, plies=(3, 3), limits=FEW, theme=theme)
    made = from_almost(variant, wanted, samples=400)
    assert_sound(made, variant, (3, 3))
    (puzzle,) = made.puzzles
    assert puzzle.tags["theme"] == theme
    game, taken = NaiveGame(variant), 0
    position = game.read(str(puzzle.position))
    for move in solve(variant, puzzle.position, limits=FEW).line:
        result = game.apply(position, game.parse_move(str(move)))
        position, taken = result.position, max(taken, len(result.captured))
    if theme == "shieldwall":
        assert taken >= 2
    else:
        assert result.outcome.how == theme
    if theme != "encirclement":
        with pytest.raises(InputError):
            from_almost("fetlar", wanted, samples=1)


# -- the deepest of a tablebase, by looking at every position in plain Python --------------


@pytest.fixture(scope="module", params=slow_but(["brandubh-5-4v4"], MEN))
def mine(request, tmp_path_factory):
    variant = load_variant(request.param)
    store = tmp_path_factory.mktemp("mine") / "store"
    build_tablebase(store, variant, MEN[request.param])
    return variant, open_tablebase(store)


def attaining(board, prober, plies):
    """Return the moves after which the side to move has won in so many plies, by the plain rules."""
    found = []
    mover = {"w": "white", "b": "black"}[board.position.side]
    for move in board.legal_moves:
        board.push(move)
        outcome = board.outcome()
        if outcome is not None:
            if outcome.winner == mover and plies == 1:
                found.append(move)
        else:
            verdict = prober.probe(board.position)
            if verdict.wdl == "loss" and verdict.dtm == plies - 1:
                found.append(move)
        board.pop()
    return found


def puzzles_by_hand(variant, prober, least):
    """Return the canonical boards of all puzzles of at least so many plies, with their distance."""
    found = {}
    for one in list_positions(prober.store, TableQuery(wdl="win", shortest=least), 10**6).positions:
        board = Board(variant, one.position)
        if board.status() or is_symmetrical(variant, one.position):
            continue
        if len(attaining(board, prober, one.dtm)) == 1:
            found[board.canonical()] = one.dtm
    return found


def test_every_position_is_looked_at_however_small_the_pool(mine, monkeypatch: pytest.MonkeyPatch) -> None:
    variant, prober = mine
    wanted = Wanted(number=20, seed=1, plies=PLIES, limits=MANY)
    made = from_tablebase(variant, prober, wanted)
    depths = [puzzle.stipulation.plies for puzzle in made.puzzles]
    assert len(depths) == 20
    assert depths == sorted(depths, reverse=True)
    by_hand = puzzles_by_hand(variant, prober, depths[-1])
    boards = [Board(variant, puzzle.position).canonical() for puzzle in made.puzzles]
    assert len(set(boards)) == 20
    assert [by_hand[board] for board in boards] == depths
    # None that is deeper was missed.
    assert sorted(by_hand.values(), reverse=True)[:20] == depths
    for puzzle in made.puzzles[:3]:
        solution = solve(variant, puzzle.position, limits=MANY, prober=prober)
        assert judge(puzzle, solution) == "holds"
        assert puzzle.first == solution.winning_moves
    monkeypatch.setattr("reports.studies.collection.mining._POOL", 1)
    found = from_tablebase(variant, prober, wanted._replace(number=4))
    assert [puzzle.stipulation.plies for puzzle in found.puzzles] == depths[:4]


def test_a_blunder_of_a_game_becomes_a_puzzle(tmp_path, capsys) -> None:
    """After b2-b1, white wins in 7 (a shipped puzzle). Before it, black had other moves."""
    (tmp_path / "game;1.txt").write_text(
        '[Variant "brandubh"]\n[Start "7/7/2bb3/b2Kw1w/6w/1b5/3b3 b"]\n1. b2-b1 e4-e1 b1-c1 d4-f4\n'
    )
    out = tmp_path / "out.txt"
    wanted = ["--records", str(tmp_path / "game;1.txt"), "--min-plies", "7", "--max-plies", "7", "--count", "1"]
    assert run([*wanted, "--out", str(out), "--json"], app, NAME) == 0
    answer = json.loads(capsys.readouterr().out)
    (puzzle,) = read_puzzles(str(out))
    assert (answer["variant"], str(puzzle.position)) == ("brandubh", "7/7/2bb3/b2Kw1w/6w/7/1b1b3 w")
    assert puzzle.tags["source"] == "game_1.txt, ply 1, after b2-b1"
    assert judge(puzzle, solve("brandubh", puzzle.position, limits=MANY)) == "holds"
    # Every game of a file counts. Its archives need rules, and all games must have the same rules.
    second = tmp_path / "second.txt"
    second.write_text('[Variant "brandubh"]\n1. d2-e2 *\n\n' + (tmp_path / "game;1.txt").read_text())
    assert run(["--records", str(second), *wanted[2:], "--out", str(out), "--json"], app, NAME) == 0
    assert read_puzzles(str(out))[0].tags["source"] == "second.txt game 2, ply 1, after b2-b1"
    capsys.readouterr()
    archive = tmp_path / "games.csv"
    archive.write_text("d2-e2 c4-c2,0,0,Ongoing\nd2-e2 zz,0,0,Ongoing\n")
    assert run(["--records", str(archive)], app, NAME) == 2
    assert "games.csv': names no rule set" in capsys.readouterr().err
    assert run(["--records", str(archive), *wanted[:2], "-v", "ashton"], app, NAME) == 2
    assert "line 2 was skipped" in capsys.readouterr().err
