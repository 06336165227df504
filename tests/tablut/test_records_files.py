"""Game records in files: what other programs wrote, what is kept on saving, and which folders stores may have."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.formats.bologna import LogWriter
from tablut.formats.opentafl import write_game
from tablut.position import MoveText
from tablut.records import GameRecord, read_archive, read_record, record_of, write_line, write_pgn, write_record
from tablut.variants import load_variant
from tablut.work.files import write_text

DATA = Path(__file__).parents[1] / "data"
FOREIGN = DATA / "foreign"
TAGS = {"White": "Olaf", "Black": "Ines"}
PLAYED = ["e4-f4", "a4-b4", "f4-f2", "h5-h4"]

# What is read: the moves, and what else the answer says.
READ: dict[str, tuple[list[str], dict[str, object]]] = {
    "glued.txt": (PLAYED, {"notes": []}),
    "dots.txt": (PLAYED, {"comments": {"1": "quiet"}}),
    "marks.txt": (PLAYED, {"marks": {"2": "$6", "3": "!!", "4": "?!"}}),
    "semicolon.txt": (PLAYED, {"comments": {"2": "quiet, not e5-e9"}}),
    "percent.txt": (PLAYED, {"comments": {}}),
    "variation.txt": (PLAYED, {"comments": {}}),
    "nested.txt": (PLAYED, {"comments": {"1": "outer {inner} still"}}),
    "points.txt": (PLAYED, {"result": "white"}),
    "points-tag.txt": (PLAYED, {"result": "black", "tags": {"White": "Ines", "Black": "Olaf"}}),
    "two-games.txt": (PLAYED, {"result": None}),
    "ctrl-z.txt": (PLAYED, {"notes": []}),
    "utf-16.txt": (PLAYED, {"tags": {"White": "Ines", "Black": "Olaf"}}),
    "client.pgn": (["d11-d9", "f8-d8", "k7-i7", "e7-e9"], {"variant": "copenhagen"}),
    "import.json": (["d11-d9", "f8-d8"], {"variant": "copenhagen", "tags": TAGS | {"Termination": "ongoing"}}),
    "site.json": (["d1-d3", "e5-e2"], {"variant": "copenhagen", "start": load_variant("copenhagen").start_position}),
    "bologna_systemLog.txt": (["c5-c4", "d1-d3"], {"variant": "bologna", "tags": {"White": "ines", "Black": "olaf"}}),
}
NOTED = {"percent.txt": "% omitted: 1", "variation.txt": "after ply 2", "two-games.txt": "1 more game"}
# What is refused: what the line names, and what it must not name.
REFUSED = {
    "course.hpgn": "fit copenhagen, fetlar, sea-battle-11; add the rule set, such as -v copenhagen",
    "abstract.json": "fit brandubh, brandubh-federation; add the rule set, such as -v brandubh",
    "online.json": "JSON of PlayTaflOnline",
    "ludii.trl": "fit copenhagen, fetlar, sea-battle-11; add the rule set, such as -v copenhagen",
}


def replayed(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, object], str]:
    code = run(["replay", *map(str, words), "--json"])
    out, err = capsys.readouterr()
    answer = json.loads(out) if code < 2 else {}
    answer.pop("provenance", None)
    return code, answer, err


@pytest.mark.parametrize("name", READ)
def test_a_record_of_another_program_is_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer, _ = replayed(capsys, FOREIGN / name)
    moves, facts = READ[name]
    assert (code, [one["move"] for one in answer["moves"]]) == (0, moves)  # type: ignore[attr-defined]
    assert {key: answer[key] for key in facts} == facts
    assert NOTED.get(name, "") in " ".join(answer["notes"])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", REFUSED)
def test_a_record_of_another_program_is_refused_for_what_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And where rules alone are missing, it is read with them."""
    code, _, err = replayed(capsys, FOREIGN / name)
    assert code == 2
    assert REFUSED[name] in err
    assert name in err
    assert "comment" not in err
    rules = REFUSED[name].partition(" -v ")[2]
    code, answer, err = replayed(capsys, FOREIGN / name, "-v", rules or "copenhagen")
    assert (code == 0 and answer["moves"]) if rules else (code == 2 and REFUSED[name] in err)


def test_rules_that_a_record_s_start_does_not_fit_are_not_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = (DATA / "records" / "bologna-english_gameLog.txt").read_text(encoding="utf-8")
    (tmp_path / "log.txt").write_text(log.replace("GameAshtonTablut", "GameOther"), encoding="utf-8")
    for file, rules in ((DATA / "records" / "ludii.trl", "brandubh"), (tmp_path / "log.txt", "ashton")):
        for command in ("replay", "games"):
            assert run([command, str(file)]) == 2
            assert f"its moves fit {rules}" in capsys.readouterr().err
            assert run([command, str(file), "-v", rules]) == 0
            capsys.readouterr()


def test_one_bad_line_of_an_archive_does_not_refuse_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    archive = [str(FOREIGN / "nearly.csv"), "-v", "brandubh-federation"]
    assert run(["games", *archive, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert [(one["number"], one["plies"], one["illegal"]) for one in answer["games"]] == [(2, 2, None), (4, 1, None)]
    assert [one["line"] for one in answer["unread"]] == [3]
    for line, expected in ((2, 0), (3, 2), (9, 2)):
        code, _, err = replayed(capsys, *archive, "--game", line)
        assert code == expected
        assert f"--game {line}" in err or not code


def test_one_bad_game_of_a_site_does_not_refuse_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound = {"blackPlayerName": "a", "moves": "d1-d3"}
    moved = {"header": {"startingPosition": "9/9"}, "moves": [["d1-d3"]]}
    file = tmp_path / "games.json"
    file.write_text(json.dumps([sound, {"other": 1}, 7, moved, sound | {"blackPlayerName": 5}]), encoding="utf-8")
    assert run(["games", str(file), "-v", "copenhagen", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["total"] == 1
    assert [one["number"] for one in answer["unread"]] == [2, 3, 4, 5]
    assert "startingPosition" in answer["unread"][2]["why"]
    for first, named in (({"other": 1}, "JSON of"), (sound | {"blackPlayerName": 5}, "game 1: blackPlayerName 5: ")):
        file.write_text(json.dumps([first, sound]), encoding="utf-8")
        code, _, err = replayed(capsys, file)
        assert (code, named in err) == (2, True)
        assert ": :" not in err


def test_positions_in_the_letters_of_hnefatafl_org(capsys: pytest.CaptureFixture[str]) -> None:
    text = "/3AAAAA3/5A5/11/A4D4A/A3DDD3A/AA1DDKDD1AA/A3DDD3A/A4D4A/11/5A5/3AAAAA3/ b"
    assert run(["show", "-v", "copenhagen", "-p", text, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["position"] == load_variant("copenhagen").start_position


# -- nothing is lost on saving, or it is said ----------------------------------------------


def test_what_is_read_is_kept_on_saving(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[Variant "brandubh"]\n{before} 1. d2-e2?! {first} c4-c5 $6 ; second\n2. f4-f5 c5-a5 {the end}\n'
    game = tmp_path / "game.txt"
    game.write_text(text, encoding="utf-8")
    code, before, _ = replayed(capsys, game, "--save", tmp_path / "again.txt")
    assert code == 0
    assert replayed(capsys, tmp_path / "again.txt")[1] == before
    assert replayed(capsys, game, "--save", game)[:2] == (0, before)
    assert replayed(capsys, game)[1] == before


def test_no_picture_replaces_the_record_or_goes_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = tmp_path / "game.txt"
    game.write_text('[Variant "brandubh"]\n1. d2-e2 *\n', encoding="utf-8")
    (tmp_path / "copy.gif").write_bytes(game.read_bytes())
    for words, named in (
        (["--gif", game], "is not a name for a gif picture"),
        (["--gif", tmp_path / "copy.gif"], "exists and is not a gif picture"),
        (["--gif", tmp_path], "directory"),
        (["--gif", ""], "--gif '': is empty"),
        (["--png", ""], "--png '': is empty"),
        (["--save", ""], "--save '': is empty"),
    ):
        code, _, err = replayed(capsys, game, *words)
        assert (code, named in err.lower()) == (2, True)
        assert game.read_text(encoding="utf-8").startswith("[Variant")


@pytest.mark.parametrize("name", ["percent.txt", "variation.txt", "two-games.txt", "bologna-english_gameLog.txt"])
def test_a_record_is_not_saved_over_itself_with_a_loss(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = next(folder / name for folder in (FOREIGN, DATA / "records") if (folder / name).exists()).read_bytes()
    game, link = tmp_path / name, tmp_path / "link.txt"
    game.write_bytes(content)
    link.symlink_to(game)
    for target in (game, link):
        code, _, err = replayed(capsys, game, "--save", target)
        assert (code, game.read_bytes()) == (2, content)
        assert "would lose" in err or "a single game" in err
    code, _, err = replayed(capsys, game, "--save", tmp_path / "other.txt")
    assert code == 0
    assert "cannot store" in err


def test_the_suffix_decides_how_a_record_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = DATA / "records" / "brandub.otg"
    lost = {}
    for name in ("a.otg", "a.OTG", "a.csv", "a.pgn", "a.txt", "a", "a.json"):
        code, _, lost[name] = replayed(capsys, source, "--save", tmp_path / name)
        assert code == 0
    begins = {name: (tmp_path / name).read_text(encoding="utf-8")[:6] for name in lost}
    ours, theirs = dict.fromkeys(("a.txt", "a", "a.json"), "[Date "), dict.fromkeys(("a.otg", "a.OTG"), "[resul")
    assert begins == {"a.csv": "d2-e2 ", "a.pgn": "[Event"} | ours | theirs
    assert "tag White" in lost["a.csv"]
    assert "tag" not in lost["a.txt"]


def test_a_person_s_comments_survive_an_analysis_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = tmp_path / "game.txt"
    game.write_text('[Variant "ashton-5-4v0"]\n{before} 1. c3-b3?! {mine} c1-b1\n', encoding="utf-8")
    line = ["analyse", str(game), "--nodes", "60", "--hash", "1", "--proof-nodes", "100", "--annotate"]
    for target in (game, game, tmp_path / "game.otg"):
        assert run([*line, str(target)]) == (2 if target.suffix == ".otg" else 0), capsys.readouterr().err
    assert not (tmp_path / "game.otg").exists()  # OpenTafl has no rule for that end
    comments = read_record(game.read_bytes()).comments
    assert comments[0] == "before"
    assert comments[1].startswith("mine; ")
    assert comments[1].count("mine") == 1
    assert comments[2]
    assert read_record(game.read_bytes()).marks == {1: "?!"}


# -- what is written to a file is read from it, with every control character ---------------

CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF]))
TEXTS = st.text(st.sampled_from(CONTROLS + '\\"[]{}()|;%$! a:') | st.characters(exclude_categories=["Cs"]), max_size=9)
GAME = Board("brandubh")
for _move in ("d2-e2", "c4-c5", "f4-f5", "c5-a5", "d6-a6"):
    GAME.push(_move)


def record(
    tags: dict[str, str], comments: dict[int, str], marks: dict[int, str] | None = None, *, variant: str = "brandubh"
) -> GameRecord:
    return replace(GAME.record(tags, "black"), variant=variant, comments=comments, marks=marks or {})


COMMENTS = st.dictionaries(st.integers(0, 5), TEXTS.filter(bool), max_size=3)
MARKS = st.dictionaries(st.integers(0, 5), st.sampled_from(["?!", "!!", "$6", "$6 $140", "?? $1"]), max_size=2)


@given(st.dictionaries(st.sampled_from(["White", "Event", "X-y_1"]), TEXTS, max_size=2), COMMENTS, MARKS)
def test_our_format_round_trips_through_files(
    tmp_path_factory: pytest.TempPathFactory, tags: dict[str, str], comments: dict[int, str], marks: dict[int, str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "game.txt"
    one = record(tags, comments, marks)
    write_text(path, write_record(one))
    assert read_record(path.read_bytes()) == one
    assert read_record(path.read_text(encoding="utf-8")) == one
    with path.open("w", encoding="utf-8", newline="\r\n") as file:
        file.write(write_record(one))
    assert read_record(path.read_bytes()) == one


@given(st.dictionaries(st.sampled_from(["White", "Event", "X-y_1"]), TEXTS, max_size=2), COMMENTS, MARKS)
def test_pgn_round_trips_and_has_what_its_readers_need(
    tags: dict[str, str], comments: dict[int, str], marks: dict[int, str]
) -> None:
    one = record(tags, comments, marks)
    text = write_pgn(one)
    again = read_record(text)
    roster = {"Event", "Site", "Date", "Round", "White", "Black"}
    assert again.tags.keys() == roster | tags.keys()
    assert replace(again, tags={name: again.tags[name] for name in tags}) == one
    # Black moves first, so the first number is black's. In other programs, a brace in a comment would end the comment.
    assert text.splitlines()[-1] == "1-0"
    assert '[Result "1-0"]\n' in text
    body = text.partition("\n\n")[2]
    assert body.count("{") == body.count("}") == len(comments)


@given(st.dictionaries(st.sampled_from(["White", "Event"]), TEXTS, max_size=2), COMMENTS)
def test_opentafls_format_round_trips_through_files_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, tags: dict[str, str], comments: dict[int, str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "game.otg"
    one = record(tags, comments)
    try:
        write_text(path, write_game(one))
    except InputError:
        texts = [*tags.values(), *comments.values()]
        assert any(set(text) & set("[]|") or not text.replace("\n", "").isprintable() for text in texts)
        return
    again = read_record(path.read_bytes())
    stripped = {ply: said.strip() for ply, said in comments.items() if said.strip()}
    assert ({name: again.tags[name] for name in tags}, again.comments) == (
        {name: value.strip() for name, value in tags.items()},
        stripped,
    )
    assert (again.moves, again.result) == (one.moves, one.result)


def test_archives_and_logs_round_trip_through_files(tmp_path: Path) -> None:
    rules = load_variant("brandubh-federation")
    board = Board(rules)
    for move in ("d2-e2", "c4-c5", "f4-f5", "c5-a5", "d6-a6"):
        board.push(move)
    path = tmp_path / "games.csv"
    write_text(path, write_line(board.record(), rules) + "\n")
    games, unread = read_archive(path.read_text(encoding="utf-8"))
    assert (len(games), unread) == (1, {})
    assert list(map(str, record_of(games[0], rules).moves)) == list(map(str, board.record().moves))
    board, log = Board("bologna"), LogWriter()
    log.begin("Ines", "Olaf", board.position, 0)
    side, move = board.position.side, next(iter(board.legal_moves))
    board.push(move)
    log.played(side, move, board.captured(), board.position, "BLACK")
    write_text(tmp_path / "log.txt", log.text())
    read = read_record((tmp_path / "log.txt").read_bytes())
    assert (read.moves[0].move, read.tags["White"]) == (move, "Ines")


def test_opentafls_tags_do_not_fall_together() -> None:
    for names in (("Elo", "ELO"), ("Attackers", "Black"), ("Position",), ("Result",), ("Start-comment",)):
        with pytest.raises(InputError, match="tag"):
            write_game(record(dict.fromkeys(names, "1"), {0: "before"}))


def test_a_second_game_of_opentafl_is_left_out_with_a_note() -> None:
    text = (DATA / "records" / "brandub.otg").read_text(encoding="utf-8")
    one, two = read_record(text), read_record(text + "\n" + text)
    assert (two.moves, two.comments, two.tags) == (one.moves, one.comments, one.tags)
    assert len(two.notes) == len(one.notes) + 1


@pytest.mark.parametrize(
    ("text", "line"), [("1. e4-f4\n{x", 3), ("1. e4-f4\n\n(x", 4), ("{\n}\n1. e4-f4 a4-z9", 4), ('1. e4-f4 [A "x"]', 2)]
)
def test_an_error_names_its_line(text: str, line: int) -> None:
    with pytest.raises(InputError, match=rf"line {line}, column "):
        read_record(f'[Variant "ashton"]\n{text}')


def test_moves_are_counted_where_black_begins() -> None:
    one = read_record('[Variant "brandubh"]\n1. d2-e2 c4-c5 1-0')
    assert one.result == "black"
    start = MoveText.parse("c4-c5", 7)
    assert one.moves[1] == start


# -- one rule for the folders of all stores ------------------------------------------------

STORES = {
    "census": ["-v", "brandubh", "--plies", "1"],
    "match": ["random", "random", "-v", "brandubh", "--games", "2", "--most-plies", "4"],
    "tournament": ["random", "random@nodes=2", "-v", "brandubh", "--games", "2", "--most-plies", "4"],
    "tablebase build": ["-v", "brandubh", "--men", "2"],
    "solve": ["-v", "ashton-5-4v0"],
    "prove": ["-v", "ashton-5-4v0", "--claim", "white"],
    "reachable estimate": ["-v", "brandubh", "--samples", "10"],
    "report": [],
}


@pytest.mark.parametrize("command", STORES)
def test_a_store_takes_no_folder_of_something_else(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full" / "deep").mkdir(parents=True)
    (tmp_path / "full" / "deep" / "mine.txt").write_text("mine", encoding="utf-8")
    option = "--out" if command == "report" else "--store"
    for named in ("full", ""):
        assert run([*command.split(), *STORES[command], option, named]) == 2
        assert "choose another folder" in capsys.readouterr().err or not named
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["full", "deep", "mine.txt"]


def test_a_store_goes_on_in_its_own_folder_and_in_no_other_kind(tmp_path: Path) -> None:
    census, match = ["census", *STORES["census"], "--store"], ["match", *STORES["match"], "--store"]
    for line, own, other in ((census, "c", "m"), (match, "m", "c")):
        (tmp_path / own).mkdir()
        assert run([*line, str(tmp_path / own)]) == 0
        assert run([*line, str(tmp_path / own)]) == 0
        if (tmp_path / other).exists():
            assert run([*line, str(tmp_path / other)]) == 2
