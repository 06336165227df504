"""What commands refuse: exit code 2 or 74, one line that names the input, nothing written, no game played."""

import io
import json
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablut.cli.shell import run
from tablut.play.arena import match as arena_match
from tablut.play.players import player_names

RECORD = Path(__file__).parents[1] / "data" / "records" / "ashton.txt"
FAST = "-v brandubh-5-4v0 --nodes 1 -n 2"

# A command a line. What is in «guillemets» is part of the line and of the refusal. Slips in the words of the command
# line itself are tried in `test_cli_shell`, texts that no reader accepts in `test_parsers`.
LINES = f"""
bounds -v «no/such.toml»
bounds -v {{bytes}}
apply «e4-e9»
show -p {{folder}}
show --svg {{folder}}
replay {{bytes}}
replay {{text}}
symmetry show --svg {{text}}
unrank 947889249256532407079664255
perft --corpus «nosuchfile»
probe «s3://tables/ashton-5»
solve -v brandubh-5-4v0 --store «file:///tmp/new»
match random «nobody» {FAST}
match @nodes=1 random {FAST}
match random@option.«depth»=1 random {FAST}
match mcts@playouts=«x» random {FAST}
match greedy@threads=2 random {FAST}
match alphabeta@tablebase={{none}} random {FAST}
match mcts@depth=3 random {FAST}
match program:{{none}} random {FAST}
match program:true random {FAST}
match «bot.py» random
match random random {FAST} «--sprt» 10 0
match random random {FAST} --store {{text}}
match random random {FAST} --store «/dev/null/x»
match random random {FAST} --openings {{text}}
games «nosuchfile»
games {{text}} -v brandubh --into {{folder}}
book make {{folder}} {{text}} -v brandubh
bestmove --book {{text}} --nodes 1
bestmove --book-move «worst» --nodes 1
serve --port 0 --games {{text}}
tournament random {FAST}
tablebase build -v copenhagen --men 9 --store {{none}}
bestmove --depth 999
bestmove --nodes «5» --nodes «7»
bestmove --nodes=«5» --depth 1 --nodes=«7»
bestmove --nodes 1 --option depth=«2» --option depth=«3»
bestmove --nodes 1 --book «one.book» --option book=«other.book»
engine --option depth=«2» --option depth=«3» --line quit
match alphabeta@nodes=«5»,nodes=«7» random {FAST}
match alphabeta@nodes=«5»@nodes=«7» random {FAST}
match mcts@playouts=2,option.depth=«2»,option.depth=«3» random {FAST}
match random random {FAST} --hash «1» --hash «2»
bestmove «--hash» 99999999
bestmove --player «heuristic» --threads 2
bestmove --player mcts --option «turn»=mine
bestmove --tablebase {{folder}} --nodes 1
analyse {{huge}}
analyse {{record}} -v «brandubh»
analyse {{record}} --nodes 1 --annotate {{folder}}
play --server 127.0.0.1 --role white --timeout 5 --wait 0 --player random --port {{free}}
play --write-script {{text}}
play --write-script {{folder}} --player «nobody»
play --side none --player random --save {{folder}}
referee --timeout 1 --port-white {{used}} --port-black 0 --wait 0.1
referee --timeout 1 --port-white {{free}} --port-black {{free}}
referee --port-white 0 --port-black 0 --host «192.0.2.1»
referee --timeout 1 --port-white 0 --port-black 0 --wait 0.1 --logs {{text}}
engine --player «nobody»
engine --tables {{none}}
report --out {{none}} --check
report --site {{text}}
serve --port 0 --host «192.0.2.1»
serve --port 0 --tablebase {{folder}} --seconds 0.2
"""
CASES = [line for line in LINES.splitlines() if line]


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, object]]:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "text").write_text("once upon a time\n")
    (tmp_path / "empty").write_text("")
    shutil.copy(RECORD, tmp_path / "record")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(1 << 30)  # takes no room on the disk
    with socket.create_server(("127.0.0.1", 0)) as used:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            free = listener.getsockname()[1]
        names = ("folder", "bytes", "text", "empty", "record", "huge", "none")
        yield {name: name for name in names} | {"used": used.getsockname()[1], "free": free}


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: re.sub("[«»]", "", CASES[number])[:50])
def test_a_refusal_is_one_line_that_names_the_input(
    number: int,
    places: dict[str, object],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def played(*_: object, **__: object) -> None:
        raise AssertionError("a game was played first")

    monkeypatch.setattr(arena_match, "play_game", played)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.chdir(tmp_path)
    named = re.findall("«(.*?)»", CASES[number])
    words = re.sub("[«»]", "", CASES[number]).format(**places).split()
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}
    # Every other one is asked for JSON, in which it is refused as well.
    as_json = number % 2 == 0
    code = run([*words, *["--json"] * as_json])
    out, error = capfd.readouterr()
    (line,) = [line for line in error.splitlines() if not line.startswith("tablut: compiling")]
    assert code in (2, 74), line
    if as_json:
        said = line.removeprefix("tablut: ")
        refused = json.loads(out)
        subject, problem, remedy = (refused.pop(part) for part in ("subject", "problem", "remedy"))
        assert refused == {"error": said, "status": code, "input": subject}
        if subject is not None:  # the words of the command line itself are wrong
            assert said == f"{subject}: {problem}" + (f"; {remedy}" if remedy else "")
    else:
        assert out == ""
    assert all(word in line for word in named), line
    assert {path: path.stat().st_size for path in tmp_path.rglob("*")} == before


# -- what programs read ---------------------------------------------------------------------

KEYS = {
    f"match random greedy {FAST}": "games a_wins b_wins draws elo elo_interval by_colour termination",
    f"tournament random greedy {FAST}": "table",
    f"measure random {FAST}": "",
    f"analyse {RECORD} --nodes 50 --proof-nodes 0 --hash 1": "plies first_decisive_error",
    "play --side none --player random -v brandubh-5-4v0 --nodes 1": "result moves",
    "engine": "commands options players",
    **{
        f"bestmove --player {name} -v brandubh-5-4v0 --nodes 50 --hash 1": "move score depth nodes pv"
        for name in player_names()
    },
}


@pytest.mark.parametrize("line", KEYS)
def test_every_answer_has_the_keys_of_the_interface(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*line.split(), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert {"variant", "provenance", *KEYS[line].split()} <= set(found)
    assert {"version", "commit", "command", "parameters", "seed", "seconds", "peak_rss_bytes"} <= set(
        found["provenance"]
    )
    if "table" in found:
        assert {"player", "games", "wins", "draws", "losses", "elo", "elo_interval"} <= set(found["table"][0])
    if "plies" in found and line.startswith("analyse"):
        assert {"ply", "move", "score", "wdl", "dtm", "best", "loss"} <= set(found["plies"][0])
    if line.startswith("bestmove"):
        assert found["pv"][0] == found["move"]
