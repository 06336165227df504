"""Every parser of text from outside: linear time, and no error but the toolkit's own.

The tests go over all parsers and all adversarial texts; a new parser is a new line. `tests/data/hostile` keeps a file
for each idea that once did harm: to keep another one, put it there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reports.studies.collection.making import format_puzzles
from retrograde.proofs.certificate import MOST_BYTES, game_of, read_certificate
from retrograde.proofs.solver import solve
from retrograde.proofs.strategy_checker import StrategyCheck
from retrograde.puzzles.puzzle_file import judge, parse_puzzles, read_puzzles
from tablut import Board
from tablut.errors import TablutError
from tablut.formats import bologna, opentafl
from tablut.formats.bologna import looks_like_log, read_logs, read_system_logs
from tablut.formats.ludii import read_trial
from tablut.formats.native import read_native, read_native_games
from tablut.formats.opentafl import looks_like_otg, read_game, read_games
from tablut.formats.reading import looks_like_position, read_berkeley, read_mcgill, read_move, read_position
from tablut.formats.sites import read_site_games
from tablut.position import Move, MoveText, Position, parse_square
from tablut.records import kind_of, read_archive, read_record, read_rules
from tablut.replay import replay
from tablut.rules import NaiveGame
from tablut.variants import load_variant, shipped_variant
from tablut.variants.schema import parse_variant
from tablut.work.files import store_path
from tests.support.effort import examples
from tests.support.waiting import at_most

ROOT = Path(__file__).resolve().parents[2]
RECORDS = sorted((ROOT / "tests" / "data" / "records").iterdir())
VARIANTS = sorted((ROOT / "tablut" / "variants" / "data").iterdir())
HOSTILE = sorted(path for path in (ROOT / "tests" / "data" / "hostile").rglob("*") if path.is_file())
START = load_variant("ashton").start_position
RULES = "dim:7 surf:n ks:c start:/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"
SOURCE = "feb 15, 2019 3:10:55 PM Domain.GameAshtonTablut checkMove\n"
TURN = f"{SOURCE}FINE: Turn: W Pawn from e4 to f4\n"
PROOFS = [path.read_text(encoding="utf-8")[:2000] for path in (ROOT / "tests" / "data" / "proofs").glob("*.jsonl")]
SYSTEM = "FINE: White player name:\tanna\nFINE: Move received.\tTurn: W Pawn from e4 to f4\n"
SITES = [
    *(
        '{"header":{"players":[{"result":1},{"result":0}]},"moves":[["e4-f4",',
        '[{"blackPlayerName":"a","moves":"e4-f4 ',
    ),
    *('{"attackers":"a","moves":"e4-f4 ---"}', '{"attackers":"a","start":"/9/', '[{"header":', "[", "[[", '{"a":'),
]
STATE = bologna.write_state(Position.parse(START, 9))
NAIVE = NaiveGame(load_variant("ashton"))

PUZZLE = "2b2/5/b1K1b/5/2b2 w; id=one; variant=ashton-5-4v0; stipulation=white wins in 3; first=c3-b3; grade=1; x-a=b"


def read_puzzle_lines(text: str) -> None:
    """Read puzzles; what is read is written, and read as the same."""
    puzzles = parse_puzzles("spoilt", text)
    assert parse_puzzles("spoilt", format_puzzles(puzzles)) == puzzles


# The parser, and texts that lead it into each of its parts.
PARSERS: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "parse_square": (lambda text: parse_square(text, 9), ["", "e"]),
    "Position.parse": (lambda text: Position.parse(text, 9), ["", START, f"{START} a=b", "9/9/", "\n\n"]),
    "read_position": (lambda text: read_position(text, 9), ["", START, "/9/", "{", STATE[:60], f"{START} a=b"]),
    "looks_like_position": (looks_like_position, ["", "/", "9/", START]),
    "NaiveGame.read": (NAIVE.read, ["", START, "9/"]),
    "MoveText.parse": (lambda text: MoveText.parse(text, 9), ["", "e4-e7", "e4-e7xe8", "e4e7xe8/d7"]),
    "Move.parse": (lambda text: Move.parse(text, 9), ["", "e4-e7"]),
    "read_move": (lambda text: read_move(text, 9), ["", "e4-e7", "Ke4-e7xe8", "{", "1 1 1 1", "d5-"]),
    "berkeley.read_move": (read_berkeley, ["", "d5-"]),
    "mcgill.read_move": (read_mcgill, ["", "1 1 1 1 "]),
    "bologna.read_state": (bologna.read_state, ["", "{", STATE[:60]]),
    "bologna.read_move": (bologna.read_move, ["", '{"from":"e4","to":']),
    "opentafl.read_position": (lambda text: opentafl.read_position(text, "w"), ["", "/", "/9/"]),
    "opentafl.read_move": (lambda text: opentafl.read_move(text, 9), ["", "Ke4-e7", "Ke4-e7xd1", "e4-e7xd1/Td2"]),
    "read_rules": (read_rules, ["", "dim:7 ", RULES + " ", RULES, f"{RULES} cor:", f"{RULES} afor:"]),
    "read_record": (read_record, ["", '[Variant "ashton"]\n', TURN, f"[rules:{RULES}]\n"]),
    "read_native": (
        read_native,
        [
            *(
                '[Variant "ashton"]\n',
                '[Variant "ashton"]\n1. e4-f4 ',
                '[Variant "',
                '[A "',
                "1. e4-f4 {",
                "1. e4-f4 (",
            ),
            *('[Variant "ashton"]\n1. e4-f4 *\n', "%", "1. e4-f4 ;", "1. e4-f4 {x", "$"),
            *('[FEN "', "1. e4-f4 (;", "1. e4-f4 ({", '[A "b"]\n{', '[A "b"]\n('),
        ],
    ),
    "read_game": (
        read_game,
        [f"[rules:{RULES}]\n1. d1-e1\n", f"[rules:{RULES}]\n", f"[rules:{RULES}]\n1. ", "[rules:", "[a:"],
    ),
    "read_logs": (
        lambda text: list(read_logs(text)),
        [TURN, f"{TURN}{SOURCE}FINE: Stato:\n", f"{SOURCE}FINE: Players: ", "", TURN[:-3]],
    ),
    "looks_like_log": (looks_like_log, ["", TURN, SOURCE[:-1]]),
    "store_path": (store_path, ["", "s3://", "file:///", "https://h/"]),
    "looks_like_otg": (looks_like_otg, ["", "[a:"]),
    "read_archive": (read_archive, ["", "d2-e2,0,0,", 'd2-e2,0,0,"', "d2-e2;0;0;Draw\n"]),
    "kind_of": (kind_of, ["", "d2-e2", "[", "{", '{"a":', "[[", "game=/", " .server.Server r"]),
    "read_system_logs": (lambda text: list(read_system_logs(text)), ["", SYSTEM, SYSTEM * 2, SYSTEM[:-1]]),
    "read_trial": (
        lambda text: read_trial(text, load_variant("brandubh")),
        ["", *(f"game=/x/T.lud\nMove=[{begins}" for begins in ("Add:", "Remove:", "Move:mover=1,from=4,to=15]"))],
    ),
    "read_site_games": (lambda text: list(read_site_games(text, load_variant("ashton"))), SITES),
    "read_native_games": (lambda text: list(read_native_games(text)), ["", "1. e4-f4 *\n", '[A "b"]\n1. e4-f4 {']),
    "read_games": (lambda text: list(read_games(text)), [f"[rules:{RULES}]\n1. d1-e1\n", f"[rules:{RULES}]\n"]),
    "parse_puzzles": (read_puzzle_lines, ["", PUZZLE, f"{PUZZLE}\n{PUZZLE}", f"# a comment\n{PUZZLE}"]),
    "read_certificate": (lambda text: read_certificate("spoilt", text), ["", *PROOFS]),
    "parse_variant": (lambda text: parse_variant(text, name="mine", origin="mine.toml"), ["", "a = ", "[king]\n"]),
    "load_variant": (load_variant, ["", "ashton", "./"]),
    "shipped_variant": (shipped_variant, ["", "ashton"]),
}
UNITS = [
    *("xe8", "/e8", "e8", "x", "xx", "/", "9", "1", "b", "K", "w ", "a=b ", "²", "٣", " ", "\n", "\t", "\r", ".", "-"),
    *("[", "]", "{", "}", "{}", "[]", "[[a]]\n", '"', "\\", '\\"', "'", "a:b ", "a1,", "1. ", "1a.", "a.", "a", "+"),
    *("Stato:", "Stato:\n-\nW\n", "O", "OT\n", "Players: ", "White: ", "Turn: x Pawn from ", "Turn: ", "GameA "),
    *(".Game", "Giocatore ", "Mossa sul", "Inizio partita", SOURCE, TURN, '[A "b"]\n', "[a:b]\n", '{"a":'),
    *(
        "e4-f4 ",
        "--- ",
        "tT/",
        "#",
        "\0",
        "(",
        ")",
        "()",
        "{\\}",
        ";",
        "?",
        "!?",
        "$6 ",
        "1...",
        "1-0\n",
        "% x\n",
        "[a:\n",
        "[Add:to=1,",
        "[Remove:to=1",
        '{\n\n[A "b"]\n',
        '(\n\n[A "b"]\n',
        "{ {x} ",
        "({)",
        "\n\n",
        "\r\n\r",
    ),
    *(",0,", ";", "Move received. ", "d2-e2,0,0,Draw\n"),
]
LENGTH = 30_000
SECONDS = 0.4


def refused_or_read(parse: Callable[[str], object], text: str) -> None:
    """Parse a text; only the toolkit's own error may come of it, in one line of bounded length."""
    try:
        parse(text)
    except TablutError as error:
        message = str(error)
        assert len(message) < 1500
        assert "\n" not in message or "TOML" in message


def takes(parse: Callable[[str], object], text: str) -> float:
    """Return the seconds of processor time that a text takes."""
    started = time.process_time()
    refused_or_read(parse, text)
    return time.process_time() - started


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_no_parser_takes_more_than_linear_time(name: str) -> None:
    """A text of 30,000 characters takes at most 0.1 s in linear time, and at least 0.6 s in quadratic time."""
    parse, beginnings = PARSERS[name]
    for beginning in beginnings:
        for unit in UNITS:
            text = beginning + unit * (LENGTH // len(unit))
            for end in ("", "!"):
                # The machine may be slow once, not three times.
                spent = min(takes(parse, text + end), SECONDS)
                if spent == SECONDS:
                    spent = min(takes(parse, text + end) for _ in range(2))
                assert spent < SECONDS, f"{name}: {spent:.1f} s for {beginning[-40:]!r} + {unit!r} * n + {end!r}"


# A parser, a text that it refuses, and the part of the text that the one line names.
REFUSED = [
    ("Position.parse", START.replace("/4w4", "", 1), "8"),
    ("Position.parse", START.replace("3bbb3", "4bbb3", 1), "4bbb3"),
    ("Position.parse", START.replace("K", "Q"), "'Q'"),
    ("Position.parse", START.replace("3bbb3", "03bbb3", 1), "'03'"),
    ("berkeley.read_move", "j5-7", "'j5'"),
    ("berkeley.read_move", "d5-10", "'d10'"),
    ("mcgill.read_move", "4 0 2 0 2", "2"),
    ("opentafl.read_position", "/3/99999999999999999999/3/", "4"),
    ("opentafl.read_move", "e4-z7", "'z7'"),
    ("bologna.read_move", '{"from": "a1", "to": "j1"}', "'j1'"),
    ("bologna.read_state", '{"turn": "W"}', "'W'"),
    ("read_record", '[Variant "asthon"]', "'ashton'"),
    ("read_record", '[Variant "ashton"] [White "A"] [White "B"]', "White"),
    ("read_record", '[Variant "ashton"] 1. e4-f4 a4-b4 3. f4-f3', "3."),
    ("read_record", f"[rules:{RULES}]\n\n1. d1-e1 c4-z5", "'z5'"),
]


@pytest.mark.parametrize(("name", "text", "named"), REFUSED, ids=lambda value: value[:40])
def test_what_a_parser_refuses_is_named(name: str, text: str, named: str) -> None:
    with pytest.raises(TablutError) as caught:
        PARSERS[name][0](text)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


# -- the kept corpus: each file is refused, or is read and does not hold ---------------------


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def problems_of_record(path: Path) -> object:
    record = read_record(path.read_bytes())
    return replay(record).problems or not record.moves


def problems_of_puzzles(path: Path) -> object:
    """Solve the puzzles of a file; a position that cannot be is refused, a claim that does not hold is refuted."""
    puzzles = read_puzzles(str(path))
    return [puzzle.id for puzzle in puzzles if judge(puzzle, solve(puzzle.variant, puzzle.position)) == "refuted"]


def problems_of_certificate(path: Path) -> object:
    proof = read_certificate(path.name, text_of(path))
    return StrategyCheck(game_of(path.name, proof), proof, most_plies=0).run().failures


# What reads the files of a kind, and returns what does not hold in those that are well formed.
CORPUS: dict[str, Callable[[Path], object]] = {
    "variants": lambda path: not load_variant(str(path)),
    "positions": lambda path: not Board("ashton", text_of(path)).legal_moves,
    "moves": lambda path: not Board("ashton").push_text(text_of(path)),
    "records": problems_of_record,
    "opentafl": problems_of_record,
    "bologna": problems_of_record,
    "states": lambda path: not bologna.read_state(text_of(path)),
    "archives": lambda path: read_archive(text_of(path))[1],
    "puzzles": problems_of_puzzles,
    "certificates": problems_of_certificate,
}


@pytest.mark.parametrize("kind", CORPUS)
def test_no_file_of_the_corpus_is_believed(kind: str) -> None:
    paths = sorted((ROOT / "tests" / "data" / "hostile" / kind).iterdir())
    assert paths
    for path in paths:
        # Processor time: a busy machine is not the file's fault, and kernels may have to be compiled first.
        with at_most(100, processor=True):
            message = refusal_of(CORPUS[kind], path)
        assert message.isprintable(), path
        assert 0 < len(message) < 2000, path


def refusal_of(read: Callable[[Path], object], path: Path) -> str:
    """Return the error with which a file is refused, or in what it does not hold."""
    try:
        return str(read(path) or "")
    except TablutError as error:
        return str(error)


# States of the competition's server with a single fault, and the parts of the text that the one line names.
STATES = {
    "board-missing": ("board", "null"),
    "cell-a-number": ("row 3", "c4", " 0:"),
    "cell-in-lower-case": ("row 8", "e9", "'black'"),
    "cell-null": ("row 5", "f6", "null"),
    "cell-unknown": ("row 1", "g2", "'QUEEN'"),
    "not-closed": ("JSON", "delimiter"),
    "row-a-text": ("row 7", "rank 8", "'EMPTY'"),
    "row-long": ("row 6", "rank 7", "10 cells"),
    "row-missing": ("board", "8 rows"),
    "row-short": ("row 6", "rank 7", "8 cells"),
    "rows-too-many": ("board", "10 rows"),
    "throne-beside-the-centre": ("THRONE", "b5"),
    "throne-off-the-centre": ("THRONE", "d3"),
    "throne-on-an-edge": ("THRONE", "a1"),
    "turn-a-list": ("turn", "['WHITE']"),
    "turn-missing": ("turn", "null"),
    "turn-twice": ("'turn'", "twice"),
    "turn-unknown": ("turn", "'RED'"),
}


def test_a_state_with_one_fault_is_refused_for_that_fault() -> None:
    rows = json.loads(STATE)["board"]
    good = ['{"board": [', *(json.dumps(row) + "," for row in rows[:-1]), json.dumps(rows[-1]), '], "turn": "WHITE"}']
    assert bologna.read_state("\n".join(good)).cells == Position.parse(START, 9).cells
    paths = sorted((ROOT / "tests" / "data" / "hostile" / "states").iterdir())
    assert [path.stem for path in paths] == sorted(STATES)
    for path in paths:
        lines = text_of(path).splitlines()
        # A row at the end takes a comma away from the row before it, or gives it one.
        plain, other = ([line.rstrip(",") for line in text] for text in (good, lines))
        changed = [
            found for found in SequenceMatcher(None, plain, other, autojunk=False).get_opcodes() if found[0] != "equal"
        ]
        assert len(changed) == 1, path
        assert max(changed[0][2] - changed[0][1], changed[0][4] - changed[0][3]) == 1, path
        with pytest.raises(TablutError) as caught:
            bologna.read_state("\n".join(lines))
        for part in STATES[path.stem]:
            assert part in str(caught.value), path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("read", [read_puzzles, lambda name: read_certificate(name, Path(name))])
def test_what_is_no_ordinary_file_or_too_large_is_not_read(read: Callable[[str], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    for source in ("pipe", "large", "/dev/zero", "n" * 300, "[/b]"):
        with pytest.raises(TablutError):
            read(str(tmp_path / source))


SAMPLES = [path.read_bytes().decode("utf-8", errors="replace") for path in [*RECORDS, *VARIANTS[:4], *HOSTILE]]
SAMPLES = [text for text in SAMPLES if len(text) < 6000] + [
    START,
    STATE,
    RULES,
    PUZZLE,
    *PROOFS,
    "e4-e7xe8",
    "d5-7",
    "1 1 1 2 0",
    TURN,
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Generate valid and hostile texts with pieces cut out, doubled and replaced."""
    text = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        patch = draw(st.text(max_size=5) | st.sampled_from(UNITS) | st.just(text[start:end] * 2))
        text = text[:start] + patch + text[end:]
    return text


@settings(max_examples=examples(60))
@given(st.sampled_from(sorted(PARSERS)), st.text(max_size=60) | mutated())
@example("parse_square", "e" + "9" * 5000)
@example("MoveText.parse", "e4-e²")
@example("parse_variant", "x = " + "[\n" * 20_000)
@example("bologna.read_state", '{"board":' + "[" * 900 + "]" * 900 + ',"turn":"WHITE"}')
def test_only_the_toolkits_own_error_comes_of_any_text(name: str, text: str) -> None:
    refused_or_read(PARSERS[name][0], text)


@given(st.binary(max_size=80) | st.sampled_from([path.read_bytes() for path in RECORDS]), st.binary(max_size=4))
def test_records_of_any_bytes(content: bytes, more: bytes) -> None:
    refused_or_read(read_record, content + more)  # type: ignore[arg-type]
    refused_or_read(read_record, more + content)  # type: ignore[arg-type]
