"""Every parser of text from outside: linear time, and no error but the toolkit's own.

The two tests go over all parsers and all adversarial texts; a new parser is a new line.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tablut.errors import TablutError
from tablut.formats import berkeley, bologna, mcgill, opentafl
from tablut.formats.reading import looks_like_position, read_move, read_position
from tablut.notation import parse_square
from tablut.position import Move, MoveText, Position
from tablut.records import read_record, read_rules
from tablut.records.archive import read_archive
from tablut.records.bologna import looks_like_log, read_logs, read_system_log
from tablut.records.kinds import kind_of
from tablut.records.native import read_native
from tablut.records.opentafl import looks_like_otg, read_game
from tablut.rules import NaiveGame
from tablut.variants import load_variant, shipped_variant
from tablut.variants.schema import parse_variant
from tablut.work.files import store_path
from tests.support.effort import examples

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
RECORDS = sorted((ROOT / "tests" / "data" / "records").iterdir())
VARIANTS = sorted((ROOT / "tablut" / "variants" / "data").iterdir())
HOSTILE = sorted(path for path in (ROOT / "tests" / "data" / "hostile").rglob("*") if path.is_file())
START = load_variant("ashton").start_position
RULES = "dim:7 surf:n ks:c start:/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"
SOURCE = "feb 15, 2019 3:10:55 PM Domain.GameAshtonTablut checkMove\n"
TURN = f"{SOURCE}FINE: Turn: W Pawn from e4 to f4\n"
SYSTEM = "FINE: White player name:\tanna\nFINE: Move received.\tTurn: W Pawn from e4 to f4\n"
STATE = bologna.write_state(Position.parse(START, 9))
NAIVE = NaiveGame(load_variant("ashton"))

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
    "berkeley.read_move": (berkeley.read_move, ["", "d5-"]),
    "mcgill.read_move": (mcgill.read_move, ["", "1 1 1 1 "]),
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
        ],
    ),
    "read_game": (
        read_game,
        [f"[rules:{RULES}]\n1. d1-e1\n", f"[rules:{RULES}]\n", f"[rules:{RULES}]\n1. ", "[rules:", "[a:"],
    ),
    "read_logs": (read_logs, [TURN, f"{TURN}{SOURCE}FINE: Stato:\n", f"{SOURCE}FINE: Players: ", "", TURN[:-3]]),
    "looks_like_log": (looks_like_log, ["", TURN, SOURCE[:-1]]),
    "store_path": (store_path, ["", "s3://", "file:///", "https://h/"]),
    "looks_like_otg": (looks_like_otg, ["", "[a:"]),
    "read_archive": (read_archive, ["", "d2-e2,0,0,", 'd2-e2,0,0,"', "d2-e2;0;0;Draw\n"]),
    "kind_of": (kind_of, ["", "d2-e2", "[", "{", '{"a":', "[[", "game=/", " .server.Server r"]),
    "read_system_log": (read_system_log, ["", SYSTEM, SYSTEM * 2, SYSTEM[:-1]]),
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


# A parser, a text that it refuses, and the part of the text, or what is missing, that the one line names.
REFUSED = [
    *(("Position.parse", text, words) for text, words in (
        ("", "is empty"), ("3bbb3/4b4", "add ' w' or ' b'"), (START.replace("/4w4", "", 1), "has 8 rows"),
        (START.replace("3bbb3", "4bbb3", 1), "row '4bbb3' has 10 cells"), (START.replace("K", "Q"), "'Q'"),
        (START.replace("3bbb3", "03bbb3", 1), "'03'"), (f"{START} note", "name=value"),
        ("...\n.K.\n...\nw", "3 rows"),
    )),
    *(("MoveText.parse", text, "move") for text in ("", "e4-", "e4-e10", "e4-j4", "e0-e1", "Ke4-e5", "e4-e5x")),
    *(("berkeley.read_move", text, "the new rank or file") for text in ("", "d5-", "d5d7", "d5-77x", "d5–7", "d٥-7")),
    ("berkeley.read_move", "j5-7", "square 'j5'"), ("berkeley.read_move", "d5-10", "square 'd10'"),
    ("berkeley.read_move", "d5-d", "does not leave d5"),
    *(("mcgill.read_move", text, "five numbers") for text in ("", "4 0 2 0", "4,0,2,0,0", "4 0 2 -1 0", "4 0 2 ² 0")),
    ("mcgill.read_move", "4 0 9 0 0", "row or column 9"), ("mcgill.read_move", "4 0 2 0 2", "player 2"),
    *(("opentafl.read_position", text, words) for text, words in (
        ("", "''"), ("/4/4/4/4/", "has 4 rows"), ("/3/4/3/", "row '4' has 4 cells, but the board has 3"),
        ("/3/99999999999999999999/3/", "has 4 cells"), ("/3/03/3/", "'03'"), ("/3/n2/3/", "knights, 'n'"),
    )),
    *(("opentafl.read_move", text, words) for text, words in (
        ("", "''"), ("e4-e7x", "two squares"), ("e4-z7", "'z7'"), ("ce6^e8", "'^'"), ("e6-e8xce7", "commanders, 'c'"),
    )),
    *(("bologna.read_state", text, words) for text, words in (
        ("", "valid JSON"), ("[" * 100_000, "valid JSON"), ("[1]", "JSON object"), ('{"turn": "W"}', "turn 'W'"),
        ('{"turn": "WHITE", "board": [[], []]}', "not 2 rows"),
    )),
    *(("bologna.read_move", text, words) for text, words in (
        ("e4-e5", "not valid JSON"), ('{"to": "a2"}', "from null"), ('{"from": "a1", "to": "j1"}', "to: square 'j1'"),
        ('{"from": "a1", "to": "a2", "turn": "W"}', "turn 'W'"),
    )),
    *(("read_record", text, words) for text, words in (
        ("", "''"), ('[White "Anna"] 1. e4-f4', '[Variant "ashton"]'), ('[Variant "asthon"]', "'ashton'"),
        ('[Variant "ashton"] [White "A"] [White "B"]', "tag White occurs twice"),
        ('[Variant "ashton"] 1. e4-j4', "ply 1: move 'e4-j4': square 'j4'"),
        ('[Variant "ashton"] 1. e4-f4 hello', "ply 2: move 'hello'"),
        ('[Variant "ashton"] 1. e4-f4 a4-b4 3. f4-f3', "3. follows 2 moves"),
        ('[Variant "ashton"] [Result "white"] black', "'black'"),
        ("[date:2020.01.01]\n", "[rules:dim:… start:…]"), (f"[result:white]\n[rules:{RULES}]\n", "'white'"),
        (f"[rules:{RULES}]\n\nd1-e1 c4-c5", "'d1-e1 c4-c5'"), (f"[rules:{RULES}]\n\n2. d1-e1", "turn 2 follows 0"),
        (f"[rules:{RULES}]\n\n1. d1-e1 c4-z5", "'z5'"), (f"[position:/7/]\n[rules:{RULES}]\n", "has 1 rows"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "named"), REFUSED, ids=lambda value: value[:40])
def test_what_a_parser_refuses_is_named(name: str, text: str, named: str) -> None:
    with pytest.raises(TablutError) as caught:
        PARSERS[name][0](text)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


SAMPLES = [path.read_bytes().decode("utf-8", errors="replace") for path in [*RECORDS, *VARIANTS[:4], *HOSTILE]]
SAMPLES = [text for text in SAMPLES if len(text) < 6000] + [START, STATE, RULES, "e4-e7xe8", "d5-7", "1 1 1 2 0", TURN]


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
