"""Players by name, and the command that asks one of them for a move."""

import json

import pytest

from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.play.players import PLAYERS, PlayerOptions, make_player, player_names
from tablut.play.search import SearchLimits
from tablut.variants import load_variant, shipped_variants

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("variant", shipped_variants(), ids=lambda variant: variant.name)
@pytest.mark.parametrize("name", player_names())
def test_every_player_plays_every_variant(variant, name):
    player = make_player(name, variant, PlayerOptions(hash_mib=1))
    board = Board(variant)
    for _ in range(6):
        if board.outcome() is not None:
            break
        before = board.copy()
        choice = player.choose(board, SearchLimits(nodes=300))
        assert (board, board.move_stack) == (before, before.move_stack)
        assert choice.move in board.legal_moves
        assert choice.pv[0] == choice.move
        for move in choice.pv:
            before.push(move)  # a line of legal moves
        board.push(choice.move)


def test_search_beats_chance():
    variant = load_variant("brandubh")
    players = {
        "black": make_player("alphabeta", variant, PlayerOptions(hash_mib=1)),
        "white": make_player("random", variant, PlayerOptions(seed=3)),
    }
    for _ in range(3):
        board = Board(variant)
        while board.outcome() is None and board.ply < 200:
            board.push(players[board.turn].choose(board, SearchLimits(nodes=3000)).move)
        assert board.outcome().winner == "black"


def test_the_random_player_is_its_seed():
    board = Board("ashton")
    games = []
    for seed in (1, 1, 2):
        player = make_player("random", board.variant, PlayerOptions(seed=seed))
        games.append([player.choose(board, SearchLimits(nodes=1)).move for _ in range(10)])
    assert games[0] == games[1] != games[2]


def test_unknown_players_are_named_with_the_known_ones():
    with pytest.raises(InputError, match="player 'alphago': unknown; the players are alphabeta, random, greedy, "):
        make_player("alphago", load_variant("ashton"))
    assert set(player_names()) == set(PLAYERS)


def answer(capsys: Captured, *arguments: str) -> dict:
    assert run(["bestmove", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_follows_the_game(capsys: Captured):
    first = answer(capsys, "-v", "brandubh", "--player", "random", "--seed", "4")
    assert (first["score"], first["mate"], first["depth"], first["nodes"]) == (None, None, 0, 0)
    second = answer(capsys, "-v", "brandubh", "--nodes", "2000", "--hash", "1", "-m", first["move"])
    assert second["position"].endswith(" w")
    assert isinstance(second["score"], int)
    deep = answer(capsys, "-v", "brandubh", "--depth", "3", "--hash", "1")
    assert deep["depth"] == 3


def test_people_see_board_move_score_and_line(capsys: Captured):
    assert run(["bestmove", "-v", "ashton-7-4v1", "--nodes", "20000", "--hash", "1"]) == 0
    shown = capsys.readouterr().out
    for expected in ("♔", "white to move", "move   d4-b4", "wins in 3 plies", "line   d4-b4 "):
        assert expected in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--player", "nobody"], "player 'nobody'"),
        (["--nodes", "0"], "nodes 0"),
        (["--movetime", "-1"], "movetime -1.0"),
        (["-v", "ashton-5-4v0", "-m", "c3-c5"], "move c3-c5"),
        (["--tablebase", "nowhere"], "nowhere"),
        (["--playouts", "0"], "playouts 0"),
        (["--playouts", "100"], "limits: none given that would end this; name a time, a number of nodes or a depth"),
        (["--player", "mcts", "--depth", "3"], "name a time, a number of nodes or a number of playouts"),
        (["--player", "payoff", "--playouts", "9"], "name a time, a number of nodes or a depth"),
        (["--player", "random", "--option", "c=1"], "option 'c': unknown to player random; it has none"),
        (["--player", "mcts", "--option", "size=1"], "option 'size': unknown to player mcts; its options are depth, "),
        (["--player", "mcts", "--option", "depth=0"], "option depth='0': expected a whole number from 1 to 512"),
        (["--player", "mcts", "--option", "c=nan"], "option c='nan': expected a number from 0 to 1000"),
        (["--player", "mcts", "--option", "turn=mine"], "option turn='mine': expected aware or blind"),
        (["--player", "payoff", "--option", "own"], "option 'own': expected NAME=VALUE"),
        (["--player", "minimax3", "--option", "piece=1e3"], "option piece='1e3': expected a whole number"),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys: Captured, arguments, words):
    assert run(["bestmove", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert printed.err.count("\n") == 1
