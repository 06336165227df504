"""Game records: our own format, OpenTafl's, and which of them a text is."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.formats.opentafl import read_rules, write_game, write_rules
from tablut.position import Move, MoveText, Position
from tablut.records import GameRecord, read_record, write_record
from tablut.replay import replay
from tablut.rules import NaiveGame, Outcome
from tablut.variants import Variant, load_variant, shipped_variants
from tablut.variants.model import Repetition
from tests.support.effort import examples
from tests.support.strategies import squares

RECORDS = Path(__file__).parents[1] / "data" / "records"
NATIVE = (RECORDS / "ashton.txt").read_text(encoding="utf-8")
OTG = (RECORDS / "brandub.otg").read_text(encoding="utf-8")
RULES = "dim:7 name:Brandub_Sample surf:n atkf:y ks:c nj:n cj:n start:/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"


def moves(*texts: str, size: int = 9) -> tuple[MoveText, ...]:
    return tuple(MoveText.parse(text, size) for text in texts)


def captures(size: int) -> st.SearchStrategy[frozenset[int] | None]:
    return st.none() | st.frozensets(squares(size), min_size=1, max_size=3)


@given(st.data(), st.sampled_from(["ashton", "brandubh", "ashton-5-4v2"]))
def test_any_record_round_trips(data: st.DataObject, name: str) -> None:
    size = load_variant(name).size
    names = st.from_regex(r"\A[A-Z][a-z-]{0,8}\Z").filter(
        lambda tag: tag not in ("Variant", "Start", "Result", "Rules")
    )
    values = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('"\\\n[]{}'), max_size=12)
    pairs = st.tuples(squares(size), squares(size), captures(size))
    cells = st.text("....bwK", min_size=size * size, max_size=size * size)
    record = GameRecord(
        tags=data.draw(st.dictionaries(names, values, max_size=4)),
        variant=name,
        start=data.draw(st.none() | st.builds(Position, cells, st.sampled_from(["w", "b"]))),
        moves=tuple(MoveText(Move(a, b, size), taken) for a, b, taken in data.draw(st.lists(pairs, max_size=7))),
        result=data.draw(st.sampled_from([None, "white", "black", "draw"])),
    )
    assert read_record(write_record(record)) == record


def test_other_rules_do_not_move_the_start() -> None:
    # Black moves first at Berkeley, white did in this game.
    beside = load_variant("berkeley")
    log = (RECORDS / "bologna-english_gameLog.txt").read_text(encoding="utf-8")
    for text in (NATIVE, log):
        record = read_record(text, beside)
        assert record.variant == beside
        assert str(record.start) == load_variant("ashton").start_position
        assert read_record(text, load_variant("ashton")).start is None
        with pytest.raises(InputError, match="brandubh"):
            read_record(text, load_variant("brandubh"))
    assert read_record('[Variant "house rules"] 1. e4-f4', beside).start is None


def test_the_path_of_a_variant_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    source = Path(__file__).parents[2] / "tablut" / "variants" / "data" / "ashton-5-4v0.toml"
    path.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    record = GameRecord({}, str(path), None, moves("c1-d1", size=5), None)
    text = write_record(record)
    mine = load_variant(str(path))
    assert f'[Variant "mine"]\n[Rules-SHA256 "{mine.digest}"]' in text
    for beside in (mine, str(path), path):
        assert read_record(text, beside) == replace(record, variant=mine)
    with pytest.raises(InputError, match=r"mine"):
        read_record(text)
    with pytest.raises(InputError, match=r"ashton-5-4v2"):
        read_record(text, "ashton-5-4v2")
    with pytest.raises(InputError, match="Rules-SHA256 'abc'"):
        read_record(text.replace(mine.digest, "abc"), mine)


def test_a_record_never_has_a_file_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("", encoding="utf-8")
    opened = []
    monkeypatch.setattr("tablut.variants.library._from_file", opened.append)
    for name in (str(path), "/dev/zero", "../mine.toml", "./mine.toml", "mine.toml"):
        with pytest.raises(InputError):
            read_record(f'[Variant "{name}"] 1. e4-f4')
        assert read_record(f'[Variant "{name}"] 1. e4-f4', load_variant("ashton")).moves
    assert opened == []


def test_a_log_may_be_in_latin_1_and_nothing_else() -> None:
    log = (RECORDS / "bologna-italian_gameLog.txt").read_text(encoding="utf-8")
    record = read_record(log.replace("Inizio partita", "perch\u00e9\nInizio partita", 1).encode("latin-1"))
    assert record.moves == read_record(log).moves
    assert read_record(NATIVE.replace("Anna", "Ann\u00e9").encode()).tags["White"].startswith("Ann\u00e9")
    with pytest.raises(InputError):
        read_record(NATIVE.replace("Anna", "Ann\u00e9").encode("latin-1"))


def test_an_opentafl_record() -> None:
    record = read_record(OTG)
    assert isinstance(record.variant, Variant)
    assert record.variant.name == "Brandub_Sample"
    assert (record.start, record.result, record.positions) == (None, "white", None)
    assert " ".join(map(str, record.moves)) == (
        "d2-e2 c4-c5 f4-f5 c5-a5 d6-a6xa5 d5-a5xa6 f5-d5 d3-a3xa4 e2-c2 d4-d3 b4-b3"
    )
    assert record.notes == ("variations omitted: 2a, 2b",)
    assert (record.tags["White"], record.tags["Black"], record.tags["Rules"]) == ("Arno", "Berta", RULES)
    assert record.comments[0].startswith("A game made up for the tests.\n\nIt has captures")


@pytest.mark.parametrize("name", ["brandubh", "brandubh-5-4v4"])
@pytest.mark.parametrize("seed", range(3))
def test_a_game_of_ours_becomes_an_opentafl_record(name: str, seed: int) -> None:
    board, rng = Board(name), Random(seed)
    while board.outcome() is None and board.ply < 30:
        board.push(rng.choice(list(board.legal_moves)))
    played = board.record({"White": "Anna"}, "white")
    again = read_record(write_game(played))
    assert (again.moves, again.result, again.tags["White"]) == (played.moves, "white", "Anna")
    third = Repetition(times=3, result="draw")
    rules = replace(board.variant, rules=board.variant.rules.model_copy(update={"repetition": third}))
    assert isinstance(again.variant, Variant)
    assert again.variant.same_game(rules)
    assert replay(again).problems == ()
    # OpenTafl's own words stay as they are.
    said = [next(line for line in write_game(one).splitlines() if "[rules:" in line) for one in (again, played)]
    assert said[0] == said[1]


@pytest.mark.parametrize("variant", shipped_variants()[13:], ids=lambda variant: variant.name)
def test_what_the_family_says_in_opentafls_words(variant: Variant) -> None:
    drawn = replace(variant, rules=variant.rules.model_copy(update={"repetition": Repetition(times=3, result="draw")}))
    assert read_rules(write_rules(drawn)).same_game(drawn)
    if not variant.same_game(drawn):
        with pytest.raises(InputError, match=r"repetition.result \(white_loses\)"):
            write_rules(variant)


def test_a_rules_string_becomes_a_rule_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = RULES.replace("surf:n", "sw:s efe:y swf:n cor:a1,b1,a2,b2 tfr:l")
    assert run(["variants", text, "--toml"]) == 0
    (tmp_path / "mine.toml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert load_variant(str(tmp_path / "mine.toml")).same_game(read_rules(text))
    for wrong in (["--toml"], [text, "--toml", "--csv"], [text.replace("tfr:l", "kj:c")]):
        assert run(["variants", *wrong]) == 2


def test_comments_of_an_opentafl_record() -> None:
    record = read_record(OTG)
    assert list(record.comments.values())[:2] == ["To make room.", "And to look at a5: 9. is no turn here."]
    assert record.comments.keys() == {0, 1, 2}
    again = read_record(write_game(record))
    assert again == replace(record, notes=())
    assert again.comments == record.comments
    one = read_record(otg("1. d1-e1 [only this one]\n2a. c4-c5 [a variation's]"))
    assert one.comments == {1: "only this one"}
    for wrong in ("a|b", "a]b"):
        with pytest.raises(InputError, match="turn 1"):
            write_game(replace(one, comments={1: wrong}))


@pytest.mark.parametrize(
    ("record", "word"),
    [
        (Board("ashton").record(), "camps"),
        (Board("mcgill").record(), "move_limit"),
        (Board("brandubh").record({"Event": "a] b"}), "event"),
        (Board("brandubh", "3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 w").record(), "begin"),
    ],
)
def test_what_opentafl_cannot_say_is_refused(record: GameRecord, word: str) -> None:
    with pytest.raises(InputError, match=word):
        write_game(record)


def test_an_opentafl_record_becomes_one_of_ours() -> None:
    record = read_record(OTG)
    text = write_record(record)
    assert "[Variant" not in text
    assert read_record(text) == replace(record, notes=())


def otg(body: str, tags: str = "", rules: str = RULES) -> str:
    return f"{tags}[rules:{rules}]\n\n{body}"


def test_rules_beside_a_record_that_no_field_can_say() -> None:
    rules = RULES.replace("surf:n", "linc:y kj:r")
    with pytest.raises(
        InputError,
        match=r"kj:r.*linc:y",
    ):
        read_record(otg("1. d1-e1", rules=rules))
    record = read_record(otg("1. d1-e1", rules=rules), load_variant("brandubh"))
    assert record.variant == load_variant("brandubh")
    assert record.start is None
    assert '[Variant "brandubh"]' in write_record(record)
    moved = read_record(otg("", rules=rules.replace("/3t3/3t3/3T3/", "/3t3/4t2/3T3/")), load_variant("brandubh"))
    assert str(moved.start) == "3b3/3b3/3w3/bbwKwbb/3w3/4b2/3b3 b"


def test_a_trial_of_ludii() -> None:
    text = (RECORDS / "ludii.trl").read_text(encoding="utf-8")
    record = read_record(text, "brandubh")
    assert [str(move) for move in record.moves] == [
        *("f4-f6", "d5-g5", "f6-g6xg5", "d3-b3", "d2-b2xb3", "e4-e7")
    ]  # fmt: skip
    assert (record.start, record.result) == (None, "draw")  # the pieces are placed as in the rules' start position
    assert record.tags == {"Event": "Brandub", "Options": "Play Rules/Sample"}
    assert replay(record).problems == ()
    wrong = replay(read_record(text.replace("[Remove:type=Cell,to=34]", "[Remove:type=Cell,to=33]"), "brandubh"))
    assert wrong.problems == ("ply 3: recorded as f6-g6xf5, but the move is f6-g6xg5",)
    # Without rules, the board size is derived from the king's cell.
    unruled = read_record(text)
    assert (unruled.variant, unruled.moves) == (None, record.moves)
    assert str(unruled.start) == load_variant("brandubh").start_position
    for line, changed, problem in (
        ("what=3", "what=4", "line 18: .* places an unknown piece"),
        ("to=24,what=3", "to=25,what=3", "names no rule set"),
        ("Move=[Move:mover=1,from=26,to=40", "Move=[Move:mover=1,from=26,to=400", "line 19: .* not a move on a board"),
        ("Move=[Move:mover=1,from=26,to=40", "Move=[Pass:", "line 19: .* expected a move from one cell to another"),
    ):
        assert line in text
        with pytest.raises(InputError, match=f"^Ludii trial: {problem}"):
            read_record(text.replace(line, changed))
    # The trial's own board decides which rules are possible.
    with pytest.raises(InputError, match=r"board has side 7, but that of 'ashton' has 9"):
        read_record(text, "ashton")
    # Brackets that do not close take no more than linear time.
    with pytest.raises(InputError, match="line 2"):
        read_record("game=/x/T.lud\nMove=" + "[Add:to=1," * 30_000, "brandubh")
    move = "game=/x/T.lud\nMove=[Move:mover=1,from=4,to=15]"
    assert len(read_record(move + "[Remove:" * 200_000, "brandubh").moves) == 1


# OpenTafl's Copenhagen puzzles have rules of this kind: one corner, a throne off the centre, rows from the top.
_PUZZLE = "dim:7 name:Puzzle atkf:y tfr:w cor:g7, cen:b2, sw:s efe:y starti:/7/7/5K1/2t4/7/7/t6/"


def test_the_side_that_repeats_a_position_for_the_third_time_wins() -> None:
    round_trip = "c4-c3 Kf5-f4 c3-c4 Kf4-f5"
    turns = " ".join([round_trip] * 2).split()
    body = "\n".join(f"{turn}. {' '.join(turns[2 * turn - 2 : 2 * turn])}" for turn in range(1, 5))
    record = read_record(otg(body, "[result:-1]\n", _PUZZLE))
    assert isinstance(record.variant, Variant)
    assert (record.variant.terrain[0], record.variant.terrain[5]) == ("+.....X", ".T.....")
    played = replay(record)
    assert played.problems == ()
    assert [ply.outcome is not None for ply in played.plies] == [False] * 7 + [True]
    assert str(played.board.outcome()) == str(Outcome("repetition", "white"))
    assert record == read_record(write_game(record))
    # Other programs receive this rule too.
    assert " tfr:w " in write_rules(replace(record.variant, source="mine"))
    # The rules and the position of a puzzle without moves are shown.
    assert read_record(otg("", "", _PUZZLE)).moves == ()


SAMPLES = [path.read_text(encoding="utf-8") for path in sorted(RECORDS.iterdir())]


@settings(max_examples=examples(12))
@given(st.data(), st.sampled_from(SAMPLES), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
def test_a_damaged_record_is_read_by_the_plain_rules_or_refused(data: st.DataObject, text: str, encoding: str) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    patch = data.draw(st.text(max_size=5) | st.sampled_from(["\n", "[", "]", "1.", "99999999", "x", "-", "Stato:"]))
    try:
        record = read_record((text[:start] + patch + text[end:]).encode(encoding, "replace"), "brandubh")
        played = replay(record)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    game = NaiveGame(played.board.variant)
    position = game.read(str(played.start))
    for ply in played.plies:
        move = game.parse_move(str(ply.move.move))
        assert move in game.legal_moves(position)
        position = game.apply(position, move).position
        assert game.write(position) == str(ply.position)


def test_the_texts_of_variations_are_kept() -> None:
    text = '[Variant "brandubh"] 1. a4-a5 (1. d2-e2 {x (} c4-c5 (1... d3-e3)) d3-e3 (1... d4-c4 $6) *'
    record = read_record(text)
    assert record.variations == ((1, "1. d2-e2 {x (} c4-c5 (1... d3-e3)"), (2, "1... d4-c4 $6"))
    assert record.notes == ("variations omitted: after ply 1, 2",)
