"""Puzzles listed, shown and played: nothing given away, every move judged as the solver judges it."""

import io
import json
import re
from importlib import resources
from pathlib import Path

import pytest

from reports.studies.puzzle_trees import puzzle_tree
from retrograde.proofs import ProofLimits, solve
from retrograde.puzzles.puzzle_file import Filter, Puzzle, choose, facts_of, parse_puzzles, read_puzzles
from retrograde.puzzles.puzzle_game import PuzzleGame, PuzzleTree, open_puzzle
from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError, UnknownError
from tablut.position import Move, Position, square_name
from tablut.variants import load_variant
from tests.support.effort import slow_but

Captured = pytest.CaptureFixture[str]
SAMPLE = ["ashton-01", "brandubh-12", "clear-edge-reached", "clear-edge-beside-corner", "mcgill-05"]


def puzzle_named(name: str) -> Puzzle:
    return read_puzzles(name)[0]


@pytest.fixture(scope="module", params=slow_but(["ashton-01", "clear-edge-reached"], SAMPLE))
def tree(request: pytest.FixtureRequest) -> PuzzleTree:
    return puzzle_tree(puzzle_named(request.param))


def test_a_tree_holds_every_legal_move_and_is_right_where_the_solver_is(tree: PuzzleTree) -> None:
    variant = tree.variant
    if tree.opening is not None:
        board = Board(variant, tree.position)
        found = solve(variant, tree.position)
        assert Move.parse(tree.opening, board.size) in found.winning_moves
        board.push_text(tree.opening)
        assert str(board.position) == tree.nodes[0].position
    for node in tree.nodes:
        board = Board(variant, node.position)
        assert sorted({*node.right, *node.wrong}) == sorted(map(str, board.legal_moves))
        assert not {*node.right} & {*node.wrong}
        found = solve(variant, node.position)
        assert (found.winner, found.dtm) == (tree.winner, node.plies)
        assert sorted(node.right) == sorted(map(str, found.winning_moves))


def test_answers_of_a_tree_are_the_longest_and_its_refutations_refute(tree: PuzzleTree) -> None:
    node = tree.nodes[0]
    some = list(node.wrong.items())[::7]
    for move, answer in [*node.right.items(), *some]:
        board = Board(tree.variant, node.position)
        board.push_text(move)
        assert [*answer.takes] == [square_name(square, board.size) for square in board.captured()]
        if board.outcome() is not None:
            assert answer.reply is None
            assert (board.outcome().winner == tree.winner) == (move in node.right)  # type: ignore[union-attr]
            continue
        assert answer.reply is not None
        board.push_text(answer.reply)
        if move in node.right and board.outcome() is None:
            assert solve(tree.variant, board.position).dtm == node.plies - 2
            assert answer.to is not None
            assert tree.nodes[answer.to].position == str(board.position)
        elif board.outcome() is None:
            found = solve(tree.variant, board.position, limits=ProofLimits(nodes=200_000))
            bounds = found.bounds[tree.winner]  # type: ignore[index]
            assert found.winner != tree.winner or bounds.no_win_within >= node.plies - 2


def test_a_tree_says_when_it_is_too_large() -> None:
    with pytest.raises(UnknownError):
        puzzle_tree(puzzle_named("brandubh-12"), most=3)
    with pytest.raises(UnknownError):
        puzzle_tree(puzzle_named("brandubh-12"), ProofLimits(nodes=1000, positions=0))


def test_a_game_is_won_by_right_moves_against_the_longest_defence() -> None:
    game = open_puzzle(puzzle_named("brandubh-16"))
    plies = game.plies
    while not game.over:
        game.play(game.judge(next(iter(game.right_moves()))))
    assert game.board.ply == plies
    assert game.board.outcome().winner == "white"  # type: ignore[union-attr]


def test_what_is_no_win_is_not_played(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        open_puzzle(parse_puzzles("mine", "1K3/5/5/5/2b2 w; variant=ashton-5-4v0")[0])
    # Under a limit of two plies the start, which white wins in three, is a draw.
    shipped = resources.files("tablut.variants") / "data" / "ashton-5-4v0.toml"
    rules = tmp_path / "short.toml"
    rules.write_text(re.sub(r"(?m)^first = .*$", r"\g<0>\nmove_limit = 2", shipped.read_text()))
    assert load_variant(str(rules)).rules.move_limit == 2
    with pytest.raises(InputError):
        open_puzzle(parse_puzzles("mine", "2b2/5/b1K1b/5/2b2 w", str(rules))[0])


# -- lists ---------------------------------------------------------------------------------


def test_a_list_says_nothing_of_the_solution(capsys: Captured) -> None:
    assert run(["puzzle", "list", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["puzzles"]) == len(read_puzzles("collection"))
    for one in answer["puzzles"]:
        assert set(one) == {"id", "variant", "position", "side", "winner", "claim", "plies", "grade", "theme"}
        assert (one["side"] == "white") == one["position"].endswith(" w")


def test_every_filter_keeps_what_it_says() -> None:
    every = read_puzzles("collection")
    facts = {puzzle.id: facts_of(puzzle) for puzzle in every}
    wishes = {
        Filter(variant="mcgill"): lambda puzzle: puzzle.variant == "mcgill",
        Filter(side="black"): lambda puzzle: puzzle.position.side == "b",
        Filter(winner="black"): lambda puzzle: puzzle.stipulation.winner == "black",
        Filter(shortest=7): lambda puzzle: puzzle.stipulation.plies >= 7,
        Filter(longest=3): lambda puzzle: puzzle.stipulation.plies <= 3,
        Filter(grades=(2, 5)): lambda puzzle: puzzle.tags.get("grade") in ("2", "5"),
        Filter(theme="EDGE"): lambda puzzle: "edge" in puzzle.tags.get("pattern", ""),
        Filter(theme="ending"): lambda puzzle: facts[puzzle.id].theme == "ending",
    }
    for wanted, fits in wishes.items():
        kept = choose(every, wanted)
        assert kept == [puzzle for puzzle in every if fits(puzzle)]
        assert 0 < len(kept) < len(every), wanted


def test_a_file_of_ones_own_is_listed_and_played(tmp_path: Path, play) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("2b2/5/b1K1b/5/2b2 w; id=one; stipulation=white wins in 3\n")
    options = ("--file", str(file), "-v", "ashton-5-4v0")
    assert run(["puzzle", "list", str(file), "-v", "ashton-5-4v0"]) == 0
    code, out, _ = play("c3-b3|reveal", "one", *options)
    assert code == 1
    assert "revealed" in out


def test_show_hides_the_solution_until_it_is_asked_for(capsys: Captured) -> None:
    assert run(["puzzle", "show", "brandubh-02"]) == 0
    plain = capsys.readouterr().out
    assert "white to move" in plain
    assert "d4" not in plain
    assert run(["puzzle", "show", "brandubh-02", "--hint", "--solution", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["hint"] == "d4"
    assert answer["solution"][0] == "d4-d7"


# -- at the terminal -----------------------------------------------------------------------


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    """Return a function that solves with lines piped in, and gives exit code, output and errors."""
    monkeypatch.setenv("COLUMNS", "200")

    def played(lines: str, *options: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines.split("|")) + ("\n" if lines else "")))
        code = run(["puzzle", "play", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return played


def test_a_puzzle_is_solved(play) -> None:
    code, out, err = play("d4-d7|d7-g7", "brandubh-02")
    assert (code, err) == (0, "")
    assert "brandubh-02: solved, 0 wrong moves, 0 hints" in out


def test_moves_of_the_command_line_come_first(play) -> None:
    code, out, _ = play("d7-g7", "brandubh-02", "--move", "[red]", "--move", "d4-d7")
    assert code == 0
    assert "'[red]': neither a move nor a command" in out
    assert "solved, 0 wrong moves" in out


def test_a_wrong_move_is_refuted_and_taken_back(play) -> None:
    code, out, _ = play("d4-d5|hint|hint|quit", "brandubh-02")
    assert code == 1
    assert "d4-d5: wrong, because black's reply" in out
    assert "look at the piece on d4" in out
    assert "play d4-d7" in out
    assert "not solved, 1 wrong move, 2 hints" in out


def test_the_defence_begins_where_it_is_to_move(play) -> None:
    code, out, _ = play("reveal", "clear-edge-reached", "--json")
    answer = json.loads(out)
    assert code == 1
    assert (answer["side"], answer["solved"], answer["revealed"], len(answer["line"])) == ("white", False, True, 2)


def test_an_interruption_takes_the_tried_move_back(monkeypatch: pytest.MonkeyPatch) -> None:
    game = PuzzleGame(load_variant("ashton-5-4v0"), Position.parse("2b2/5/b1K1b/5/2b2 w", 5), "white", 3)
    move = next(iter(game.board.legal_moves))

    def interrupt(_: Board) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Board, "outcome", interrupt)
    with pytest.raises(KeyboardInterrupt):
        game.judge(move)
    assert game.board.ply == 0
