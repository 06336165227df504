"""What the commands of play refuse: exit code 2 or 74, one line, nothing else said, nothing written, no game played."""

import io
import json
import shutil
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tablut.cli.shell import run
from tablut.errors import OutputError
from tablut.play.arena import match as arena_match
from tablut.play.players import player_names
from tablut.store.files import check_output, excerpt, write_text

RECORD = Path(__file__).parents[1] / "data" / "records" / "ashton.txt"
FAST = "-v brandubh-5-4v0 --nodes 1 -n 2"
SERVER = "play --server 127.0.0.1 --role white --timeout 5"

LINES = {
    # players, and what they are told
    "unknown player": f"match random nobody {FAST}",
    "no name": f"match @nodes=1 random {FAST}",
    "unknown key": f"match random@speed=1 random {FAST}",
    "unknown setting": f"match random@option.depth=1 random {FAST}",
    "no number": f"match mcts@playouts=x random {FAST}",
    "no thread": f"match alphabeta@threads=0 random {FAST}",
    "half a thread": f"match alphabeta@threads=1.5 random {FAST}",
    "threads of who has one": f"match greedy@threads=2 random {FAST}",
    "no memory": f"match alphabeta@hash=0 random {FAST}",
    "no such tablebase": f"match alphabeta@tablebase={{none}} random {FAST}",
    "a time of nan": f"match alphabeta@movetime=nan random {FAST}",
    "a time without end": f"match alphabeta@movetime=inf random {FAST}",
    "a limit that ends nothing": f"match mcts@depth=3 random {FAST}",
    "a limit that ends nothing, of the match": "match payoff random -v brandubh-5-4v0 --playouts 3 -n 2",
    "a program of no words": f"match program: random {FAST}",
    "a program that is not there": f"match program:{{none}} random {FAST}",
    "a program that says nothing": f"match program:true random {FAST}",
    # matches
    "no games": "match random random -n 0",
    "a test upside down": f"match random random {FAST} --sprt 10 0",
    "a test of nan": f"match random random {FAST} --sprt 0 nan",
    "certain errors": f"match random random {FAST} --sprt 0 10 --errors 0 1",
    "errors of no test": f"match random random {FAST} --errors 0.1 0.1",
    "rules that do not ship": "match random random -v nosuch --nodes 1",
    "rules in a folder": "match random random -v {folder} --nodes 1",
    "rules of bytes": "match random random -v {bytes} --nodes 1",
    "rules too long": "match random random -v {huge} --nodes 1",
    "a store that is a file": f"match random random {FAST} --store {{text}}",
    "a table that is a folder": f"match random random {FAST} --parquet {{folder}}",
    "a table below a file": f"match random random {FAST} --parquet {{text}}/x.parquet",
    "one player": f"tournament random {FAST}",
    "the third is unknown": f"tournament random greedy nobody {FAST} --store {{none}}",
    "the third never ends": f"tournament random greedy mcts@depth=2 {FAST} --store {{none}}",
    "a tournament's table in a folder": f"tournament random greedy {FAST} --parquet {{folder}}",
    "one game measured": "measure random -n 1 --nodes 1",
    "nobody measured": f"measure nobody {FAST}",
    # one move
    "no nodes": "bestmove --nodes 0",
    "too deep": "bestmove --depth 999",
    "too many threads": "bestmove --threads 300 --nodes 10",
    "threads for who has one": "bestmove --player heuristic --threads 2",
    "playouts for who has none": "bestmove --playouts 5",
    "a setting without a value": "bestmove --option depth --nodes 1",
    "an illegal move": "bestmove --move a1-a2 --nodes 1",
    "no position": "bestmove -p nothing --nodes 1",
    "no tablebase": "bestmove --tablebase {folder} --nodes 1",
    # analysis
    "no record": "analyse {none}",
    "a folder for a record": "analyse {folder}",
    "bytes for a record": "analyse {bytes}",
    "a huge record": "analyse {huge}",
    "an empty record": "analyse {empty}",
    "text for a record": "analyse {text}",
    "other rules": "analyse {record} -v brandubh",
    "no nodes for a ply": "analyse {record} --nodes 0",
    "comments into a folder": "analyse {record} --nodes 1 --annotate {folder}",
    "a picture below a file": "analyse {record} --nodes 1 --svg {text}/x.svg",
    # a game
    "a role without a server": "play --role white",
    "a server without a role": "play --server 127.0.0.1",
    "a server without a time": "play --server 127.0.0.1 --role white",
    "a port that is none": f"{SERVER} --port 99999",
    "a host that is none": "play --server nosuchhost.invalid --role white --timeout 5 --wait 0",
    "nobody listens": f"{SERVER} --wait 0 --player random --port {{free}}",
    "a script and a server": f"{SERVER} --write-script {{folder}}",
    "a script of nobody": "play --write-script {folder} --player nobody",
    "a script into a file": "play --write-script {text}",
    "threads of greedy": "play --side none --player greedy --threads 3",
    "a game saved into a folder": "play --side none --player random --save {folder}",
    # a referee
    "no time": "referee --timeout 0",
    "a port in use": "referee --timeout 1 --port-white {used} --port-black 0 --wait 0.1",
    "one port for two": "referee --timeout 1 --port-white {free} --port-black {free}",
    "logs into a file": "referee --timeout 1 --port-white 0 --port-black 0 --wait 0.1 --logs {text}",
    "a referee's unknown player": "referee --timeout 1 --white nobody",
    # the engine
    "an engine's unknown player": "engine --player nobody",
    "an engine's tables": "engine --tablebase {none}",
    "an engine's memory": "engine --hash 99999999",
    "an engine's threads": "engine --threads 0",
}
NAMED = {
    "bytes for a record": "bytes",
    "text for a record": "text",
    "other rules": "record",
    "an empty record": "empty",
}
"""Lines whose message says which file it is about."""


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, object]]:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "text").write_text("once upon a time\n")
    (tmp_path / "empty").write_text("")
    shutil.copy(RECORD, tmp_path / "record")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(1 << 30)  # takes no room on the disk
    names = ("folder", "bytes", "text", "empty", "record", "huge", "none")
    with socket.create_server(("127.0.0.1", 0)) as used:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            free = listener.getsockname()[1]
        yield {name: tmp_path / name for name in names} | {"used": used.getsockname()[1], "free": free}


def sizes(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for path in folder.rglob("*")}


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("name", LINES)
def test_a_refusal_is_one_line_and_nothing_else(
    name: str,
    as_json: bool,
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
    before = sizes(tmp_path)
    code = run([*LINES[name].format(**places).split(), *(["--json"] if as_json else [])])
    out, error = capfd.readouterr()
    lines = [line for line in error.splitlines() if not line.startswith("tablut: compiling")]
    assert code in (2, 74), lines
    assert out == ""
    assert len(lines) == 1, lines
    assert sizes(tmp_path) == before
    if name in NAMED:
        assert excerpt(str(tmp_path / NAMED[name])) in lines[0]


def test_what_is_checked_beforehand_is_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    for target in (
        tmp_path,
        tmp_path / "file" / "x",
        tmp_path / "file" / "a" / "x",
        closed / "x",
        tmp_path / "x",
        tmp_path / "new" / "folder" / "x",
    ):
        said = []
        for work in (check_output, partial(write_text, content="text")):
            try:
                work(target)
                said.append("")
            except OutputError as error:
                said.append(str(error))
        assert said[0] == said[1], target


# -- what programs read ---------------------------------------------------------------------

KEYS = {
    f"match random greedy {FAST}": "games a_wins b_wins draws elo elo_interval by_colour termination",
    f"tournament random greedy {FAST}": "table",
    f"measure random {FAST}": "",
    f"analyse {RECORD} --nodes 50 --proof-nodes 0 --hash 1": "plies first_decisive_error",
    "play --side none --player random -v brandubh-5-4v0 --nodes 1": "result moves",
    "referee --white random --black random --port-white 0 --port-black 0 --timeout 30": "result moves termination",
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
