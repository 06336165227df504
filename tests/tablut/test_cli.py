"""The commands of the game as a user types them: JSON, provenance, exit codes, positions, records, perft."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reports.bench import fingerprint
from tablut import __version__
from tablut.cli.shell import run
from tablut.pictures import draw_gif, draw_png
from tablut.position import Position
from tablut.records import read_record
from tablut.replay import replay
from tablut.results import scientific
from tablut.variants import load_variant, variant_names
from tests.support.commands import Captured, answer, refusal
from tests.support.waiting import PATIENCE


def test_help_lists_every_command(capsys: Captured) -> None:
    assert run(["--help"]) == 0
    with_help = capsys.readouterr().out
    for same in ([], ["-h"], ["help"], ["help", "help"]):
        assert run(same) == 0
        assert capsys.readouterr().out == with_help
    for command in ("bounds", "variants", "report"):
        assert f"\n  {command} " in with_help


def test_provenance(capsys: Captured) -> None:
    record = answer(capsys, "variants", "ashton")["provenance"]
    assert record["version"] == __version__
    assert record["command"] == "tablut variants ashton --json"
    assert record["parameters"]["name"] == "ashton"
    assert record["seed"] is None
    assert record["seconds"] >= 0
    assert record["peak_rss_bytes"] > 10**6
    assert record["commit"] is None or len(record["commit"].rstrip("+")) == 40


def test_the_list_of_variants(capsys: Captured) -> None:
    listed = answer(capsys, "variants")["variants"]
    assert [one["name"] for one in listed] == [*variant_names()]
    assert listed[0]["name"] == "ashton"
    assert {"name", "size", "attackers", "defenders", "source"} <= listed[0].keys()
    assert run(["variants"]) == 0
    text = capsys.readouterr().out
    assert all(variant["name"] in text for variant in listed)


def test_bounds_as_json(capsys: Captured) -> None:
    report = answer(capsys, "bounds")
    terms = {term["id"]: term for term in report["terms"]}
    assert list(terms) == ["eq1", *(f"eq{n}" for n in range(3, 15))]
    assert terms["eq4"]["exact"] == "30313248887018321011379867"
    assert {"equation", "description", "approx", "published", "agrees"} <= terms["eq12"].keys()
    assert report["variant"] == "ashton"
    assert report["corrected"]["total"] == "1293874976310946438745768012"
    assert {"no_end", "end", "total", "distinct"} <= report["corrected"].keys()
    assert report["classes"]["no_end"] == "118486156157130402293082101"
    assert {"id", "statement", "status", "evidence"} <= report["findings"][0].keys()
    assert report["provenance"]["parameters"] == {"variant": None, "latex": False, "as_bfile": False}


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (9999, "9999"), (10000, "1.000e4"), (99995, "1.000e5")])
def test_scientific_rounds_half_up(value: int, text: str) -> None:
    assert scientific(value) == text


# -- ``tablut perft`` and ``bench``: published numbers, the corpus runner, the pinned fingerprint


def test_every_way_of_counting_agrees(capsys: Captured) -> None:
    plain = answer(capsys, "perft", "-d", "3", "--divide")
    assert sum(plain["divide"].values()) == plain["perft"][-1]
    assert len(plain["divide"]) == 56
    for option in (["--applied"], ["--threads", "2"]):
        assert answer(capsys, "perft", "-d", "3", *option)["perft"] == plain["perft"]
    applied = answer(capsys, "perft", "-v", "ashton-5-4v0", "-d", "4", "--applied")["applied"]
    assert applied["outcomes"] == {"undecided": 2624, "king_captured, black wins": 24}


def test_a_wrong_number_is_answered_with_position_and_divide(capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "corpus.txt"
    position = "2b2/1K3/b3b/5/2b2 w"
    file.write_text(f"# comment\nescape; {position}; 1=8 2=57; by hand\n")
    result = answer(capsys, "perft", "-v", "ashton-5-4v0", "--corpus", str(file), code=1)
    (mismatch,) = result["mismatches"]
    assert mismatch["position"] == position
    assert (mismatch["depth"], mismatch["expected"]) == (2, 57)
    assert sum(mismatch["divide"].values()) == mismatch["found"]
    assert run(["perft", "-v", "ashton-5-4v0", "--corpus", str(file)]) == 1
    text = capsys.readouterr().out
    assert position in text
    assert "ashton-5-4v0: 2 numbers checked, 1 wrong" in text


def test_a_corpus_is_held_to_the_rules_that_it_names(capsys: Captured, tmp_path: Path) -> None:
    small, own = "2b2/1K3/b3b/5/2b2 w", tmp_path / "own.toml"
    shipped = Path(__file__).resolve().parents[2] / "tablut" / "variants" / "data" / "ashton-5-4v0.toml"
    own.write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    file = tmp_path / "corpus.txt"

    def check(text: str, *arguments: str) -> tuple[int, str]:
        file.write_text(text, encoding="utf-8")
        code = run(["perft", "--corpus", str(file), *arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    line = f"id; {small}; 1=8; by hand\n"
    assert check("variant ashton-5-4v0\n" + line)[0] == 0
    assert check("# one\n\nvariant ashton-5-4v0\n" + line, "-v", "ashton-5-4v0")[0] == 0
    for text, arguments, words in (
        ("variant ashton-5-4v0\n" + line, ["-v", "brandubh-5-4v0"], ["line 1", "ashton-5-4v0", "--variant"]),
        ("variant own\n" + line, [], ["line 1", "'own'", "unknown variant", "--variant"]),
        ("variant own\n" + line, ["-v", "ashton-5-4v0"], ["unknown variant"]),
        ("", [], ["no position"]),
        ("variant ashton-5-4v0\nid; " + small + ";  ; by hand\n", [], ["line 2", "has no counts"]),
        ("variant ashton-5-4v0\nid; " + small + "; 1=" + "9" * 5000 + "; by hand\n", [], ["line 2", "depth=nodes"]),
    ):
        code, told = check(text, *arguments)
        assert code == 2
        assert told.count("\n") == 1
        assert all(word in told for word in words), told
    code, told = check("variant own\n" + line, "-v", str(own))
    assert code == 0
    assert told.startswith("own: 1 number checked, 0 wrong")


def test_an_interrupt_is_heard_while_a_kernel_runs() -> None:
    # Depth 8 takes hours, and says when it begins: then it is the kernel that is interrupted.
    program = """
import sys
from tablut.cli.shell import main
from tablut.engine.engine import Engine
counted = Engine.perft
def perft(engine, board, depth, **options):
    if depth == 8:
        print("depth 8", file=sys.stderr, flush=True)
    return counted(engine, board, min(depth, 3) if depth < 8 else depth, **options)
Engine.perft = perft
sys.exit(main())
"""
    command = [sys.executable, "-c", program, "perft", "--threads", "2", "-d", "9"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        began = process.stderr.readline()
        while began != b"depth 8\n":  # the compiler may have spoken first
            assert began, "it ended"
            began = process.stderr.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    # What was counted before is answered.
    assert out.startswith(b"ashton  3bbb3/4b4/")
    assert "248\xa0456".encode() in out
    # What the compiler took stands before it.
    assert err.splitlines()[-1] == b"tablut: interrupted; the results so far are above"


def test_the_fingerprint_is_pinned() -> None:
    """A change of this signature is a change of rules, keys, packing or canonical form: say so in the changelog."""
    assert fingerprint() == "81ea2ad699e78da7"


@pytest.mark.slow
def test_bench(capsys: Captured) -> None:
    result = answer(capsys, "bench")
    assert result["signature"] == fingerprint()
    assert result["perft_nps"]["counted"] > result["perft_nps"]["applied"] > 0
    assert result["canonical_ns"] > 0
    assert result["census_pps"] > 0
    assert result["search_nps"] > 0
    assert result["solve_pps"] > 0


# -- the commands that handle positions, moves and records, as a user types them ---------


START = "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w"


def test_show(capsys: Captured, tmp_path: Path) -> None:
    target, picture = tmp_path / "new" / "board.svg", tmp_path / "new" / "board.png"
    shown = answer(capsys, "show", "--svg", str(target), "--png", str(picture))
    assert shown["position"] == START
    assert shown["turn"] == "white"
    assert shown["status"] == []
    assert shown["outcome"] is None
    assert target.read_text().startswith("<svg ")
    assert (shown["svg"], shown["png"]) == (str(target), str(picture))
    assert picture.read_bytes() == draw_png(target.read_text())
    assert run(["show", "-v", "brandubh"]) == 0
    assert "4  ● ● ○ ♔ ○ ● ●" in capsys.readouterr().out


def test_positions_come_from_text_file_and_standard_input(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = "..b..\n.....\nb.K.b\n.....\n..b..\nb\n"
    file = tmp_path / "position.txt"
    file.write_text(grid)
    expected = "2b2/5/b1K1b/5/2b2 b"
    for source in (expected, grid, str(file)):
        assert answer(capsys, "show", "-v", "ashton-5-4v0", "-p", source)["position"] == expected
    monkeypatch.setattr("sys.stdin", io.StringIO(grid))
    assert answer(capsys, "show", "-v", "ashton-5-4v0", "-p", "-")["position"] == expected


def test_moves(capsys: Captured) -> None:
    listed = answer(capsys, "moves", "-v", "ashton-5-4v0", "-p", "5/2b2/b1K2/3b1/5 b")
    by_move = {entry["move"]: entry for entry in listed["moves"]}
    assert by_move["d2-d3"] == {"move": "d2-d3", "captures": [], "outcome": None}
    assert listed["turn"] == "black"
    escapes = answer(capsys, "moves", "-v", "ashton-5-4v0", "-p", "2b2/1K3/b3b/5/2b2 w")["moves"]
    assert {entry["move"] for entry in escapes if entry["outcome"]} == {"b4-a4", "b4-b5", "b4-e4", "b4-b1"}
    assert run(["moves", "-v", "ashton-5-4v0", "-p", "2b2/1K3/b3b/5/2b2 w"]) == 0
    assert "king escaped: white has won" in capsys.readouterr().out


def test_apply(capsys: Captured) -> None:
    applied = answer(capsys, "apply", "e4-f4", "e2f2")
    assert [entry["move"] for entry in applied["moves"]] == ["e4-f4", "e2-f2"]
    assert applied["position"] == "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b4w2b/4w4/5b3/3bbb3 w"
    assert applied["provenance"]["parameters"]["moves"] == ["e4-f4", "e2f2"]
    assert run(["apply", "e4-f4"]) == 0
    assert "black to move" in capsys.readouterr().out


def test_drawings_into_a_file_and_a_record_that_cannot_be_saved(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.txt").write_text('[Variant "ashton"]\n\n1. e4-f4\n')
    Path("file").write_text("kept")
    for command in (["symmetry", "show"], ["replay", "game.txt"]):
        assert "--svg 'file': is not a folder" in refusal(capsys, *command, "--svg", "file")
    # Nothing is drawn if the record cannot be written after it.
    drawings = ["--svg", "drawings", "--png", "pictures", "--gif", "game.gif"]
    assert "Is a directory" in refusal(capsys, "replay", "game.txt", *drawings, "--save", str(tmp_path))
    assert "--png 'file': is not a folder" in refusal(capsys, "replay", "game.txt", "--png", "file")
    endless = '[Variant "brandubh"]\n' + "1. a4-a3 d5-c5 2. a3-a4 c5-d5\n" * 501
    Path("long.txt").write_text(re.sub(r"[12]\.", "", endless))
    assert "2,005 boards" in refusal(capsys, "replay", "long.txt", *drawings)
    Path("long.txt").unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "game.txt"]
    assert Path("file").read_text() == "kept"


def test_the_boards_and_the_animation_of_a_game(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.txt").write_text('[Variant "brandubh"]\n[Start "7/7/b6/1w1K3/2b4/2w4/7 w"]\n1. b4-c4 a5-b5 2. d4-d1\n')
    assert run(["replay", "game.txt", "--svg", "boards", "--png", "boards", "--gif", "new/game.gif"]) == 0
    boards = [Path(f"boards/ply-{number}.svg").read_text() for number in range(4)]
    assert [board.count('class="highlight"') for board in boards] == [0, 1, 0, 0]  # c3 was captured by the first move
    assert ["1. b4-c4xc3" in board for board in boards] == [False, True, False, False]
    assert [Path(f"boards/ply-{number}.png").read_bytes() for number in range(4)] == list(map(draw_png, boards))
    assert Path("new/game.gif").read_bytes() == draw_gif(boards)
    assert len(list(Path("boards").iterdir())) == 8


WRONG = {
    "1. c3-b3 c1-b1\n2. b3-b2xa2 *": "ply 3: recorded as b3-b2xa2, but the move is b3-b2",
    "1. c3-b3 b3-b2 *": "ply 2: move b3-b2: is not legal",
    "1. c3-b3 c1-b1\n2. b3-b5 black": "result: is black, but should be white (king escaped, white wins)",
    "1. c3-b3 c1-b1\n2. b3-b5 c5-d5 white": "ply 4: c5-d5 follows the end of the game (king escaped, white wins)",
}


@pytest.mark.parametrize("moves", WRONG)
def test_a_wrong_record_is_answered_with_no(capsys: Captured, tmp_path: Path, moves: str) -> None:
    file = tmp_path / "game.txt"
    file.write_text('[Variant "ashton-5-4v0"]\n\n' + moves)
    result = answer(capsys, "replay", str(file), code=1)
    assert any(problem.startswith(WRONG[moves]) for problem in result["problems"]), result["problems"]
    assert run(["replay", str(file)]) == 1
    assert WRONG[moves] in capsys.readouterr().out


LOPSIDED = """
first = "white"
no_moves = "side_to_move_loses"
repetition = "draw"
king = { armed = true, elsewhere = "four" }
terrain = ["*****", "*...*", "*...*", "*...*", "*****"]
start = ["..b..", ".....", "b....", "..K.b", "..b.."]
"""


def test_an_archive_of_games(capsys: Captured, tmp_path: Path) -> None:
    games = {
        "c3-b3 c1-b1 b3-b5,0,0,White": {"termination": "king_escaped", "winner": "white", "plies": 3},
        "c3-b3 b3-b2,0,0,Ongoing": {"illegal": {"ply": 2, "move": "b3-b2", "why": "it is black's turn"}, "plies": 1},
        "c3-b3 c1-b1 b3-b5 b1-b2,0,0,White": {
            "illegal": {"ply": 4, "move": "b1-b2", "why": "follows the end of the game (king escaped, white wins)"}
        },
        "c3-e6,0,0,?": {"illegal": {"ply": 1, "move": "c3-e6", "why": "move 'c3-e6': square 'e6': expected a1 to e5"}},
        "c3-b3 c1-b1 b3-b2xa3,0,0,Ongoing": {"captures_differ": [3], "captures_agree": False},
        "c3-b3 c1-b1 b3-b2,0,1,Ongoing": {"captures_agree": False, "captures_differ": []},
        "c3-b3 c1-b1 b3-b5,0,0,Black": {"contradicted": True, "captures_agree": True},
        "c3-b3 c5-d5 b3-b2 d5-e5 b2-b3 e5-d5 b3-b2,0,0,Ongoing": {
            "termination": "repetition",
            "repeated": 6,
            "illegal": {"ply": 7, "move": "b3-b2", "why": "follows the end of the game (repetition, a draw)"},
        },
    }
    right = {"illegal": None, "captures_agree": True, "captures_differ": [], "contradicted": False, "repeated": None}
    file = tmp_path / "games.csv"
    file.write_text("\n".join(games))
    rules = [str(file), "-v", "ashton-5-4v0"]
    asked = ["games", *rules]
    result = answer(capsys, *asked, code=1)
    assert result["ranks"] == "either"
    for number, (told, game) in enumerate(zip(games.values(), result["games"], strict=True), 1):
        assert game | right | told | {"number": number} == game
    ignored = answer(capsys, *asked, "--repetition", "ignore", code=1)["games"][7]
    assert (ignored["plies"], ignored["termination"], ignored["repeated"], ignored["illegal"]) == (7, None, 6, None)
    assert answer(capsys, "replay", *rules, "--game", "1")["outcome"]["winner"] == "white"
    assert "--game 9" in refusal(capsys, "replay", *rules, "--game", "9")
    for former in ([], ["--all"]):
        assert "`tablut games" in refusal(capsys, "replay", *rules, *former)
    assert "-v ashton-5-4v0" in refusal(capsys, "games", str(file))


def test_from_which_edge_an_archive_counts_its_ranks(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "lopsided.toml").write_text(LOPSIDED)
    start = load_variant(str(tmp_path / "lopsided.toml")).start_position
    file = tmp_path / "games.csv"
    for moves, ranks in (("c2-b2 c1-b1", "bottom"), ("c4-b4 c5-b5", "top"), ("c2-c3", "bottom"), ("c3-a1", "either")):
        file.write_text(f"{moves},0,0,Ongoing\n")
        result = answer(capsys, "games", str(file), "-v", str(tmp_path / "lopsided.toml"), code=int(ranks == "either"))
        assert result["ranks"] == ranks
        if ranks in ("bottom", "top"):
            one = answer(capsys, "replay", str(file), "-v", str(tmp_path / "lopsided.toml"), "--game", "1")
            assert one["moves"][0]["move"] in ("c2-b2", "c2-c3")
            played = answer(
                capsys, "games", str(file), "-v", str(tmp_path / "lopsided.toml"), "--most", "1", "-p", start
            )
            assert [move["move"] for move in played["moves"]] == [one["moves"][0]["move"]]


@pytest.mark.parametrize(
    "name", ["ashton.txt", "bologna-english_gameLog.txt", "bologna-italian_gameLog.txt", "brandub.otg"]
)
def test_the_sample_records_hold(capsys: Captured, name: str) -> None:
    result = answer(capsys, "replay", str(Path(__file__).resolve().parents[1] / "data" / "records" / name))
    assert result["problems"] == []
    assert result["moves"]


def test_a_board_that_the_record_claims_is_compared() -> None:
    record = read_record('[Variant "ashton-5-4v0"] 1. c3-b3 *')
    (right,) = (step.position for step in replay(record).plies)
    wrong = Position(right.cells.replace("K", ".", 1), right.side)
    assert replay(dataclasses.replace(record, positions=(right,))).problems == ()
    assert replay(dataclasses.replace(record, positions=(wrong,))).problems == (
        "ply 1: the recorded board differs on b3",
    )


EIGHTEEN = "bbbbbbbbb/bbbbbbbbb/9/9/4K4/9/9/9/9 w"
ANSWERS = [
    ["moves"],
    ["bestmove", "--nodes", "10", "--hash", "1"],
    ["puzzle", "solve", "--nodes", "10"],
    ["convert", "--to", "grid"],
]


@pytest.mark.parametrize("command", ANSWERS, ids=lambda command: "-".join(command[:2]))
def test_every_answer_about_an_impossible_position_comes_with_a_warning(capsys: Captured, command: list[str]) -> None:
    assert run([*command, "-p", EIGHTEEN, "--json"]) in (0, 3)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["variant"] == "ashton"
    assert captured.err.startswith(
        f"tablut: warning: position '{EIGHTEEN}': is impossible in ashton: there are more att"
    )
    assert captured.err.count("\n") == 1
    assert run([*command, "-p", "3bbb3/9/9/9/4K4/9/9/9/9 w", "--json"]) in (0, 3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [*ANSWERS[:3], ["rank"]], ids=lambda command: "-".join(command[:2]))
def test_where_no_answer_makes_sense_there_is_none(capsys: Captured, command: list[str]) -> None:
    for text in ("9/9/9/9/9/9/9/9/b8 w", "9/9/9/9/3KK4/9/9/9/b8 w", "9/9/9/9/2K1b4/9/9/9/b8 w"):
        assert "cannot be played on" in refusal(capsys, *command, "-p", text)


def test_a_record_longer_than_any_game(capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    file.write_text('[Variant "leiden"]\n' + "e4-f4 e2-f2 f4-e4 f2-e2\n" * 5001)
    assert "has 20,004 moves, but at most 20,000 are replayed" in refusal(capsys, "replay", str(file))


# -- an environment in which compiled code cannot run ------------------------------------


def command_under(setting: str, kib: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command that needs compiled code under an environment variable or a limit on the address space."""
    program = "import sys; from tablut.cli.shell import main; sys.argv = ['tablut', 'perft', '-d', '1']; main()"
    if kib is not None:
        limit = f"resource.setrlimit(resource.RLIMIT_AS, ({kib << 10}, {kib << 10}))"
        program = f"import resource; {limit}; {program}"
    name, _, value = setting.partition("=")
    environment = {**os.environ, **({name: value} if name else {})}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False)


@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT=1", "NUMBA_NUM_THREADS=0", "NUMBA_CPU_FEATURES=nonsense"])
def test_a_setting_of_numba_that_cannot_be_is_refused_in_one_line(setting: str) -> None:
    done = command_under(setting)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert setting.partition("=")[0] in done.stderr


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("sys.modules['numba'] = SimpleNamespace(__version__='0.62.1')", "numba 0.62.1"),
        ("sys.maxsize = 2**31 - 1", "32"),
    ],
)
def test_an_old_numba_and_a_small_python_are_refused_by_name(change: str, named: str) -> None:
    script = f"import sys; from types import SimpleNamespace; import numpy, numba; {change}; import tablut.engine"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("tablut.errors.InputError")
    assert named in done.stderr.splitlines()[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is read as Linux tells it")
@pytest.mark.parametrize("kib", [150_000, 450_000])
def test_too_small_an_address_space_is_the_machines_failure(kib: int) -> None:
    """The first ends OpenBLAS with the code of an answer, the second LLVM by a signal or never."""
    done = command_under("", kib)
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr.count("\n") == 1
    assert "address space" in done.stderr
