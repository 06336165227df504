"""Aids of a player: books, tables and proofs ignore the history of the game, and any of them can break during it."""

import io
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError, TablutError
from tablut.indexing.values import Verdict
from tablut.play.arena import MatchPlan, Openings, contestant, play_match
from tablut.play.bridges.factory import player_from_name
from tablut.play.players import Choice, PlayerOptions
from tablut.play.players.registry import bare_choice
from tablut.play.search import Searcher, SearchLimits
from tablut.play.search.limits import repeats
from tablut.position import Move
from tablut.variants import Variant, load_variant
from tests.support.commands import answer
from tests.support.games import recurrence
from tests.tablut.test_engine_protocol import Talk
from tests.tablut.test_search_tree import shuffled

STORE = Path(__file__).parents[2] / "retrograde" / "data" / "ashton-5-4v0"
LIMITS = SearchLimits(nodes=50)

# Both sides return to the start, and the next move of the games repeats a position.
ROUND = "d7-c7 e4-e3 c7-d7 e3-e4"
TWICE = "h1-j1 f4-j4 j1-h1 j4-f4 " * 2


def make_book(folder: Path, lines: list[str], variant: str) -> Path:
    """Write an archive of games, and make a book of it."""
    (folder / "games.csv").write_text("".join(f"{line},0,0,Draw\n" for line in lines), encoding="utf-8")
    book = folder / "my.book"
    assert run(["book", "make", str(book), str(folder / "games.csv"), "-v", variant]) == 0
    return book


class Other:
    """The player behind a book; it makes the last legal move."""

    def choose(self, board: Board, limits: SearchLimits, **_: Any) -> Choice:
        return bare_choice(list(board.legal_moves)[-1])


@pytest.fixture
def booked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A function that makes a player with a book, for which the player behind it is `Other`."""

    def make(book: Path, variant: Variant, way: str = "best") -> Any:
        monkeypatch.setattr("tablut.play.bridges.factory.make_player", lambda *_: Other())
        options = PlayerOptions(settings=(("book", str(book)), ("book-move", way)))
        return player_from_name("random", variant, options)

    return make


def after(variant: str, moves: str) -> Board:
    board = Board(variant)
    for move in moves.split():
        board.push(move)
    return board


# -- the history ---------------------------------------------------------------------------


def test_a_book_does_not_repeat_a_position(tmp_path: Path, booked: Callable[..., Any]) -> None:
    book = make_book(tmp_path, [f"{ROUND} d2-e2"] * 5, "brandubh")
    player = booked(book, load_variant("brandubh"))
    *first, last = ROUND.split()
    for ply in range(len(first)):
        choice = player.choose(after("brandubh", " ".join(first[:ply])), LIMITS)
        assert (choice.source, ply) == ("book", ply)
    board = after("brandubh", " ".join(first))
    assert str(player.choose(board, LIMITS).move) != last
    assert player.choose(board, LIMITS).source == "search"
    # Without the history, the same position is nothing special.
    assert str(player.choose(Board("brandubh", board.position), LIMITS).move) == last


@pytest.mark.parametrize("ply", range(16))
def test_a_book_avoids_only_repetitions_that_hurt_its_side(
    ply: int, tmp_path: Path, booked: Callable[..., Any]
) -> None:
    """In Copenhagen tafl, White loses by repetition, so Black may follow the book."""
    book = make_book(tmp_path, [f"{TWICE} h1-i1"] * 5, "copenhagen")
    moves = TWICE.split()
    board = after("copenhagen", " ".join(moves[:ply]))
    choice = booked(book, board.variant).choose(board, LIMITS)
    assert (choice.source == "book") == (board.turn == "black" or ply < 3)


def test_the_search_decides_whether_to_repeat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = make_book(tmp_path, [f"{ROUND} d2-e2"] * 5, "brandubh")
    capsys.readouterr()
    words = ["bestmove", "-v", "brandubh", "--nodes", "2000", "--hash", "1"]
    for move in ROUND.split()[:-1]:
        words += ["-m", move]
    found, searched = answer(capsys, *words, "--book", str(book)), answer(capsys, *words)
    assert (found["move"], found["score"], found["source"]) == (searched["move"], searched["score"], "search")
    assert found["move"] != ROUND.split()[-1]
    assert found["score"] > 100


@pytest.mark.parametrize("way", ["best", "draw"])
def test_no_book_move_repeats_but_every_other_one_is_made(way: str, tmp_path: Path, booked: Callable[..., Any]) -> None:
    """Random games in which both sides like to go back, and a book of all of them; equivalent moves are allowed."""
    variant, random = load_variant("brandubh-5-4v4"), Random(3)
    lawless = replace(variant, rules=variant.rules.model_copy(update={"repetition": recurrence("none")}))
    games = [shuffled(lawless, random, 8) for _ in range(12)]
    book = make_book(tmp_path, [" ".join(map(str, game.move_stack)) for game in games], variant.name)
    player = booked(book, variant, way)
    seen = {"book": 0, "search": 0}
    for game in games:
        board = Board(variant)
        for move in game.move_stack:
            if board.outcome() is not None:
                break
            choice = player.choose(board, LIMITS)
            seen[choice.source] += 1
            if choice.source == "book":
                assert not repeats(board, choice.move)
            else:
                assert repeats(board, move)
            board.push(move)
    assert min(seen.values()) > 3, seen


def test_what_the_rules_say_about_a_repetition_is_asked() -> None:
    """The same moves under rules of repetition that differ, up to the move that returns to the start."""
    *first, last = [Move.parse(move, 7) for move in ROUND.split()]
    brandubh = load_variant("brandubh")
    hurts = {}
    for result in ("draw", "none", "mover_loses", "mover_wins", "white_loses", "black_loses"):
        repetition = brandubh.rules.repetition.model_copy(update={"result": result, "times": 3})
        rules = brandubh.rules.model_copy(update={"repetition": repetition})
        board = Board(replace(brandubh, rules=rules))
        for move in first:
            assert not repeats(board, move)
            board.push(move)
        assert board.turn == "white"
        hurts[result] = repeats(board, last)
    assert hurts == {
        "draw": True,
        "none": True,
        "mover_loses": True,
        "mover_wins": False,
        "white_loses": True,
        "black_loses": False,
    }


def test_a_move_that_reaches_the_move_limit_is_left_to_the_search() -> None:
    rules = load_variant("brandubh")
    board = Board(replace(rules, rules=rules.rules.model_copy(update={"move_limit": 2})))
    assert not repeats(board, Move.parse("d2-e2", 7))
    board.push("d2-e2")
    assert repeats(board, Move.parse("c4-c5", 7))


def test_a_proved_win_that_the_history_spoils_is_not_claimed() -> None:
    """The first move of the win leads to a position of the game, which is then a draw."""
    talk = Talk(variant="ashton-5-4v0")
    start, moves, win = "5/b1K2/4b/2b2/3b1 b", "d1-d4 c4-b4 d4-d3 b4-c4", "d3-d4"
    board = Board("ashton-5-4v0", start)
    for move in [*moves.split(), win]:
        assert board.outcome() is None
        board.push(move)
    assert board.outcome() is not None
    board.pop()
    assert talk(f"position {board.position}", "go mate 3")[-1] == f"bestmove {win}"
    *said, best = talk(f"position {start} moves {moves}", "go mate 3")
    assert best == "bestmove none"
    assert "spoiled" in said[-1]
    assert not any("mate 3" in line for line in said if line.startswith("info depth"))


# -- an aid that breaks --------------------------------------------------------------------


def say_and_move(talk: Talk, *lines: str) -> list[str]:
    """Send lines and a `go`; return what was said, of which the last is a legal move."""
    said = talk(*lines, "isready", "go nodes 200")
    assert talk.engine.board.is_legal(said[-1].removeprefix("bestmove "))
    assert "readyok" in said
    return [line.removeprefix("info string ") for line in said if line.startswith("info string")]


def broken(kind: str, book: Path) -> str:
    """Break a book after it has been accepted, and return a word of the message."""
    if kind == "deleted":
        book.unlink()
        return "my.book"
    if kind == "a folder":
        book.unlink()
        book.mkdir()
        return "my.book"
    content = {"empty": b"", "text": b"1. e4 e5\n", "noise": Random(1).randbytes(5000)}[kind]
    book.write_bytes(content)
    return "not a collection"


@pytest.mark.parametrize("kind", ["deleted", "a folder", "empty", "text", "noise"])
@pytest.mark.parametrize("when", ["before the first search", "during the game"])
def test_a_book_that_breaks_is_left_out(kind: str, when: str, tmp_path: Path) -> None:
    book = make_book(tmp_path, ["d2-e2 c4-c5 e2-e1"] * 3, "brandubh")
    talk = Talk(variant="brandubh", player="random", settings=f"book={book}")
    if when == "during the game":
        assert say_and_move(talk) == []
    word = broken(kind, book)
    (told,) = say_and_move(talk, "position startpos")
    assert word in told
    assert "book" in told
    # The next game goes on in the same way.
    assert len(say_and_move(talk, "ucinewgame")) == 1


def test_a_book_of_other_rules_is_left_out(tmp_path: Path) -> None:
    book = make_book(tmp_path, ["d2-e2 c4-c5"] * 3, "brandubh")
    talk = Talk(variant="ashton-5-4v0", player="random")
    (told,) = say_and_move(talk, f"setoption name settings value book={book}")
    assert "brandubh" in told


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ("book=", "book ''"),
        ("book=''", "book ''"),
        ("book=nosuchfile", "nosuchfile"),
        ("a=1 a=2", "'1' and '2'"),
        ("a", "NAME=VALUE"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_and_the_old_ones_stay(settings: str, word: str) -> None:
    talk = Talk(variant="ashton-5-4v0", player="mcts", settings="depth=3")
    (told,) = talk(f"setoption name settings value {settings}")
    assert word in told
    assert talk.engine._options.settings == "depth=3"
    assert say_and_move(talk) == []


@pytest.mark.parametrize(
    "options",
    [
        {"settings": "nosuch=1"},
        {"settings": "book-move=draw"},
        {"tables": str(STORE.parent)},
        {"tables": __file__},
        {"player": "mcts", "threads": 3},
        {"tables": __file__, "settings": "nosuch=1"},
    ],
)
def test_whatever_a_player_cannot_use_is_named_and_left_out(options: dict[str, Any]) -> None:
    told = say_and_move(Talk(variant="ashton-5-4v0", **options))
    assert told
    assert all("goes on without it" in line for line in told)


def test_a_broken_book_does_not_cost_the_tables(tmp_path: Path) -> None:
    book = make_book(tmp_path, ["c3-b3"] * 3, "ashton-5-4v0")
    talk = Talk(variant="ashton-5-4v0", tables=str(STORE), settings=f"book={book}")
    book.unlink()
    assert len(say_and_move(talk)) == 1
    assert any("tbhits" in line and "tbhits 0" not in line for line in talk("go nodes 200"))


def test_if_nothing_helps_a_move_without_a_search_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("tablut.play.protocol.ready_player", fail)
    talk = Talk(variant="brandubh")
    *first, last = ROUND.split()
    told = say_and_move(talk, f"position startpos moves {' '.join(first)}")
    assert all("MemoryError" in line for line in told)
    assert talk.said[-1] != f"bestmove {last}"


class Failing:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        raise ZeroDivisionError("by zero")


def test_a_player_that_fails_costs_a_search_and_not_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablut.play.protocol.ready_player", lambda *_, **__: Failing())
    (told,) = say_and_move(Talk(variant="brandubh"))
    assert "by zero" in told


def damaged_store(folder: Path) -> Path:
    """Return a copy of a store, in which every chunk of values is replaced by noise of the same length."""
    store = folder / "store"
    shutil.copytree(STORE, store)
    for file in store.rglob("*"):
        if file.is_file() and file.suffix != ".json":
            file.write_bytes(Random(zlib.crc32(file.name.encode())).randbytes(file.stat().st_size))
    return store


def test_damaged_tables_are_named_and_the_search_does_without_them(tmp_path: Path) -> None:
    talk = Talk(variant="ashton-5-4v0", tables=str(damaged_store(tmp_path)), table_memory=0)
    told = say_and_move(talk)
    assert any("damaged" in line for line in told)


class BreakingTable:
    """Tables that break after some positions. They cover everything, and value all positions as won in two plies."""

    def __init__(self, variant: Variant, good: int) -> None:
        self.variant, self.left = variant, good

    def covers(self, attackers: int, defenders: int) -> bool:
        return True

    def probe(self, position: object) -> Verdict:
        self.left -= 1
        if self.left < 0:
            raise TablutError("the disk has gone")
        return Verdict("loss", 2)

    def probe_words(self, words: object) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("good", [0, 3, 40])
def test_tables_that_break_while_they_are_probed_do_not_end_the_search(good: int) -> None:
    board = Board("brandubh")
    assert len(list(board.legal_moves)) == 40
    found = Searcher("brandubh", hash_mib=1, prober=BreakingTable(board.variant, good)).search(board, LIMITS)
    assert found.move in board.legal_moves
    assert (found.source, len(found.notes)) == (("search", 1) if good < 40 else ("tablebase", 0))
    assert all("the disk has gone" in note for note in found.notes)


def test_a_book_that_breaks_does_not_lose_a_game_of_a_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = make_book(tmp_path, ["d2-e2 c4-c5 e2-e1"] * 3, "brandubh")

    def gone(*_: Any) -> None:
        raise InputError("has gone", subject="book 'my.book'")

    monkeypatch.setattr("tablut.play.book.book_moves", gone)
    variant = load_variant("brandubh")
    one, other = (contestant(text, SearchLimits(nodes=1)) for text in (f"random@option.book={book}", "random"))
    plan = MatchPlan(variant, one, other, games=2, openings=Openings(0), most_plies=10)
    for _ in range(2):  # the second time, the games are read from the folder
        summary = play_match(plan, folder=tmp_path / "match").summary
        assert (summary.lost_by_fault, summary.termination.get("crash")) == ((0, 0), None)
        assert len(summary.faults) == 2
        assert all("has gone" in fault and one.text in fault for fault in summary.faults)


def test_a_hint_from_broken_tables_does_not_end_a_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["play", "-v", "ashton-5-4v0", "--side", "both", "--tablebase", str(damaged_store(tmp_path))]
    monkeypatch.setattr("sys.stdin", io.StringIO("hint\ntable\nc3-b3\nquit\n"))
    assert run(words) == 0
    out = capsys.readouterr().out
    assert "damaged" in out
    assert "1. c3-b3" in out
