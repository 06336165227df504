"""PGN and its relatives: other starts, results, comments, files of many games of which some are faulty."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.formats.native import read_native_games
from tablut.formats.opentafl import read_games as read_otg_games
from tablut.formats.opentafl import write_game
from tablut.formats.opentafl import write_position as opentafl_text
from tablut.formats.reading import write_fen
from tablut.position import MoveText, Position
from tablut.records import GameRecord, plain_text, read_record, record_text, write_pgn, write_record
from tablut.replay import read_games, replay
from tablut.variants import load_variant
from tests.support.effort import examples

# Nothing maps this position to itself: a flipped or turned reader cannot pass. White begins, although black moves first
# by the rules.
OTHER = "3b3/7/2bw3/b1wKw1b/3w3/7/4b2 w"
BLACKS = f"{OTHER[:-1]}b"
RULES = '[Variant "brandubh"]\n'
PLAYED = ["d5-e5", "a4-a6"]


def tags(**values: str) -> str:
    return RULES + "".join(f'[{name} "{value}"]\n' for name, value in values.items())


def words(record: GameRecord) -> list[str]:
    return [str(move) for move in record.moves]


def games_of(text: str) -> list[GameRecord | InputError]:
    return [*read_native_games(plain_text(text))]


def sound(text: str) -> list[tuple[int, list[str]]]:
    """Return the number and the moves of each game that can be read."""
    return [(number, words(game)) for number, game in enumerate(games_of(text), 1) if isinstance(game, GameRecord)]


def answer(capsys: pytest.CaptureFixture[str], *line: object) -> tuple[int, dict[str, object], str]:
    code = run([*map(str, line), "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if code < 2 else {}, err


# -- tags that change what the rest means --------------------------------------------------

POSITION = Position.parse(OTHER, 7)
STARTS = {
    "its own notation": {"SetUp": "1", "FEN": OTHER},
    "no SetUp": {"FEN": OTHER},
    "FEN before SetUp": {"FEN": OTHER, "SetUp": "1"},
    "another case": {"Fen": OTHER, "Setup": "1"},
    "counters": {"FEN": f"{OTHER} - - 0 14"},
    "a capital side": {"FEN": f"{OTHER[:-1]}W"},
    "letters of other programs": {"FEN": write_fen(POSITION)},
    "OpenTafl with a side": {"SetUp": "1", "FEN": f"{opentafl_text(POSITION)} w"},
    "Start": {"Start": OTHER},
    "Start and SetUp": {"Start": OTHER, "SetUp": "1"},
    "Start and FEN": {"Start": f"{OTHER} note=mine", "SetUp": "1", "FEN": write_fen(POSITION)},
}


@pytest.mark.parametrize("number", ["1.", "1...", "1. ...", "14.", "14...", ""])
@pytest.mark.parametrize("given_tags", STARTS.values(), ids=STARTS)
def test_a_game_begins_where_its_tags_say(given_tags: dict[str, str], number: str) -> None:
    following = {"1...": "2.", "1. ...": "2.", "14...": "15."}.get(number, "")
    record = read_record(f"{tags(**given_tags)}\n{number} d5e5 {following} a4a6\n*")
    assert record.start is not None
    assert str(replace(record.start, fields={})) == OTHER
    assert (words(record), record.first_number) == (PLAYED, 14 if "14" in number else 1)
    assert replay(record).problems == ()
    assert record.tags == {}


def test_an_opentafl_string_without_a_side_leaves_it_to_the_numbers() -> None:
    for number, side in (("1.", "b"), ("", "b"), ("1...", "w"), ("14...", "w")):
        record = read_record(f"{tags(FEN=opentafl_text(POSITION))}{number} d5e5 *")
        assert str(record.start) == OTHER[:-1] + side


def test_the_usual_start_is_the_usual_start() -> None:
    usual = load_variant("brandubh").start_position
    for given_tags in ({"FEN": usual}, {"SetUp": "1", "FEN": usual}, {"SetUp": "0"}, {"SetUp": "0", "FEN": usual}):
        assert read_record(tags(**given_tags) + "1. d2e2").start is None
    # Rules that are given move neither the start nor the meaning of the result.
    record = read_record('[Variant "ashton"]\n1. e4f4 1-0', "berkeley")
    assert (str(record.start), record.result) == (load_variant("ashton").start_position, "white")


REFUSED = {
    "SetUp without FEN": ({"SetUp": "1"}, "tag SetUp '1'"),
    "SetUp of another kind": ({"SetUp": "2", "FEN": OTHER}, "tag SetUp '2'"),
    "SetUp against FEN": ({"SetUp": "0", "FEN": OTHER}, "tag SetUp '0'"),
    "SetUp against Start": ({"SetUp": "0", "Start": OTHER}, "tag SetUp '0'"),
    "FEN against Start": ({"FEN": OTHER, "Start": BLACKS}, "tag FEN"),
    "FEN against Start, cells": ({"FEN": OTHER, "Start": OTHER.replace("4b2", "3b3")}, "tag FEN"),
    "chess": ({"FEN": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"}, "rnbqkbnr"),
    "another board": ({"FEN": "9/9/9/9/4K4/9/9/9/9 w"}, "7"),
    "no position": ({"FEN": "?"}, "'?"),
    "no side": ({"Start": OTHER[:-2]}, "side to move"),
    "another format": ({"Format": "tablut-2"}, "tag Format 'tablut-2'"),
    "another result": ({"Result": "2-0"}, "tag Result '2-0'"),
}


@pytest.mark.parametrize(("given_tags", "named"), REFUSED.values(), ids=REFUSED)
def test_a_tag_that_is_not_understood_is_named(given_tags: dict[str, str], named: str) -> None:
    with pytest.raises(InputError) as caught:
        read_record(tags(**given_tags) + "1. d5e5")
    assert named in str(caught.value)


@pytest.mark.parametrize("text", ["14. d2e2", "1... d2e2", "2. d2e2", "1. d2e2 c4c5 3. f4f5", "1. d2e2 1. c4c5"])
def test_without_a_tag_for_the_start_the_first_move_is_the_first(text: str) -> None:
    with pytest.raises(InputError, match="number every second move"):
        read_record(RULES + text)


@pytest.mark.parametrize(
    ("given_tags", "number", "first"),
    [
        ({"FEN": BLACKS}, "1.", "black"),
        ({"FEN": BLACKS}, "", "black"),
        ({"FEN": BLACKS}, "1...", "white"),  # numbered by a program that lets White begin
        ({"FEN": OTHER}, "1...", "black"),
        ({"FEN": OTHER}, "14...", "black"),
        ({"FEN": OTHER}, "", "black"),
        ({"FEN": OTHER}, "1.", "white"),
        ({"Start": OTHER}, "14.", "white"),
        ({"Start": OTHER}, "", "white"),
        ({}, "1.", "black"),
    ],
)
def test_the_first_point_belongs_to_the_side_whose_moves_come_first_in_a_pair(
    given_tags: dict[str, str], number: str, first: str
) -> None:
    other = "white" if first == "black" else "black"
    for word, result in (("1-0", first), ("0-1", other), ("1/2-1/2", "draw"), ("*", None), ("white", "white")):
        record = read_record(f"{tags(**given_tags)}{number} d5e5 {word}")
        assert (record.result, record.problems) == (result, ())
        assert read_record(f"{tags(**given_tags, Result=word)}{number} d5e5").result == result


def test_pgn_of_another_start_is_written_as_pgn_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = ["convert", "--to", "pgn", "-v", "brandubh", "-p"]
    assert run([*line, OTHER, *PLAYED, "e5-d5"]) == 0
    text = capsys.readouterr().out
    for tag in (f'[Start "{OTHER}"]', '[SetUp "1"]', f'[FEN "{OTHER}"]'):
        assert tag in text.splitlines()
    assert text.endswith("\n1... d5-e5\n2. a4-a6 e5-d5\n*\n")
    assert run([*line, BLACKS, "a4-a6", "d5-e5"]) == 0
    assert "\n1. a4-a6 d5-e5\n" in capsys.readouterr().out
    assert run([*line[:-1], "d2-e2"]) == 0
    assert "FEN" not in capsys.readouterr().out
    (tmp_path / "game.pgn").write_text(text.replace("1...", "14...").replace("2.", "15."), encoding="utf-8")
    assert run(["replay", str(tmp_path / "game.pgn"), "--save", str(tmp_path / "again.pgn")]) == 0
    assert "\n14... d5-e5\n15. a4-a6 e5-d5\n" in (tmp_path / "again.pgn").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["Start", "FEN", "Fen", "SetUp", "Format", "Result", "VARIANT"])
def test_no_tag_is_written_that_would_be_read_as_another(name: str) -> None:
    with pytest.raises(InputError, match="tag"):
        write_record(GameRecord({name: "1"}, "brandubh", None, (), None))


def test_a_start_counts_in_collections_and_books(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game, written = tmp_path / "game.pgn", tmp_path / "written"
    game.write_text(tags(SetUp="1", FEN=BLACKS, Result="0-1") + "1. a4a6 d5e5 0-1\n", encoding="utf-8")
    for line in (["games", game, "--into", written], ["book", "make", written, game]):
        assert answer(capsys, *line)[:2][1]["unread"] == []
        usual = answer(capsys, "games", written)[1]
        assert (usual["total"], usual["moves"]) == (0, [])
        (move,) = answer(capsys, "games", written, "-p", BLACKS)[1]["moves"]  # type: ignore[misc]
        assert (move["move"], move["white"]) == ("a4-a6", 1)


# -- results -------------------------------------------------------------------------------


@pytest.mark.parametrize("dash", "-\u2010\u2011\u2012\u2013\u2014\u2212")
def test_results_and_moves_with_any_dash(dash: str) -> None:
    for plain, result in (
        ("1-0", "black"),
        ("0-1", "white"),
        ("½-½", "draw"),
        ("1/2-1/2", "draw"),
        ("0.5-0.5", "draw"),
    ):
        word = plain.replace("-", dash)
        assert read_record(f"{RULES}1. a4{dash}a5 c4-c5 {word}").result == result
        assert read_record(f'{RULES}[Result "{word}"]\n1. a4-a5 c4-c5').result == result


@pytest.mark.parametrize("word", ["1/2", "½", "Draw", "0,5-0,5", "1\u20442-1\u20442"])
def test_other_words_for_a_draw(word: str) -> None:
    assert read_record(f"{RULES}1. a4-a5 c4-c5 {word}").result == "draw"


@pytest.mark.parametrize("word", ["2-0", "1-0-0", "0-0", "1:0", "+-", "won"])
def test_a_word_that_is_no_result_is_named(word: str) -> None:
    with pytest.raises(InputError, match=r"line 2, column 16"):
        read_record(f"{RULES}1. a4-a5 c4-c5 {word}")


@pytest.mark.parametrize(
    ("given_tags", "last", "named"),
    [
        ({"Result": "1-0"}, "0-1", ["'1-0'", "'0-1'", "Result"]),
        ({"Result": "white"}, "black", ["'white'", "'black'", "Result"]),
        ({"Result": "1/2-1/2"}, "1-0", ["'1/2-1/2'", "'1-0'"]),
        ({"Result": "1-0", "Termination": "defenders_win_time"}, "*", ["Termination 'defenders", "'1-0'"]),
        ({"Termination": "Black resigns"}, "1-0", ["'Black resigns'", "'1-0'"]),
    ],
)
def test_a_contradiction_is_listed_and_the_game_is_kept(
    given_tags: dict[str, str], last: str, named: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game, other = tmp_path / "game.pgn", tags(White="Ada") + "1. d2e2 1-0\n\n"
    game.write_text(f"{tags(**given_tags)}1. a4a5 c4c5 {last}\n\n{other}", encoding="utf-8")
    code, result, _ = answer(capsys, "replay", game)
    assert (code, result["result"], len(result["moves"])) == (1, None, 2)  # type: ignore[arg-type]
    (problem,) = result["problems"]  # type: ignore[misc]
    assert all(word.replace("Termination '", "Termination is '") in problem for word in named)
    code, made, _ = answer(capsys, "games", game, "--into", tmp_path / "all.games")
    assert (code, made["games"]) == (1, {"brandubh": 2})
    assert [(one["number"], one["why"]) for one in made["unread"]] == [(1, problem)]  # type: ignore[attr-defined]
    # One of the two claims would be lost.
    assert run(["replay", str(game), "--save", str(game)]) == 2


@pytest.mark.parametrize(
    ("text", "result", "warned"),
    [
        ("attackers_win_resign", "black", False),
        ("defenders won on time", "white", False),
        ("White resigned", "black", False),
        ("black_loses", "white", False),
        ("draw_repetition", "draw", False),
        ("time forfeit", None, False),
        ("unterminated", None, False),
        ("no_attackers", None, False),
        ("Anna won by resignation", None, True),
        ("black flagged", None, True),
        ("", None, False),
    ],
)
def test_a_termination_names_the_winner_or_is_named(text: str, result: str | None, warned: bool) -> None:
    record = read_record(tags(Termination=text) + "1. d2e2 *")
    assert (record.result, bool(record.warnings)) == (result, warned)
    assert not warned or text in record.warnings[0]
    assert record.tags == {"Termination": text}


@pytest.mark.parametrize("suffix", ["#", "+", "++", "+#"])
def test_the_signs_of_exporters_after_moves(suffix: str) -> None:
    record = read_record(f"{RULES}1.d2e2{suffix} c4-c5{suffix}!? 2. f4-f5{suffix}$6 c5-a5")
    assert words(record) == ["d2-e2", "c4-c5", "f4-f5", "c5-a5"]
    assert record.marks == {2: "!?", 3: "$6"}


# -- the files of a tafl app ---------------------------------------------------------------

ESCAPE = """1. d5-d3 e8-b8 2. c5-c6 i4-g4 3. f5-f2 f1-i1 4. e5-c5 b5-b6 5. e3-f3 i5-i4 6. e7-d7 b8-b9
7. g5-g6 i4-i2 8. d3-e3 h5-h8 9. c5-c1"""
APP = '[Format "tablut-1"]\n[Variant "tablut"]\n[Defenders "Olaf"]\n[Attackers "Ines"]\n'


@pytest.mark.parametrize(
    ("more", "body", "result"),
    [
        ('[Result "0-1"]\n', f"{ESCAPE} 0-1", "white"),
        ('[Result "0-1"]\n[Termination "defenders_win_resign"]\n', "1. e3-c3 d1-d3 0-1", "white"),
        ('[Result "1-0"]\n[Termination "attackers_win_time"]\n', "1. e3-c3 d1-d3 1-0", "black"),
        ('[Result "*"]\n[Termination "attackers_win_time"]\n', "1. e3-c3 d1-d3 *", "black"),
        ('[Termination "defenders_win_escape"]\n', ESCAPE, "white"),
        ("", "1. e3-c3 d1-d3 1/2-1/2", "draw"),
        ("", "1. e3-c3 d1-d3 *", None),
    ],
)
def test_the_points_of_the_app_begin_with_the_attackers(more: str, body: str, result: str | None) -> None:
    for header in (APP, APP.replace('[Format "tablut-1"]\n', "")):
        record = read_record(f"{header}{more}\n{body}\n", "ashton")
        assert (record.result, replay(record).problems) == (result, ())
        assert (record.tags["White"], record.tags["Black"]) == ("Olaf", "Ines")
        assert not {"Format", "Defenders", "Attackers"} & record.tags.keys()
        for text in (write_record(record), write_pgn(record)):
            again = read_record(text, "ashton")
            assert (again.result, again.moves, again.tags["White"]) == (result, record.moves, "Olaf")


def test_names_of_players_are_not_exchanged() -> None:
    header = APP + '[White "Other"]\n'
    record = read_record(f"{header}1. e3-c3 1-0", "ashton")
    assert (record.tags["White"], record.tags["Defenders"], record.tags["Black"]) == ("Other", "Olaf", "Ines")
    assert record.result == "black"


@pytest.mark.parametrize(("count", "holds"), [("x1", True), ("x", False), ("x0", False), ("x2", False), ("", True)])
def test_the_app_counts_captures(count: str, holds: bool) -> None:
    text = f"{APP}1. f5-f6 b5-b7 2. e3-h3 f1-f5{count}\n*\n"
    if count == "x":
        with pytest.raises(InputError, match="ply 4"):
            read_record(text, "ashton")
        return
    record = read_record(text, "ashton")
    assert record.moves[3] == replace(MoveText.parse("f1-f5", 9), count=int(count[1:]) if count else None)
    problems = replay(record).problems
    assert (problems == ()) == holds
    assert holds or f"f1-f5{count}" in problems[0]
    assert read_record(write_record(record), "ashton").moves == record.moves


# -- comments ------------------------------------------------------------------------------

SIGNS = st.text(st.sampled_from("(){}[];%$!?\\\"'.1-0*# :"), max_size=8)
LINE = SIGNS.map(lambda text: f"; {text}\n")
ESCAPED = SIGNS.map(lambda text: f"\n% {text}\n")
BRACED = SIGNS.map(lambda text: "{" + text.translate(str.maketrans("", "", "{}\\")) + "}")
COMMENTS = st.lists(LINE | ESCAPED | BRACED, max_size=3).map("".join)
VARIATIONS = st.recursive(
    COMMENTS, lambda inner: st.builds("({} b4b5 {} 1... d3c3 {}) {}".format, inner, inner, COMMENTS, COMMENTS)
)


@settings(max_examples=examples(50))
@given(st.lists(VARIATIONS, min_size=6, max_size=6))
def test_no_comment_or_variation_changes_the_main_line(texts: list[str]) -> None:
    parts = ["1. d2e2", "1... c4c5", "2. f4f5", "2... c5a5", "3. d6a6", "*"]
    body = "".join(f"{part} {text}\n" for part, text in zip(parts, texts, strict=True))
    record = read_record(f"{RULES}\n{body}")
    assert words(record) == ["d2-e2", "c4-c5", "f4-f5", "c5-a5", "d6-a6"]
    assert any("variations" in note for note in record.notes) == any("b4b5" in text for text in texts)


@pytest.mark.parametrize(
    ("text", "moves", "comments"),
    [
        ("1. d2e2 (1. b4b5 ; a ) in it\n 1... d3c3) c4c5 *", ["d2-e2", "c4-c5"], {}),
        ("1. d2e2 (1. b4b5 {a ; b)} d3c3) c4c5 *", ["d2-e2", "c4-c5"], {}),
        ("1. d2e2 (1. b4b5\n% a ) b\n) c4c5 *", ["d2-e2", "c4-c5"], {}),
        ("1. d2e2 (1. b4b5 50% (of\n%) \n) d3c3) c4c5 *", ["d2-e2", "c4-c5"], {}),
        ("1. d2e2 ; {open\n c4c5 {a ; b\n% c (} *", ["d2-e2", "c4-c5"], {1: "{open", 2: "a ; b\n% c ("}),
        ("1. d2e2 {good :)} c4c5 ; bad :(\n*", ["d2-e2", "c4-c5"], {1: "good :)", 2: "bad :("}),
        ("1. d2e2 {see {note} c4c5 {and {this} *", ["d2-e2", "c4-c5"], {1: "see {note", 2: "and {this"}),
        ("1. d2e2 {a {b} c} c4c5 *", ["d2-e2", "c4-c5"], {1: "a {b} c"}),
        ('1. d2e2 {from\n\n[Event "x"]\n\nhere} c4c5 *', ["d2-e2", "c4-c5"], {1: 'from\n\n[Event "x"]\n\nhere'}),
        ("1. d2e2 {[%clk 0:01]} c4c5 {1-0 * 3. x} 1-0", ["d2-e2", "c4-c5"], {1: "[%clk 0:01]", 2: "1-0 * 3. x"}),
    ],
)
def test_what_belongs_to_a_comment(text: str, moves: list[str], comments: dict[int, str]) -> None:
    assert len(games_of(RULES + text)) == 1
    record = read_record(RULES + text)
    assert (words(record), record.comments) == (moves, comments)


def test_comments_between_tags() -> None:
    text = '; first\n[Event "a ; b {c} (d) % \\" \\\\"]\n{two\n\nlines}\n% left out\n[White "Ada"] ; last\n'
    record = read_record(f"{text}{RULES}\n1. d2e2 *")
    assert record.tags == {"Event": 'a ; b {c} (d) % " \\', "White": "Ada"}
    assert record.comments == {0: "first two\n\nlines last"}


# -- files of many games -------------------------------------------------------------------

GOOD = tags(White="Ada") + "\n1. d2e2 c4c5 1-0\n\n"
# A game that cannot be read, and the place that the list names.
BAD = {
    "no rules": ('[Event "x"]\n1. d2e2 *\n', "line 6: "),
    "no such rules": ('[Variant "brandub"]\n1. d2e2 *\n', "line 6: "),
    "no such result": (tags(Result="won") + "1. d2e2 *\n", "line 6: "),
    "no such start": (tags(FEN="7/7 w") + "1. d2e2 *\n", "line 6: "),
    "a wrong word": (tags() + "1. d2e2 x9 *\n", "line 7, column 9"),
    "a wrong number": (tags() + "1. d2e2 c4c5\n3. f4f5 *\n", "line 8, column 1"),
    "a tag on a line of moves": (tags() + '1. d2e2 [White "B"]\n', "line 7, column 9"),
    "an open tag": ('[White "B]\n' + tags() + "1. d2e2 *\n", "line 6, column 1"),
    "an open tag, later": (tags() + "[White Bo\n1. d2e2 *\n", "line 7, column 1"),
    "a tag twice": (tags() + '[White "A"] [White "B"]\n1. d2e2 *\n', "line 7, column 13"),
    "an open comment": (tags() + "1. d2e2 {open\n\n", "line 7, column 9"),
    "an open comment before the moves": (tags() + "{open\n1. d2e2 *\n\n", "line 7, column 1"),
    "an open variation": (tags() + "1. d2e2 (1. d2c2 {)} ;)\n\n", "line 7, column 9"),
    "an open variation, closed later": (tags() + "1. d2e2 (1. d2c2\n\n" + tags() + "1. d2e2 ) *\n", "line 7, column 9"),
    "one brace too many": (tags() + "1. d2e2 a} *\n", "line 7, column 9"),
}


@pytest.mark.parametrize(("bad", "place"), BAD.values(), ids=BAD)
def test_one_bad_game_does_not_refuse_the_others(
    bad: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD + bad + ("" if bad.endswith("\n\n") else "\n") + GOOD.replace("d2e2", "d2c2")
    numbers = [number for number, _ in sound(text)]
    last = len(games_of(text))
    assert (numbers[0], numbers[-1]) == (1, last)
    assert numbers == [1, last]
    file = tmp_path / "games.pgn"
    file.write_text(text, encoding="utf-8")
    code, made, _ = answer(capsys, "games", file, "--into", tmp_path / "all.games")
    assert (code, made["games"]) == (1, {"brandubh": 2})
    unread = made["unread"]
    assert [one["number"] for one in unread] == [*range(2, last)]  # type: ignore[attr-defined]
    assert place in unread[0]["why"]  # type: ignore[index]
    assert unread[0]["why"].count("line ") == 1  # type: ignore[index]
    assert unread[0]["file"] == str(file)  # type: ignore[index]
    assert answer(capsys, "book", "make", tmp_path / "all.book", file)[1]["games"] == {"brandubh": 2}
    assert answer(capsys, "replay", file)[0] == 0
    assert [move["move"] for move in answer(capsys, "replay", file, "--game", last)[1]["moves"]] == ["d2-c2", "c4-c5"]  # type: ignore[attr-defined]
    code, _, err = answer(capsys, "replay", file, "--game", 2)
    assert (code, place in err) == (2, True)


def test_a_game_without_rules_is_read_under_those_that_fit_it(tmp_path: Path) -> None:
    unruled = '[Site "hnefatafl.org"]\n1. d11d9 f8d8 2. k7i7 e7e9 *\n\n'
    found = [game for _, game in read_games(GOOD * 3 + unruled + GOOD)]
    assert [game.variant if isinstance(game, GameRecord) else str(game) for game in found] == [
        *["brandubh"] * 3,
        load_variant("copenhagen"),
        "brandubh",
    ]
    # Where no rules fit, or several do, only that game is not read.
    for moves in ("d2e2 c4c5", "a1a2"):
        games = [game for _, game in read_games(f"{{x}} 1. {moves} *\n{GOOD}")]
        assert isinstance(games[0], InputError)
        assert isinstance(games[1], GameRecord)
    with pytest.raises(InputError, match="fit brandubh, brandubh-federation"):
        [*read_games("{x} 1. d2e2 c4c5 *\n\n1. d2c2 *")]


EMPTY = {
    "a tag again": tags(White="Ada", Black="Bo") + tags(White="Cleo"),
    "a blank line": tags(White="Ada", Black="Bo") + ' \t\n[Event "x"]\n[White "Cleo"]\n' + RULES,
    "a blank line and a comment": tags(White="Ada", Black="Bo") + "\n{c}\n" + tags(White="Cleo"),
    "a result": tags(White="Ada", Black="Bo") + "*\n" + tags(White="Cleo"),
    "a tag again, in another case": tags(FEN=OTHER) + f'[Fen "{OTHER}"]\n[White "Cleo"]\n' + RULES,
}


@pytest.mark.parametrize("header", EMPTY.values(), ids=EMPTY)
def test_tags_without_moves_are_a_game_of_their_own(
    header: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{header}1. d5e5 *" if OTHER in header else f"{header}1. d2e2 *"
    assert len(games_of(text)) == 2
    last = games_of(text)[1]
    assert isinstance(last, GameRecord)
    assert (last.tags["White"], "Black" in last.tags, len(last.moves)) == ("Cleo", False, 1)
    file = tmp_path / "games.pgn"
    file.write_text(text, encoding="utf-8")
    code, made, _ = answer(capsys, "games", file, "--into", tmp_path / "all.games")
    assert (code, made["games"]) == (1, {"brandubh": 1})
    assert [(one["number"], "no moves" in one["why"]) for one in made["unread"]] == [(1, True)]  # type: ignore[attr-defined]
    code, _, err = answer(capsys, "replay", file)
    assert (code, "no moves" in err, "--game" in err) == (2, True, True)
    assert answer(capsys, "replay", file, "--game", 2)[0] == 0
    code, found, _ = answer(capsys, "games", tmp_path / "all.games", "--player", "Ada")
    assert (code, found["total"]) == (0, 0)


def test_tags_without_rules_and_moves_are_named_as_such() -> None:
    first, second = games_of('[White "Ada"]\n\n' + GOOD)
    assert "moves" in str(first)
    assert isinstance(second, GameRecord)
    with pytest.raises(InputError, match="moves"):
        read_record('[White "Ada"]\n[Black "Bo"]')


def test_a_file_without_a_game_is_no_fault_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").write_text(tags(White="Ada"), encoding="utf-8")
    (tmp_path / "game.txt").write_text(GOOD, encoding="utf-8")
    code, found, _ = answer(capsys, "games", tmp_path)
    assert (code, found["total"]) == (0, 1)
    assert [(one["number"], one["why"]) for one in found["unread"]] == [(0, "has no moves")]  # type: ignore[attr-defined]


@pytest.mark.parametrize("word", ["1-0", "0-1", "1/2-1/2", "*", "½–½", "white"])
@pytest.mark.parametrize("glue", ["", " ", "\n", "\r", "\r\n", "\n\n", "\t", "\ufeff", "\x1a", "\n\ufeff"])
def test_games_that_stick_together(word: str, glue: str) -> None:
    text = "".join(f"{tags(White=str(name))}1. d2e2 c4c5 {word}{glue}" for name in range(3))
    games = games_of(text)
    assert [game.tags for game in games if isinstance(game, GameRecord)] == [{"White": str(name)} for name in range(3)]
    assert len(games) == 3


def test_one_bad_game_of_opentafl_or_of_a_site_does_not_refuse_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_game(Board("brandubh-5-4v4").record({"Event": "x"})) + "\n1. c1-d1\n\n"
    twice = text.replace("[event:x]", "[event:x]\n[event:y]", 1)
    assert twice != text
    first, second = read_otg_games(twice + text)
    assert isinstance(first, InputError)
    assert isinstance(second, GameRecord)
    file = tmp_path / "games.json"
    file.write_text('[{"other": 1}, {"blackPlayerName": "a", "moves": "d1-d3"}]', encoding="utf-8")
    code, found, _ = answer(capsys, "games", file)
    assert (code, found["total"], found["unread"][0]["number"]) == (1, 1, 1)  # type: ignore[index]


# -- players -------------------------------------------------------------------------------


def test_a_player_is_one_player_however_the_name_is_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "\u00d6sterlund, \u00c5sa"
    spellings = [name, unicodedata.normalize("NFD", name), f" {name} ", f"{name}\u00a0", name.replace(" ", "  ")]
    text = "".join(tags(White=spelling) + "1. d2e2 c4c5 1-0\n\n" for spelling in spellings)
    file = tmp_path / "games.pgn"
    file.write_text(text, encoding="utf-8")
    assert [game.tags["White"] for game in games_of(text) if isinstance(game, GameRecord)] == spellings
    assert answer(capsys, "games", file, "--into", tmp_path / "all.games")[0] == 0
    for source, player in [(file, spellings[1]), *((tmp_path / "all.games", spelling) for spelling in spellings)]:
        found = answer(capsys, "games", source, "--player", player)[1]
        assert found["total"] == len(spellings)
        assert {game["white"] for game in found["games"]} == {name}  # type: ignore[attr-defined]


# -- what is written is read ---------------------------------------------------------------

TEXTS = st.text(
    st.sampled_from('\\"[]{}()|;%$!?. \n\r\u2028\ufeff\x1aa:1-0*') | st.characters(exclude_categories=["Cs"])
)
BREAKS = st.sampled_from(["\n", "\r\n", "\r", "\r\r\n"])


@st.composite
def records(draw: st.DrawFn) -> GameRecord:
    """Generate a random game, from the usual start or from another position, with comments and marks."""
    random, board = Random(draw(st.integers(0, 10**6))), Board("brandubh")
    skipped, played = draw(st.integers(0, 3)), draw(st.integers(0, 5))
    for ply in range(skipped + played):
        if ply == skipped:
            board = Board("brandubh", board.position)
        if board.outcome() is None:
            board.push(random.choice(list(board.legal_moves)))
    if not played:
        board = Board("brandubh", board.position)
    plies = st.integers(0, board.ply)
    given_tags = draw(st.dictionaries(st.sampled_from(["White", "Black", "Event", "X-y_1"]), TEXTS, max_size=3))
    record = board.record(given_tags, draw(st.sampled_from([None, "white", "black", "draw"])))
    return replace(
        record,
        first_number=1 if record.start is None else draw(st.integers(1, 40)),
        comments=draw(st.dictionaries(plies, TEXTS.filter(bool), max_size=3)),
        marks=draw(st.dictionaries(plies, st.sampled_from(["?!", "$6 $140"]), max_size=2)),
    )


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(records(), min_size=1, max_size=3), st.booleans(), st.data())
def test_any_games_in_one_file_are_read_as_they_were_written(
    games: list[GameRecord], pgn: bool, data: st.DataObject
) -> None:
    write = write_pgn if pgn else write_record
    lines = data.draw(st.sampled_from(["", "\n", "\n\n"])).join(write(game) for game in games).split("\n")
    found = games_of("".join(line + (data.draw(BREAKS) if line else "\n") for line in lines))
    assert len(found) == len(games)
    for game, again in zip(games, found, strict=True):
        assert isinstance(again, GameRecord)
        ours = again.tags if not pgn else {name: again.tags[name] for name in game.tags}
        assert replace(again, tags=ours) == replace(game, first_number=game.first_number if game.moves else 1)
        assert write(again) == write(replace(game, tags=again.tags))


@given(records(), st.sampled_from([".pgn", ".txt"]))
@settings(max_examples=examples(40), deadline=None)
def test_nothing_is_lost_on_saving_a_game_from_any_start(record: GameRecord, suffix: str) -> None:
    text, lost = record_text(record, Path(f"game{suffix}"))
    assert lost == ()
    again = read_record(text)
    assert (again.start, again.result, again.moves) == (record.start, record.result, record.moves)
    assert str(replay(again).board.position) == str(replay(record).board.position)


def test_a_byte_order_mark_or_doubled_line_ends_change_nothing(tmp_path: Path) -> None:
    text = tags(White="Ada", Black="Bo") + "\n1. d2e2 c4c5 1-0\n"
    one = read_record(text)
    for content in (
        b"\xef\xbb\xbf" + text.encode(),
        text.replace("\n", "\r\r\n").encode(),
        text.replace("\n", "\n\r").encode(),
        text.replace("\n", "\r").encode() + b"\r\r\x1a",
        ("\ufeff\ufeff" + text).encode(),
        (text + "\n \t\n").encode("utf-16"),
    ):
        assert read_record(content) == one
    both = b"\xef\xbb\xbf" + text.encode() + b"\xef\xbb\xbf" + text.encode()
    assert [game for _, game in read_games(both.decode("utf-8-sig"))] == [one, one]
