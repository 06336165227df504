"""Players by name, and the command that asks one of them for a move."""

import pytest

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.players import PLAYERS, PlayerOptions, make_player, player_names
from tablut.play.search import SearchLimits
from tablut.variants import load_variant, shipped_variants
from tests.support.commands import answer

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


def test_the_command_follows_the_game(capsys: Captured):
    first = answer(capsys, "-v", "brandubh", "--player", "random", "--seed", "4")
    assert (first["score"], first["mate"], first["depth"], first["nodes"]) == (None, None, 0, 0)
    second = answer(capsys, "-v", "brandubh", "--nodes", "2000", "--hash", "1", "-m", first["move"])
    assert second["position"].endswith(" w")
    assert isinstance(second["score"], int)
    deep = answer(capsys, "-v", "brandubh", "--depth", "3", "--hash", "1")
    assert deep["depth"] == 3
