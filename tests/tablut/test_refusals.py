"""What commands refuse: exit code 2 or 74, one line that names the input, nothing written, no game played."""

import io
import json
import re
import shlex
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
KINGLESS = "'9/9/9/9/9/9/9/9/b8 w'"

# A command a line; what is in «guillemets» is part of the line and of the refusal, what follows the arrow as well.
LINES = f"""
«bound» --json => 'bounds'
«Census» => 'census'
help «perf» => 'perft'
bounds «--jsno» => --json
«--nosuch» => tablut --help
symmetry verify «--nosuch» => tablut symmetry verify --help
--show-completion «tcsh»
bounds «-v»
bounds -v «asthon» => 'ashton'
bounds -v «no/such.toml»
bounds -v {{bytes}}
apply «e4-e9»
apply e4-f4xa1 => the move is e4-f4
moves -v ashton-5-4v0 -p '2b2/5/b3b/5/2b2 w' => NO_KING
show -p 3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 => side to move
show -p {{folder}}
show -p «/nowhere»
show --svg {{folder}}
convert --to grid -p '9/9/9/9/4K4/9/9/9/4b4 w' --side b => not b
convert --to «pgn»
convert --to grid -p /1t1/K2/2T/ => ' w' or ' b'
status -p '' => empty
replay {{bytes}}
replay {{text}}
symmetry show --svg {{text}}
unrank -- «-1»
unrank 947889249256532407079664255 => must be 0 to
perft «-d» -1 => tablut perft --help
perft «--applied» --divide
perft --corpus «nosuchfile»
perft «--corpus» file --divide
probe «s3://tables/ashton-5» => rsync
solve -v brandubh-5-4v0 --store «file:///tmp/new» => rsync
match random «nobody» {FAST}
match @nodes=1 random {FAST}
match random@option.«depth»=1 random {FAST}
match mcts@playouts=«x» random {FAST}
match greedy@threads=2 random {FAST} => threads 2
match alphabeta@tablebase={{none}} random {FAST}
match alphabeta@movetime=«nan» random {FAST}
match mcts@depth=3 random {FAST} => playouts
match program:{{none}} random {FAST}
match program:true random {FAST}
match random random «-n» 0
match random random {FAST} «--sprt» 10 0
match random random -v {{folder}} --nodes 1
match random random {FAST} --store {{text}}
match random random {FAST} --store «/dev/null/x»
measure random {FAST} --store «/dev/null/x»
match random random {FAST} --parquet {{text}}/x.parquet
tournament random {FAST} => two players
tablebase build -v alea-evangelii --men 6 --store {{none}} => --men
probe -v alea-evangelii => --men 3
reachable estimate -v alea-evangelii --samples 1 => encirclement
tournament random greedy «nobody» {FAST} --store {{none}}
measure random -n 1 --nodes 1
bestmove --nodes 0 => nodes 0
bestmove --depth 999 => depth 999
bestmove --threads 300 --nodes 10 => threads
bestmove «--hash» 99999999
bestmove --nodes {"9" * 23} => --nodes
bestmove --player «heuristic» --threads 2
bestmove --player random --option «c»=1
bestmove --player mcts --option «c»=nan => nan
bestmove --player mcts --option «turn»=mine => aware
bestmove --option «depth» --nodes 1
bestmove --tablebase {{folder}} --nodes 1
puzzle solve «--memory» 99999999
analyse {{huge}}
analyse {{record}} -v «brandubh»
analyse {{record}} --nodes 0 => nodes 0
analyse {{record}} --nodes 1 --annotate {{folder}}
play --role white => --role
play --server h --role «green» --timeout 3
play --server h --role white => --timeout
play --server h --role white --timeout 3 -p {KINGLESS} => --position
play --position - => standard input
play --server 127.0.0.1 --role white --timeout 5 --port «99999»
play --server 127.0.0.1 --role white --timeout 5 --wait 0 --player random --port {{free}} => refuses the connection
play --write-script {{text}}
play --write-script {{folder}} --player «nobody»
play --side none --player random --save {{folder}}
referee --timeout 0 => timeout 0
referee --timeout 1 --port-white {{used}} --port-black 0 --wait 0.1
referee --timeout 1 --port-white {{free}} --port-black {{free}}
referee --port-white 0 --port-black 0 --host «192.0.2.1»
referee --timeout 1 --port-white 0 --port-black 0 --wait 0.1 --logs {{text}}
referee --port-white 0 --port-black 0 --logs {{none}} -v ashton-5-4v0 => 7 or 9
referee --timeout 1 --white «nobody»
referee --option own=1 => --white
play «brandubh» => -v brandubh
match «bot.py» random => program:COMMAND
bestmove --player program:«bot.py» => python3
engine --player «nobody»
engine --tables {{none}}
engine --hash 99999999 => hash
engine «--protocol uci» --nodes 5
engine «--protocol» gtp
report --out {{none}} --check => does not exist
report --site {{text}} => site folder
report --site {{none}} --check
report --site {{none}} --out {{none}}
serve --port 0 --host «192.0.2.1» => not an address
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
    command, _, more = CASES[number].partition(" => ")
    named = [*re.findall("«(.*?)»", command), *filter(None, [more])]
    words = shlex.split(re.sub("[«»]", "", command).format(**places))
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}
    # Every other one is asked for JSON, in which it is refused as well.
    plain = number % 2 or "--" in words or words[0] in ("help", "--nosuch") or words[-1].startswith("-")
    asked = words if plain else [*words, "--json"]
    code = run(asked)
    out, error = capfd.readouterr()
    (line,) = [line for line in error.splitlines() if not line.startswith("tablut: compiling")]
    assert code in (2, 74), line
    if "--json" in asked:
        said = line.removeprefix("tablut: ")
        refused = json.loads(out)
        subject, problem, remedy = (refused.pop(part) for part in ("subject", "problem", "remedy"))
        assert refused == {"error": said, "status": code, "input": subject}
        assert subject
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
