"""Collections of games: queries return the same as a plain search through all games, up to symmetry."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from importlib import resources
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.verify_command import verify_folder
from tablut.board import Board
from tablut.cli.shell import run
from tablut.engine import engine_for
from tablut.errors import InputError, MachineError, UseError, input_failure
from tablut.play.book import BookOpenings
from tablut.play.collection import Collection, PositionGames, key_of, open_collection, write_collection
from tablut.play.collection_file import SHIPPED, SHIPPED_FILE, finish_file
from tablut.play.openings import named_openings, opening_of
from tablut.position import Move, Position
from tablut.records import write_line, write_record
from tablut.variants import Variant, load_variant
from tablut.variants.schema import parse_variant
from tablut.work.progress import Observer
from tablut.work.sealed_records import DamagedError
from tests.support.effort import examples

FOREIGN = Path(__file__).parents[1] / "data" / "foreign"


def essence(out: str) -> dict[str, object]:
    """Return what a command answered, without what differs from run to run."""
    return {name: value for name, value in json.loads(out).items() if name not in ("provenance", "seconds")}


def played(name: str, seed: int, plies: int) -> Board:
    board, random = Board(name), Random(seed)
    while board.ply < plies and board.outcome() is None:
        board.push(random.choice(list(board.legal_moves)))
    return board


@pytest.fixture(scope="module")
def games() -> list[Board]:
    return [played("ashton-5-4v2", seed, 30) for seed in range(60)]


@pytest.fixture(scope="module")
def collection(games: list[Board], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a collection made from an archive with half of the games and from records of the other half."""
    folder = tmp_path_factory.mktemp("games")
    tags = [{"White": f"w{number % 3}", "Black": f"b{number % 4}"} for number in range(60)]
    for number, board in enumerate(games[:30]):
        (folder / f"{number:02}.txt").write_text(write_record(board.record(tags[number])), encoding="utf-8")
    lines = [write_line(board.record(), board.variant) for board in games[30:]]
    (folder / "rest.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    target = folder.with_suffix(".games")
    assert write_collection(target, [folder], games[0].variant, Observer()) == []
    return target


def image(position: Position, table: tuple[int, ...]) -> str:
    cells = ["."] * len(position.cells)
    for cell, letter in enumerate(position.cells):
        cells[table[cell]] = letter
    return "".join(cells)


def plain_answer(games: list[Board], asked: Board) -> tuple[int, int, Counter[str], Counter[tuple[str, str]]]:
    """Count the games that reached a position up to symmetry and those that ended in it, and the games and results for
    each next position.
    """
    tables = [symmetry.table for symmetry in asked.variant.symmetries]

    def least(position: Position) -> str:
        return min(image(position, table) for table in tables) + position.side

    def pair(board: Board, move: Move) -> str:
        """Return the least image of the pair of a position and a move's squares."""
        return min(
            f"{image(board.position, table)}{board.position.side}{table[move.start]:03}{table[move.target]:03}"
            for table in tables
        )

    reached, ended, moves, results = 0, 0, Counter[str](), Counter[tuple[str, str]]()
    for game in games:
        board, outcome, seen = Board(asked.variant), game.outcome(), set()
        for move in [*game.move_stack, None]:
            if least(board.position) == least(asked.position):
                seen.add(None if move is None else pair(board, move))
            if move is not None:
                board.push(move)
        reached += bool(seen)
        ended += None in seen
        for one in seen - {None}:
            moves[str(one)] += 1
            results[str(one), outcome.winner or "draw" if outcome else ""] += 1
    return reached, ended, moves, results


def test_answers_are_those_of_a_plain_walk(games: list[Board], collection: Path) -> None:
    undecided = [seed for seed in range(60) if games[seed].outcome() is None]
    assert undecided
    for seed, plies in [*((seed, seed // 2) for seed in range(12)), *((seed, 30) for seed in undecided[:3])]:
        asked = Board(games[0].variant)
        for move in games[seed].move_stack[:plies]:
            asked.push(move)
        if asked.outcome() is not None:
            continue
        with open_collection(collection) as opened:
            found = opened.answer(asked, most=100)
        reached, ended, moves, results = plain_answer(games, asked)
        assert (found.total, found.ended, ended > 0) == (reached, ended, plies == 30)
        assert len({(game.file, game.number) for game in found.games}) == len(found.games) == reached
        assert sorted(move.games for move in found.moves) == sorted(moves.values())
        for winner, count in (("white", "white"), ("black", "black"), ("draw", "draw")):
            expected = sum(number for (_, result), number in results.items() if result == winner)
            assert sum(getattr(move, count) for move in found.moves) == expected
        for one in found.moves:
            assert 0 <= one.low <= (one.low if one.score is None else one.score) <= one.high <= 1


@given(st.sampled_from(["ashton", "copenhagen"]), st.integers(0, 10**6), st.integers(0, 40))
@settings(max_examples=examples(12, 200), deadline=None)
def test_the_key_of_a_position_is_the_engines_least_image(name: str, seed: int, plies: int) -> None:
    board = played(name, seed, plies)
    words = engine_for(board.variant).canonical(engine_for(board.variant).words(board), board.variant.symmetries)[0]
    number = sum(int(word) << 64 * place for place, word in enumerate(words[0]))
    key, images = key_of(board.variant, board.position)
    assert int.from_bytes(key, "big") == number
    assert {image(board.position, table) for table in images} == {image(board.position, images[0])}


def test_the_same_answer_of_files_a_collection_and_a_copy(
    collection: Path, games: list[Board], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(*words: object) -> dict[str, object]:
        code = run(["games", *map(str, words), "--json"])
        out, err = capsys.readouterr()
        assert code == 0, err
        return essence(out)

    folder = collection.with_suffix("")
    copy = tmp_path / "copy.games"
    made = asked(collection, "--into", copy)
    assert (made["games"], made["unread"]) == ({"ashton-5-4v2": 60}, [])
    answers = [asked(source) for source in (folder, collection, copy)]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["total"] == 60
    of_player = asked(collection, "--player", "w1", "--most", 100)
    assert of_player["total"] == 10
    assert {game["white"] for game in of_player["games"]} == {"w1"}  # type: ignore[attr-defined]
    reference = of_player["games"][3]  # type: ignore[index]
    assert run(["replay", reference["file"], "--game", str(reference["number"])]) == 0


def test_what_is_not_read_is_named_and_the_rest_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[Variant "brandubh"]\n1. d2-e2 c4-c5 *\n\n[Variant "brandubh"]\n1. d2-e2 {open\n'
    (tmp_path / "two.pgn").write_text(text + "}\n2. x9 *\n", encoding="utf-8")
    (tmp_path / "illegal.txt").write_text('[Variant "brandubh"]\n1. d2-e2 c4-c9 *', encoding="utf-8")
    (tmp_path / "far.txt").write_text('[Variant "brandubh"]\n1. d2-e2 c4-d5 *', encoding="utf-8")
    (tmp_path / "nearly.csv").write_text("d2-e2 c4-c5,0,0\nd2-e2,0,0,White\n", encoding="utf-8")
    (tmp_path / "cut.json").write_text('[{"blackPlayerName": "a",\n "moves": "d1-d3', encoding="utf-8")
    over = '[Variant "brandubh"]\n[Start "K6/7/3b3/7/7/7/7 b"]\n1. d5-d6 *'
    (tmp_path / "over.txt").write_text(over, encoding="utf-8")
    assert run(["games", str(tmp_path / "over.txt"), "--json"]) == 1
    assert "over" in json.loads(capsys.readouterr().out)["unread"][0]["why"]
    (tmp_path / "notes.md").write_text("no game\n", encoding="utf-8")
    assert run(["games", str(tmp_path), "-v", "brandubh", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    faults = {(Path(one["file"]).name, one["number"]): one["why"] for one in answer["unread"]}
    assert answer["total"] == 3  # including one with an illegal second move
    with open_collection(written(tmp_path, tmp_path / "far.txt")) as collection:
        board = Board("brandubh")
        board.push_text("d2-e2")
        found = collection.answer(board)
        assert (found.total, found.ended) == (1, 0)
    assert "line 7, column 1" in faults["two.pgn", 2]
    assert "line 1: column 16" in faults["nearly.csv", 1]
    assert "line 2, column 11" in faults["cut.json", 0]
    assert "ply 2" in faults["illegal.txt", 1]
    assert "ply 2" in faults["far.txt", 1]
    assert len(faults) == 7


def written(folder: Path, *sources: Path) -> Path:
    write_collection(folder / "written.games", sources, load_variant("brandubh"), Observer())
    return folder / "written.games"


def test_no_source_is_overwritten_or_read_from_its_own_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive, link = tmp_path / "games.csv", tmp_path / "link.games"
    archive.write_text("d2-e2 c4-c5,0,0,White\n", encoding="utf-8")
    link.symlink_to(archive)
    for command in (["book", "make", str(link), str(archive)], ["games", str(archive), "--into", str(archive)]):
        assert run([*command, "-v", "brandubh"]) == 2
        assert "is one of the sources" in capsys.readouterr().err
        assert archive.read_text(encoding="utf-8") == "d2-e2 c4-c5,0,0,White\n"
    link.unlink()
    for _ in range(3):
        assert run(["games", str(tmp_path), "-v", "brandubh", "--into", str(tmp_path / "all.games"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["games"] == {"brandubh": 1}
    (tmp_path / "bad.csv").write_text("d2-e2 c4-c5,0,0\nd2-e2,0,0,White\n", encoding="utf-8")
    words = ["games", str(tmp_path / "bad.csv"), "-v", "brandubh", "--into", str(tmp_path / "all.games"), "--csv"]
    assert run(words) == 1
    assert capsys.readouterr().out.splitlines()[1:2] == ["file,number,why"]


def test_the_fault_of_a_source_is_not_that_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("locked.csv", "open.csv"):
        (tmp_path / name).write_text("d2-e2 c4-c5,0,0,White\n", encoding="utf-8")

    def locked(path: Path, what: str, most: int) -> bytes:
        if path.name == "locked.csv":
            raise input_failure(f"{what} {str(path)!r}", PermissionError(errno.EACCES, "Permission denied"))
        return path.read_bytes()

    monkeypatch.setattr("tablut.play.collection.read_bytes", locked)
    rest = ["-v", "brandubh", "--into", str(tmp_path / "all.games"), "--json"]
    assert run(["games", str(tmp_path), *rest]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["games"], len(answer["unread"])) == ({"brandubh": 1}, 1)
    assert run(["games", str(tmp_path / "locked.csv"), *rest]) == MachineError.exit_code
    err = capsys.readouterr().err
    assert "locked.csv" in err
    assert "all.games" not in err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["FOLDER", "--player", "x"], "notes.md': expected"),
        (["FOLDER/empty.txt"], "empty.txt': is empty"),
        (["FOLDER/empty.txt", "-v", "brandubh"], "empty.txt': is empty"),
        (["FOLDER/games.csv"], "games.csv': names no rule set"),
        (["FOLDER/games.csv", "--player", "x"], "games.csv': names no rule set"),
        (["FOLDER/games.csv", "FOLDER/saved.txt", "--player", "x"], "games.csv': names no rule set"),
        (["FOLDER/games.csv", "-", "-v", "brandubh"], "'-'"),
        (["-", "-v", "brandubh", "--player", "x"], "'-'"),
        (["FOLDER/two.txt", "FOLDER/saved.txt"], "brandubh, ashton; choose the rules as --variant"),
        (["FOLDER/games.csv", "-v", "brandubh", "--player", "x", "--repetition", "judge"], "--repetition"),
        (["FOLDER/games.csv", "--into", "FOLDER/new.games", "--most", "10"], "--most"),
        (["FOLDER/games.csv", "--into", "FOLDER/new.games", "--player", "x"], "--player"),
        (["FOLDER/games.csv", "--into", "FOLDER/new.games", "-p", "x"], "--position"),
        (["FOLDER/games.csv", "--into", "FOLDER/new.games", "--repetition", "ignore"], "--repetition"),
        (["FOLDER/games.csv", "--into", ""], "--into '': is empty"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_refusal_names_what_the_user_can_change(
    words: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # long paths are shortened
    folder = Path("files")
    folder.mkdir()
    (folder / "notes.md").write_text("once upon a time\n", encoding="utf-8")
    if words[0] != "FOLDER":
        (folder / "empty.txt").write_text("", encoding="utf-8")
        (folder / "games.csv").write_text("d2-e2 c4-c5,0,0,White\n", encoding="utf-8")
        (folder / "two.txt").write_text('[Variant "brandubh"]\n1. d2-e2 *\n', encoding="utf-8")
        (folder / "saved.txt").write_text('[Variant "ashton"]\n1. e4-f4 *\n', encoding="utf-8")
    assert run(["games", *(word.replace("FOLDER", str(folder)) for word in words)]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert named in err
    assert not (folder / "new.games").exists()


def test_an_archive_on_standard_input_is_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for text, code in ((b"d2-e2 c4-c5,0,0,White\n", 0), (b'[Variant "brandubh"]\n1. d2-e2 *\n', 2)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert run(["games", "-", "-v", "brandubh", "--json"]) == code
        assert ("'-'" in capsys.readouterr().err) == bool(code)


def change(path: Path, statement: str, *, sealed: bool = False) -> None:
    """Change a collection; if ``sealed`` is true, with new digests, as somebody would who forges one."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute(statement)
        if sealed:
            for table in ("games_blocks", "visits_blocks", "seal"):
                connection.execute(f"DELETE FROM {table}")
            finish_file(connection)
        else:
            connection.execute("COMMIT")


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize(
    ("statement", "question", "named"),
    [
        ("UPDATE games SET moves = NULL", ["--into", "copy.games"], "wrong type"),
        ("UPDATE games SET file = NULL", [], "wrong type"),
        ("UPDATE games SET number = 'first'", [], "wrong type"),
        ("UPDATE games SET white = x'00'", [], "wrong type"),
        ("UPDATE games SET result = 'lost'", ["--into", "copy.games"], "damaged"),
        ("UPDATE games SET moves = 'a1-b9'", ["--into", "copy.games"], "game 1"),
        ("UPDATE games SET moves = 'a1'", ["--into", "copy.games"], "game 1"),
        ("UPDATE visits SET games = NULL", [], "wrong type"),
        ("UPDATE visits SET games = zeroblob(10)", [], "damaged"),
        ("UPDATE rules SET toml = NULL", [], "wrong type"),
        ("DELETE FROM games", [], "damaged"),
    ],
)
def test_a_collection_with_wrong_values_is_refused_in_one_line(
    statement: str,
    question: list[str],
    named: str,
    sealed: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "games.csv").write_text("d2-e2 c4-c5,0,0,White\n", encoding="utf-8")
    target = written(tmp_path, tmp_path / "games.csv")
    change(target, statement, sealed=sealed)
    assert run(["games", str(target), *(str(tmp_path / word) if "." in word else word for word in question)]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "written.games" in err
    assert named in err
    assert not (tmp_path / "copy.games").exists()


def test_a_file_that_is_no_sound_collection_is_refused(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, random = collection.read_bytes(), Random(1)
    target = tmp_path / "spoilt.games"
    assert run(["games", str(collection), "--json"]) == 0
    sound = essence(capsys.readouterr().out)
    for number in range(examples(25, 400)):
        spoilt = bytearray(content)
        for _ in range(random.randrange(1, 40)):
            spoilt[random.randrange(16, len(spoilt))] = random.randrange(256)
        target.write_bytes(spoilt[: random.randrange(16, len(spoilt))] if number % 2 else spoilt)
        code = run(["games", str(target), "--json"])
        out, err = capsys.readouterr()
        if code == 0:
            assert essence(out) == sound
        else:
            assert (code, len(err.splitlines()), "spoilt.games" in err) == (2, 1, True)
    # A view with endless rows, in place of a table, is not read.
    target.unlink()
    shutil.copy(collection, target)
    with sqlite3.connect(target) as connection:
        connection.execute("DROP TABLE rules")
        connection.execute(
            "CREATE VIEW rules AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT * FROM n"
        )
    connection.close()
    with pytest.raises(InputError, match="not a collection"), open_collection(target):
        pass


def _pages(random: Random, content: bytes) -> tuple[bytes, ...]:
    """Return a content in three parts: before, in and after one of its pages of 4,096 bytes."""
    place = 4096 * random.randrange(len(content) // 4096)
    return content[:place], content[place : place + 4096], content[place + 4096 :]


def _flipped(random: Random, content: bytes) -> bytes:
    spoilt = bytearray(content)
    for _ in range(random.choice([1, 1, 100])):
        place = random.randrange(8 * len(content))
        spoilt[place // 8] ^= 1 << place % 8
    return bytes(spoilt)


def _zeroed(random: Random, content: bytes) -> bytes:
    before, page, after = _pages(random, content)
    return before + bytes(len(page)) + after


def _swapped(random: Random, content: bytes) -> bytes:
    first, second = sorted(random.sample(range(len(content) // 4096), 2))
    pages = [content[place : place + 4096] for place in range(0, len(content), 4096)]
    pages[first], pages[second] = pages[second], pages[first]
    return b"".join(pages)


# What happens to files: copies that break off, bits, pages and values that change.
DAMAGES = {
    "cut": lambda random, content: content[: random.randrange(len(content))],
    "flipped": _flipped,
    "zeroed": _zeroed,
    "swapped": _swapped,
    "header": lambda random, content: _flipped(random, content[:100]) + content[100:],
    "extended": lambda random, content: content + random.choice([b"\0", b"x" * 99, bytes(4096), content[-4096:]]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_collection_answers_rightly_or_is_refused(
    damage: str, collection: Path, games: list[Board], tmp_path: Path
) -> None:
    """Each question about each damaged file; what nobody asked for may be damaged, but then verification finds it."""
    asked = [Board(games[0].variant), *(played("ashton-5-4v2", seed, seed % 5 + 1) for seed in range(4))]
    questions: list[Callable[[Collection], object]] = [
        *(partial(lambda board, opened: opened.answer(board, most=5), board) for board in asked),
        lambda opened: opened.answer(asked[0], player="w1"),
        lambda opened: opened.counts(),
        lambda opened: [(file, number, game) for file, number, game in opened.games()],
    ]

    def answer(path: Path, question: Callable[[Collection], object]) -> object:
        with open_collection(path) as opened:
            return question(opened)

    sound = [answer(collection, question) for question in questions]
    content, random, target = collection.read_bytes(), Random(damage), tmp_path / "spoilt.games"
    refused = 0
    for _ in range(examples(12, 300)):
        target.write_bytes(DAMAGES[damage](random, content))
        same = True
        for question, expected in zip(questions, sound, strict=True):
            try:
                assert answer(target, question) == expected
            except InputError as error:
                assert "spoilt.games" in str(error)  # noqa: PT017
                same, refused = False, refused + 1
        with suppress(InputError):  # no longer marked as a collection
            assert same or verify_folder(target).failures
    assert refused or damage in ("flipped", "header")


def test_edited_values_are_refused(collection: Path, games: list[Board], tmp_path: Path) -> None:
    target, start = tmp_path / "edited.games", Board(games[0].variant)
    for statement in (
        "UPDATE games SET result = CASE result WHEN 'black' THEN 'white' ELSE 'black' END WHERE id = 3",
        "UPDATE games SET white = white || 'x' WHERE id = 3",
        "DELETE FROM games WHERE id = 60",
        "INSERT INTO games SELECT 61, rules, file, number, white, black, date, result, start, moves FROM games LIMIT 1",
        "UPDATE visits SET games = substr(games, 1, 11)",
        "DELETE FROM visits WHERE length(games) > 500",
        "UPDATE visits SET rules = 2",
        "UPDATE rules SET name = 'brandubh'",
        "DELETE FROM visits_blocks",
        "DELETE FROM seal",
    ):
        shutil.copy(collection, target)
        change(target, statement)
        with pytest.raises(DamagedError, match=r"edited\.games"), open_collection(target) as opened:
            opened.answer(start, player="w1")
        found = verify_folder(target)
        assert (found.kinds, found.failures) == (["collection of games"], 1)
    # The digests cover the values, not how SQLite lays them out.
    shutil.copy(collection, target)
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA page_size=1024")
        connection.execute("VACUUM")
    assert target.read_bytes() != collection.read_bytes()
    with open_collection(target) as opened, open_collection(collection) as sound:
        assert opened.answer(start) == sound.answer(start)


def test_a_collection_is_verified_and_an_old_one_is_made_again(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "store" / "my.games"
    target.parent.mkdir()
    shutil.copy(collection, target)
    for place in (target, target.parent):
        assert run(["verify", str(place), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["kinds"] == ["collection of games"]
    target.write_bytes(collection.read_bytes()[:-1])
    for place in (target, target.parent):
        assert run(["verify", str(place)]) == 1
        assert "my.games': is damaged (it has" in capsys.readouterr().out
    shutil.copy(collection, target)
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA user_version=0")
    for command in (["games", str(target)], ["verify", str(target)]):
        assert run(command) in (1, 2)
        assert "make it again" in "".join(capsys.readouterr())
    (tmp_path / "notes.txt").write_text("x")
    assert run(["verify", str(tmp_path / "notes.txt")]) == 2


def test_the_callers_own_errors_are_not_damage(collection: Path, games: list[Board]) -> None:
    for error in (KeyError("mine"), ValueError("mine"), sqlite3.OperationalError("mine")):
        with pytest.raises(type(error), match="mine"), open_collection(collection):
            raise error
    with open_collection(collection) as opened:
        for _ in opened.games():
            with pytest.raises(InputError, match="most"):
                opened.answer(games[0], most=-1)
            break


def test_threads_share_a_collection_until_it_is_closed(collection: Path, games: list[Board]) -> None:
    start = Board(games[0].variant)
    with open_collection(collection) as opened, ThreadPoolExecutor(8) as pool:
        expected = opened.answer(start)
        assert all(answer == expected for answer in pool.map(lambda _: opened.answer(start.copy()), range(40)))
        rest = opened.games()
        next(rest)
    for use in (lambda: opened.answer(start), lambda: list(opened.games())):
        with pytest.raises(UseError, match="is closed"):
            use()


def test_a_game_in_a_collection_and_in_its_source_counts_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal games of one file stay different games, and so do those of files of another name."""
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "games.csv").write_text("d2-e2 c4-c5,0,0,White\n" * 3 + "d2-e2,0,0,Black\n", encoding="utf-8")

    def total(*sources: Path) -> tuple[int, list[str]]:
        assert run(["games", *map(str, sources), "-v", "brandubh", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        return answer["total"], [game["why"] for game in answer["unread"]]

    write_collection(folder / "a.games", [folder / "games.csv"], load_variant("brandubh"), Observer())
    assert total(folder / "a.games")[0] == 4
    again = ["4 games already read from other files"]
    assert total(folder) == total(folder / "a.games", folder / "games.csv") == (4, again)
    write_collection(tmp_path / "b.games", [folder / "a.games"], load_variant("brandubh"), Observer())
    assert total(folder, tmp_path / "b.games") == (4, again * 2)
    moved = tmp_path / "moved"
    folder.rename(moved)
    assert total(moved) == (4, again)
    shutil.copy(moved / "games.csv", moved / "others.csv")
    assert total(moved) == (8, again)
    (moved / "games.csv").write_text("d2-e2 c4-c5,0,0,White\n" * 2, encoding="utf-8")  # a part of the source
    assert total(moved) == (4 + 4, ["2 games already read from other files"])


# -- books ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "best"),
    [
        # Attackers move first. A move that lost 20 of 20 games is no better than one without results.
        (["d2-e2 c4-c5,0,0,White"] * 20 + ["a4-a5 d3-e3,0,0,Ongoing"], "d1-c1"),
        (["d2-e2 c4-c5,0,0,White"] * 20 + ["a4-a5 d3-e3,0,0,Black"], "d1-c1"),
        (["d2-e2 c4-c5,0,0,White"] * 20, None),
        (["d2-e2 c4-c5,0,0,White"] * 20 + ["d2-e2 c4-c5,0,0,Draw"], "d2-c2"),
        (["d2-e2 c4-c5,0,0,Ongoing"] * 2 + ["a4-a5 d3-e3,0,0,Ongoing"], "d2-c2"),
        # One win in one game is less than ten in twelve.
        (["d2-e2,0,0,Black"] * 10 + ["d2-e2,0,0,White"] * 2 + ["a4-a5 d3-e3,0,0,Black"], "d2-c2"),
    ],
)
def test_a_move_that_never_scored_is_not_the_best(
    lines: list[str], best: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "games.csv").write_text("\n".join(lines), encoding="utf-8")
    book = str(tmp_path / "my.book")
    assert run(["book", "make", book, str(tmp_path / "games.csv"), "-v", "brandubh"]) == 0
    capsys.readouterr()
    for way in ("best", "draw"):
        command = ["bestmove", "-v", "brandubh", "--player", "random", "--book", book, "--book-move", way, "--json"]
        assert run(command) == 0
        answer = json.loads(capsys.readouterr().out)
        found = answer["move"] if answer["source"] == "book" else None
        assert found == best if way == "best" else found


def answer_of(path: Path, variant: Variant, *moves: str) -> PositionGames:
    board = Board(variant)
    for move in moves:
        board.push(move)
    with open_collection(path) as opened:
        return opened.answer(board)


def test_a_book_is_played_from_and_drawn_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = load_variant("brandubh")
    lines = ["d2-e2 c4-c5,0,0,White"] * 3 + ["d2-c2 e4-e5,0,0,Black"] + ["a4-a5 d3-e3,0,0,Black"] * 2
    (tmp_path / "games.csv").write_text("\n".join(lines), encoding="utf-8")
    book = str(tmp_path / "my.book")
    assert run(["book", "make", book, str(tmp_path / "games.csv"), "-v", "brandubh", "--plies", "1"]) == 0
    found = {move.move: move for move in answer_of(Path(book), rules).moves}
    assert {move: one.games for move, one in found.items()} == {"d2-c2": 4, "d1-c1": 2}
    beyond = answer_of(Path(book), rules, "d2-e2")
    assert (beyond.moves, beyond.total, beyond.ended) == ([], 4, 0)  # beyond the first ply
    assert found["d1-c1"].low > found["d2-c2"].low
    capsys.readouterr()

    def chosen(*words: str) -> str:
        assert run(["bestmove", "-v", "brandubh", "--player", "random", "--json", "--book", book, *words]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["source"] == "book"
        return str(answer["move"])

    assert chosen() == "d1-c1"
    # A request for several lines bypasses the book.
    assert run(["bestmove", "-v", "brandubh", "--nodes", "50", "--lines", "2", "--json", "--book", book]) == 0
    found_lines = json.loads(capsys.readouterr().out)
    assert (found_lines["source"], len(found_lines["lines"])) == ("search", 2)
    drawn = Counter(chosen("--book-move", "draw", "--seed", str(seed)) for seed in range(30))
    same = {move for one in found.values() for move in (one.move, *one.same)}
    assert set(drawn) <= same
    assert len(drawn) > 3
    lines_of_pairs = [BookOpenings(book, 1, 7).of_pair(rules, number) for number in range(40)]
    assert lines_of_pairs == [BookOpenings(book, 1, 7).of_pair(rules, number) for number in range(40)]
    assert {str(line[0]) for line in lines_of_pairs} <= same
    assert {len(BookOpenings(book, 9, 7).of_pair(rules, 0))} == {1}
    match = ["match", "random", "random", "-v", "brandubh", "-n", "2", "--nodes", "1", "--openings", book, "--json"]
    assert run([*match, "--store", str(tmp_path / "match")]) == 0
    record = (tmp_path / "match" / "game-000000.txt").read_text(encoding="utf-8")
    assert record.split("\n1. ")[1].split()[0] in same
    for words, named in (
        (["--book-move", "draw"], "needs --book"),
        (["--option", "book-move=draw"], "needs book=FILE"),
        (["--book", ""], "--book '': is empty"),
    ):
        assert run(["bestmove", "-v", "brandubh", "--player", "random", *words]) == 2
        assert named in capsys.readouterr().err
    with pytest.raises(InputError, match=r"contains games of brandubh, not of ashton$"):
        BookOpenings(book).of_pair(load_variant("ashton"), 0)


# -- the collection that ships, and the names of openings --------------------------------------


def test_the_shipped_collection_is_as_it_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = SHIPPED_FILE.read_bytes()
    about = json.loads(Path(str(SHIPPED_FILE)).with_suffix(".json").read_text(encoding="utf-8"))
    assert len(content) <= 3_000_000
    assert hashlib.sha256(content).hexdigest() == about["sha256"]
    with open_collection(SHIPPED) as collection:
        counts = collection.counts()
        games = {(game.variant.name, game.moves) for _, _, game in collection.games() if game.variant}
    assert counts == {name: found["games"] for name, found in about["games"].items()}
    assert counts.keys() == {"ashton", "brandubh", "copenhagen"}
    assert min(Counter(name for name, _ in games).values()) >= 2000  # different ones
    assert run(["games", "-v", "brandubh", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["total"] == counts["brandubh"]
    assert sum(move["games"] for move in answer["moves"]) == answer["total"]
    assert run(["games", "shipped", "-v", "ashton", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == counts["ashton"]
    assert run(["games", "-v", "mcgill"]) == 2
    assert "contains games of ashton, brandubh, copenhagen, not of mcgill" in capsys.readouterr().err
    assert run(["verify", "shipped"]) == 0
    capsys.readouterr()
    assert run(["book", "make", str(tmp_path / "own.book"), "shipped", "--plies", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == counts


def test_the_content_of_a_collection_answers_like_its_file(games: list[Board], collection: Path) -> None:
    board = Board(games[0].variant)
    with open_collection(collection.read_bytes(), "this") as content, open_collection(collection) as file:
        assert content.answer(board) == file.answer(board)
        assert [*content.games(only=games[0].variant)] == [*file.games()]
        assert not [*content.games(only=load_variant("brandubh"))]
    with pytest.raises(InputError, match=r"^this: is not a collection"), open_collection(b"nothing", "this"):
        pass


def test_named_openings_are_recognised_on_every_side_of_the_board() -> None:
    for name in ("copenhagen", "fetlar"):
        variant = load_variant(name)
        names = named_openings(variant)
        assert len(names) == 36  # every line has its own position
        for opening in names.values():
            assert opening.link.startswith("http")
            for symmetry in variant.symmetries:
                board = Board(variant).transform(symmetry)
                for move in opening.moves:
                    found = Move.parse(move, board.size)
                    board.push(Move(symmetry.table[found.start], symmetry.table[found.target], board.size))
                assert opening_of(board) == opening
                board.push(next(iter(board.legal_moves)))
                known = opening_of(board)  # the opening of the game stays, unless the move leads to another one
                assert known is not None
                assert known == opening or len(known.moves) == board.ply
    assert opening_of(Board("copenhagen")) is None
    assert not named_openings(load_variant("brandubh"))
    # Your own rules can have the same start and forbid some of the moves: here h3 and g3 are in camps.
    text = resources.files("tablut.variants").joinpath("data", "copenhagen.toml").read_text(encoding="utf-8")
    terrain = text.split('"""')[1]
    rows = terrain.split("\n")
    rows[9] = "...AAAAA..."
    own = re.sub(r"(?m)^(fort|encirclement|shieldwall) = .*\n", "", text.replace(terrain, "\n".join(rows), 1))
    own += "\n[camps]\nhostile = false\nshelter = false\ninert = []\n"
    variant = parse_variant(own, name="own", origin="own")
    assert variant.start_position == load_variant("copenhagen").start_position
    assert {opening.name for opening in named_openings(variant).values()} >= {"Dutch Opening"}
    assert len(named_openings(variant)) < 12
