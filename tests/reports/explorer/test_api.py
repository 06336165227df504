"""The API answers what the commands answer, and says in one line what it refuses."""

import base64
import json
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.explorer.facts import NamedTables, layers_of, position_facts
from reports.explorer.guard import Settings
from reports.explorer.requests import rules_of_text
from reports.solutions import results as solved_boards
from retrograde import solve_game
from retrograde.puzzles.puzzle_file import read_puzzles
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.cli.shell import run
from tablut.play.collection import write_collection
from tablut.position import Position
from tablut.records import read_record
from tablut.variants import load_variant
from tablut.work.progress import Observer
from tests.support.games import UNCOMPILED

ROOT = Path(__file__).resolve().parents[3]
RECORDS = ROOT / "tests" / "data" / "records"
ENDING = "9/9/9/4w4/2K6/9/9/9/4b4 b"
SMALL = "ashton-5-4v0"
SMALL_RULES = (ROOT / "tablut" / "variants" / "data" / f"{SMALL}.toml").read_text(encoding="utf-8")
VOLATILE = {"provenance", "seconds", "nodes_per_second", "store"}

SAME = [
    ("moves", ["moves", "-v", "brandubh"], {"variant": "brandubh"}),
    ("moves", ["moves", "-p", ENDING], {"position": ENDING}),
    ("probe", ["probe", "-p", ENDING], {"position": ENDING}),
    (
        "bestmove",
        ["bestmove", "-v", SMALL, "--nodes", "500", "--hash", "32", "--table-memory", "8"],
        {"variant": SMALL, "nodes": 500},
    ),
    ("bestmove", ["bestmove", "--player", "random", "--nodes", "1"], {"player": "random", "nodes": 1}),
    ("solve", ["solve", "-v", SMALL], {"variant": SMALL}),
    (
        "solve",
        ["puzzle", "solve", "-v", SMALL, "-p", "2b2/5/b1K1b/5/2b2 w"],
        {"variant": SMALL, "position": "2b2/5/b1K1b/5/2b2 w"},
    ),
    ("perft", ["perft", "-d", "3", "--divide"], {"depth": 3, "divide": True}),
    ("bounds", ["bounds", "-v", SMALL], {"variant": SMALL}),
]


@pytest.mark.parametrize(("path", "command", "asked"), SAME, ids=lambda value: value if isinstance(value, str) else "")
def test_the_answer_is_that_of_the_command(
    client: httpx.Client, path: str, command: list[str], asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run([*command, "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    for response in (client.post(f"/api/{path}", json=asked), client.get(f"/api/{path}", params=asked)):
        assert response.status_code == 200, response.text
        found = response.json()
        assert {name: found[name] for name in found if name not in VOLATILE} == {
            name: expected[name] for name in expected if name not in VOLATILE
        }
        assert found.keys() == expected.keys()
        assert found["provenance"].keys() == expected["provenance"].keys()
        assert "/" not in str(found.get("store", ""))  # a visitor learns no path


@pytest.mark.parametrize(
    ("method", "path", "asked", "status", "said"),
    [
        ("GET", "/api/probe", {}, 404, "ashton-5"),
        ("GET", "/api/probe", {"position": "9/9/9/9/9/9/9/9/9 w"}, 422, "NO_KING"),
        ("GET", "/api/probe", {"variant": "ashton-5-4v4"}, 404, "there is no tablebase of this game"),
        ("GET", "/api/moves", {"variant": "asthon"}, 422, "did you mean 'ashton'"),
        ("GET", "/api/moves", {"moves": ["e4-f4", "a1-a2"]}, 422, "move 2"),
        ("GET", "/api/perft", {"depth": 9}, 422, "at most"),
        ("GET", "/api/bestmove", {"movetime": 1e9}, 422, "movetime"),
        ("GET", "/api/solve", {}, 422, "give a position"),
        ("GET", "/api/nothing", {}, 404, "/api"),
        ("POST", "/api/variants", {}, 405, "method"),
        ("GET", "/api/puzzles/brandubh-1", {}, 404, "did you mean 'brandubh-01'?"),
        ("GET", "/api/endings/ashton-5", {"material": "9v9"}, 404, "9v9"),
        ("POST", "/api/record", {"record": "once upon a time"}, 422, "record"),
        ("POST", "/api/record", {"record_base64": "!"}, 422, "Base64"),
        ("POST", "/api/puzzles/ashton-01/try", {"moves": []}, 422, "moves"),
        ("POST", "/api/think", {"position": "9/9/9/9/9/9/9/9/9 w"}, 422, "no king"),
    ],
)
def test_what_is_refused_is_one_line_with_its_status(
    client: httpx.Client, method: str, path: str, asked: dict[str, Any], status: int, said: str
) -> None:
    response = client.get(path, params=asked) if method == "GET" else client.post(path, json=asked)
    assert response.status_code == status, response.text
    body = response.json()
    assert body.keys() - {"why"} == {"error", "status"}
    assert body["status"] == status
    assert said in body["error"]
    assert "\n" not in body["error"]


def test_a_move_that_is_none_is_refused_with_the_rule_that_forbids_it(client: httpx.Client) -> None:
    refused = client.post("/api/moves", json={"moves": ["e4-f4", "a4-c4", "e5-e7"]}).json()
    assert refused["why"] in refused["error"]
    assert "e6" in refused["why"]


@pytest.mark.parametrize(
    ("asked", "lacks"),
    [
        ({"variant": "brandubh", "moves": ["d2-c2"]}, ""),
        ({"variant": "copenhagen"}, "white_loses"),
        ({"variant": "brandubh", "position": "3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 w"}, "begin"),
    ],
)
def test_a_position_tells_whether_opentafl_can_hold_its_game(
    client: httpx.Client, asked: dict[str, Any], lacks: str
) -> None:
    told = client.post("/api/position", json=asked).json()["opentafl_lacks"]
    saved = client.post("/api/save", json=asked | {"form": "opentafl"})
    assert (saved.status_code == 200, told is None) == ((True, True) if lacks == "" else (False, False))
    assert lacks in (told or "")
    assert (told or "") in saved.text


def test_the_next_positions_of_a_list_follow_the_first(client: httpx.Client) -> None:
    asked = {"material": "1v1", "order": "index", "most": 9}
    first, then = (
        client.get("/api/endings/ashton-5", params={**asked, "skip": skip}).json()["positions"] for skip in (0, 4)
    )
    assert then[:5] == first[4:]


def test_what_is_no_json_is_a_bad_request(client: httpx.Client) -> None:
    for content in (b"{", b"[]", b"\xff\xfe", b"", b"null", b"[" * 50_000, b'{"moves":' * 20_000):
        response = client.post("/api/moves", content=content, headers={"Content-Type": "application/json"})
        assert response.status_code in (400, 422), content
        assert response.json()["status"] == response.status_code


def test_moves_are_a_list_in_a_query_too(client: httpx.Client) -> None:
    response = client.get("/api/moves?moves=e4-f4&moves=a4-b4")
    assert (response.status_code, response.json()["position"][-1]) == (200, "w")


@pytest.mark.parametrize(
    ("path", "content", "field"),
    [
        ("perft", '{"depth": 1, "depth": 2}', "depth"),
        ("moves", '{"variant": "ashton", "variant": "brandubh"}', "variant"),
        ("save", '{"tags": {"White": "a", "White": "b"}}', "White"),
        ("position", '{"position": "{\\"turn\\": \\"WHITE\\", \\"turn\\": \\"BLACK\\"}"}', "turn"),
        ("perft", '{"depth": true}', "depth"),
        ("analyse", '{"record": "x", "movetime": true}', "movetime"),
    ],
)
def test_a_field_given_twice_or_a_truth_for_a_number_is_refused_by_name(
    client: httpx.Client, path: str, content: str, field: str
) -> None:
    response = client.post(f"/api/{path}", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert field in response.json()["error"]


HEADED = ("/", "/board", "/help", "/docs", "/nothing", "/static/king.svg", "/api", "/api/openapi.json", "/api/variants")
ASKED = ("/api/perft?depth=1", "/api/perft?depth=x", "/api/puzzles/none", "/api/think", "/api/searches", "/api/nothing")


@pytest.mark.parametrize("path", HEADED + ASKED)
def test_head_is_answered_as_get_is_without_the_body(client: httpx.Client, path: str) -> None:
    whole, head = client.get(path), client.head(path)
    assert head.content == b""
    assert head.status_code == whole.status_code
    of_this_moment = {"date", "set-cookie"} | ({"content-length"} if "perft" in path else set())
    first, second = (
        {name: value for name, value in one.headers.items() if name not in of_this_moment} for one in (whole, head)
    )
    assert first == second


# -- rule sets -----------------------------------------------------------------------------------


def test_rules_of_ones_own_are_text(client: httpx.Client) -> None:
    own = SMALL_RULES + "\n# mine\n"
    by_text = client.post("/api/moves", json={"rules": own.replace(SMALL, "mine")}).json()
    by_name = client.post("/api/moves", json={"variant": SMALL}).json()
    assert by_text["moves"] == by_name["moves"]
    assert rules_of_text(own) is rules_of_text(own)


def test_a_board_that_nobody_can_search_is_played_on(client: httpx.Client) -> None:
    """Nineteen by nineteen: its facts, a move at random, and a refusal at once of what would search."""
    asked = {"rules": UNCOMPILED}
    facts = client.post("/api/position", json=asked).json()
    assert (len(facts["moves"]), facts["problem"], facts["standing"]["first_ply"]) == (580, None, None)
    move = client.post("/api/bestmove", json=asked | {"player": "random"}).json()["move"]
    assert client.post("/api/position", json=asked | {"moves": [move]}).json()["made"][0]["move"] == move
    for address, more in [("bestmove", {}), ("solve", {"position": facts["position"]}), ("perft", {}), ("think", {})]:
        refused = client.post(f"/api/{address}", json=asked | more)
        assert (refused.status_code, "without it" in refused.json()["error"]) == (422, True), address


def test_a_request_names_no_file(client: httpx.Client, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(SMALL_RULES, encoding="utf-8")
    for name in (str(file), f"file://{file}", "../rules.toml", "/dev/zero", "-", "~/x.toml"):
        response = client.post("/api/moves", json={"variant": name[:80]})
        assert response.status_code == 422, name
        assert "no such rule set" in response.json()["error"]
        assert client.post("/api/position", json={"position": name}).status_code == 422
        assert client.post("/api/record", json={"record": name}).status_code == 422
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e/app.py").status_code == 404


# -- a position ----------------------------------------------------------------------------------

TABLES = NamedTables()
ASHTON = load_variant("ashton")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 80), min_size=3, max_size=3, unique=True), st.sampled_from("bw"), st.sampled_from("bw"))
def test_every_move_has_the_value_of_the_tablebase(squares: list[int], second: str, side: str) -> None:
    cells = ["."] * 81
    for square, piece in zip(squares, ("K", "b", second), strict=True):
        cells[square] = piece
    board = Board(ASHTON, Position("".join(cells), side))  # type: ignore[arg-type]
    found = position_facts(board, TABLES)
    if found.status or found.outcome is not None:
        return
    (table,) = TABLES.of(ASHTON)
    rated = {str(one.move): (one.wdl, one.dtm) for one in table.tablebase.best_moves(board)}
    assert {move.move: (move.wdl, move.dtm) for move in found.moves} == rated
    assert found.table is not None
    assert (found.table.wdl, found.table.dtm) == table.tablebase.probe(board)
    # The best first: the shortest win, the longest loss.
    order = [
        ("win draw loss".index(one.wdl or ""), (one.dtm or 0) * (-1) ** (one.wdl == "loss")) for one in found.moves
    ]
    assert order == sorted(order)


def test_an_impossible_position_says_why(client: httpx.Client) -> None:
    found = client.get("/api/position", params={"position": "4w4/9/9/9/9/9/9/9/9 w"}).json()
    assert found["status"][0] == "NO_KING"
    assert "there is no king" in found["meanings"]
    assert "cannot be played on" in found["problem"]
    assert found["moves"] == []


@pytest.mark.parametrize("form", ["tablut", "grid", "opentafl", "bologna"])
def test_a_position_is_read_in_every_form_that_it_is_given_in(client: httpx.Client, form: str) -> None:
    asked = {"moves": ["e4-f4", "a4-b4"]}
    first = client.post("/api/position", json=asked).json()
    text = first["texts"][form]
    again = client.post("/api/position", json={"position": text, "side": "w"}).json()
    assert again["position"] == first["position"]


def test_first_plies_are_those_of_the_census() -> None:
    ashton = layers_of(ASHTON)
    counts = [list(ashton.plies.values()).count(ply) for ply in range(ashton.through + 1)]
    assert counts == [1, 7, 551, 16002]
    assert not ashton.complete
    small = layers_of(load_variant(SMALL))
    assert small.complete
    assert len(small.plies) == 17518


def test_a_drawing_is_that_of_the_project(client: httpx.Client) -> None:
    from tablut import svg

    response = client.get("/api/svg", params={"variant": "brandubh"})
    assert response.headers["content-type"] == "image/svg+xml"
    assert response.text == svg.board(Board("brandubh"))


@pytest.mark.parametrize("form", ["tablut", "opentafl"])
def test_a_game_is_saved_in_either_form(client: httpx.Client, form: str) -> None:
    asked = {"variant": "brandubh", "moves": ["d6-c6"], "tags": {"White": "Anna"}, "form": form}
    record = read_record(client.post("/api/save", json=asked).text)
    assert (record.tags["White"], [str(move) for move in record.moves]) == ("Anna", ["d6-c6"])
    unsaid = client.post("/api/save", json={"variant": "ashton", "moves": [], "form": "opentafl"})
    assert unsaid.status_code == 422
    assert "camps" in unsaid.json()["error"]


# -- puzzles, endings, records -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["brandubh-05", "ending-ashton-01"])
def test_a_puzzle_is_solved_by_right_moves_and_refuses_others(client: httpx.Client, name: str) -> None:
    listed = {one["id"]: one for one in client.get("/api/puzzles").json()["puzzles"]}[name]
    first = {str(move) for move in read_puzzles(name)[0].first or ()}
    moves: list[str] = []
    legal = [one["move"] for one in client.post("/api/moves", json=listed_game(listed)).json()["moves"]]
    wrong = next(move for move in legal if move not in first)
    tried = client.post(f"/api/puzzles/{name}/try", json={"moves": [wrong]}).json()
    assert tried["right"] is False
    assert tried["over"] or tried["reply"]
    hint = client.post(f"/api/puzzles/{name}/hint", json={"moves": []}).json()["square"]
    assert hint in {move.split("-")[0] for move in first}
    shown = client.post(f"/api/puzzles/{name}/reveal", json={"moves": []}).json()
    assert set(shown["right"]) == first
    assert len(shown["line"]) == listed["plies"]
    for number in range(0, listed["plies"], 2):
        tried = client.post(f"/api/puzzles/{name}/try", json={"moves": [*moves, shown["line"][number]]}).json()
        assert tried["right"] is True, tried
        moves = [*moves, tried["move"], *([tried["reply"]] if tried["reply"] else [])]
        shown = (
            shown
            if tried["over"]
            else {"line": [*moves, *client.post(f"/api/puzzles/{name}/reveal", json={"moves": moves}).json()["line"]]}
        )
    assert tried["over"]


ABOUT_POSITIONS = ("moves", "probe", "bestmove", "solve", "perft", "position")


@pytest.mark.parametrize("path", ABOUT_POSITIONS)
def test_an_answer_names_the_position_that_it_is_about(client: httpx.Client, path: str) -> None:
    answer = client.post(f"/api/{path}", json={"position": ENDING})
    assert (answer.status_code, answer.json()["position"]) == (200, ENDING)


def test_a_stream_and_a_puzzle_name_the_position_that_they_are_about(client: httpx.Client) -> None:
    with client.stream("POST", "/api/think", json={"position": ENDING, "movetime": 0.1}) as stream:
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert {event["position"] for event in events} == {ENDING}
    name = "brandubh-05"
    listed = {one["id"]: one for one in client.get("/api/puzzles").json()["puzzles"]}[name]
    first = str(sorted(map(str, read_puzzles(name)[0].first or ()))[0])
    reply = client.post(f"/api/puzzles/{name}/try", json={"moves": [first]}).json()["reply"]
    asked = {**listed_game(listed), "moves": [first, reply]}
    later = client.post("/api/position", json=asked).json()["position"]
    second = client.post("/api/moves", json=asked).json()["moves"][0]["move"]
    for moves, position in (([], listed["position"]), ([first, reply], later)):
        for what in ("hint", "reveal"):
            assert client.post(f"/api/puzzles/{name}/{what}", json={"moves": moves}).json()["position"] == position
    for moves, position in (([first], listed["position"]), ([first, reply, second], later)):
        assert client.post(f"/api/puzzles/{name}/try", json={"moves": moves}).json()["position"] == position
    assert client.post(f"/api/puzzles/{name}/rules").json()["position"] == listed["position"]


def listed_game(listed: dict[str, Any]) -> dict[str, str]:
    return {"variant": listed["variant"], "position": listed["position"]}


def test_no_puzzle_gives_its_solution_away(client: httpx.Client) -> None:
    text = client.get("/api/puzzles").text
    for puzzle in read_puzzles("collection"):
        for move in puzzle.first or ():
            assert str(move) not in text


def test_what_nobody_can_force_is_listed_whatever_it_is_called(client: httpx.Client) -> None:
    for name, material, held in (("berkeley-5", "1v1", False), ("ashton-5", "2v1", True)):
        for wdl in ("draw", "unresolved"):
            asked = {"wdl": wdl, "material": material, "order": "index"}
            found = client.get(f"/api/endings/{name}", params=asked).json()
            assert bool(found["positions"]) is held
            assert {one["wdl"] for one in found["positions"]} <= {"draw"}


def test_a_solved_board_tells_what_its_start_reaches(client: httpx.Client) -> None:
    tables = {table["variant"]: table for table in client.get("/api/endings").json()["tables"] if table["whole"]}
    counts = solve_game(load_variant(SMALL)).total()
    assert tables[SMALL]["reached"] == [sum(counts.totals()), sum(counts.totals(up_to_symmetry=True))]
    page = client.get("/endings").text
    for name, classes in ((SMALL, 17_518), ("brandubh-5-4v0", 25_265)):
        assert tables[name]["reached"][1] == classes
        assert f"{classes:,} classes of positions" in page
        assert f"{tables[name]['classes']:,}" not in page  # the size of the index
    assert solved_boards()["ashton-5-4v2"]["classes"] == 6_731_251


def test_the_longest_wins_are_those_that_a_whole_reading_finds(client: httpx.Client) -> None:
    (table,) = [table for table in TABLES.of(load_variant(SMALL)) if table.whole]
    for wdl in ("win", "loss"):
        for material in (None, "4v0", "2v0"):
            asked = {"wdl": wdl, "most": 40} | ({"material": material} if material else {})
            found = client.get(f"/api/endings/{table.name}", params=asked).json()
            materials = ((int(material[0]), 0),) if material else ()
            query = TableQuery(wdl, materials=materials, order="longest")  # type: ignore[arg-type]
            whole = list_positions(table.tablebase.store, query, 40)
            assert [one["dtm"] for one in found["positions"]] == [one.dtm for one in whole.positions]
            assert found["found"] <= whole.found


def test_endings_have_the_values_that_a_probe_gives(client: httpx.Client) -> None:
    for asked in (
        {"wdl": "win", "material": "2v1"},
        {"wdl": "loss", "side": "black", "material": "2v0"},
        {"material": "1v1", "most": "5"},
        {"zugzwang": "any", "material": "2v1"},
        {"wdl": "draw", "material": "2v0"},
    ):
        found = client.get("/api/endings/mcgill-5", params=asked).json()
        assert found.get("positions") or asked.keys() & {"zugzwang"} or asked.get("wdl") == "draw", (asked, found)
        if asked.get("wdl") in ("win", "loss"):
            distances = [one["dtm"] for one in found["positions"]]
            assert distances == sorted(distances, reverse=True)
        for one in found["positions"]:
            probed = client.get("/api/probe", params={"variant": "mcgill", "position": one["position"]}).json()
            assert (probed["wdl"], probed["dtm"]) == (one["wdl"], one["dtm"])


@pytest.mark.parametrize("record", sorted(RECORDS.iterdir()), ids=lambda path: path.name)
def test_records_are_read_as_the_command_reads_them(
    client: httpx.Client, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    code = run(["replay", str(record), "--json"])
    answered = capsys.readouterr()
    encoded = base64.b64encode(record.read_bytes()).decode()
    response = client.post("/api/record", json={"record_base64": encoded})
    if code not in (0, 1):
        assert response.status_code == 422
        return
    expected = json.loads(answered.out)
    found = response.json()
    assert [(one["move"], one["captures"]) for one in found["moves"]] == [
        (one["move"], one["captures"]) for one in expected["moves"]
    ]
    assert found["problems"] == expected["problems"]


def test_a_record_brings_its_rules_along(client: httpx.Client) -> None:
    found = client.post("/api/record", json={"record": (RECORDS / "brandub.otg").read_text(encoding="utf-8")}).json()
    assert found["shipped"] is None
    assert rules_of_text(found["rules"]).name == found["variant"] == "Brandub_Sample"
    last = client.post("/api/moves", json={"rules": found["rules"], "position": found["start"]}).json()
    assert found["moves"][0]["move"] in {one["move"] for one in last["moves"]}
    mine = f'name = "mine"\n{SMALL_RULES}'
    unknown = client.post("/api/record", json={"record": '[Variant "mine"] 1. c3-b3'})
    assert unknown.status_code == 422
    assert "as your own rules" in unknown.json()["error"]
    known = client.post("/api/record", json={"record": '[Variant "mine"] 1. c3-b3', "rules": mine}).json()
    assert known["problems"] == []
    assert [one["move"] for one in known["moves"]] == ["c3-b3"]


def test_a_record_begins_where_its_tags_say(client: httpx.Client) -> None:
    start = "3b3/7/2bw3/b1wKw1b/3w3/7/4b2 w"
    game = f'[Variant "brandubh"]\n[SetUp "1"]\n[FEN "{start}"]\n\n1... d5e5 2. a4a6 1-0'
    for text in (game, game.replace("\n", "\r"), f'{game}[Variant "brandubh"]\n1. x9', f"{game}\n\n1. d2e2 *"):
        found = client.post("/api/record", json={"record": text}).json()
        assert (found["start"], found["result"], found["problems"]) == (start, "black", [])
        assert [one["move"] for one in found["moves"]] == ["d5-e5", "a4-a6"]
    saved = client.post("/api/save", json={"variant": "brandubh", "position": start, "moves": ["d5e5"], "form": "pgn"})
    assert f'[FEN "{start}"]\n' in saved.text
    # The rules that fit are those of the moves, whatever the line ends are.
    unruled = '[Site "hnefatafl.org"]\r\r1. d11d9 ; a comment\rf8d8 2. k7i7 e7e9'
    assert len(client.post("/api/record", json={"record": unruled}).json()["moves"]) == 4


def test_what_nobody_has_is_a_page_for_people_and_json_for_programs(client: httpx.Client) -> None:
    page = client.get("/nothing", headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert "<h1>There is nothing here</h1>" in page.text
    assert client.get("/api/nothing", headers={"Accept": "text/html"}).json()["status"] == 404


def test_the_document_names_every_address(client: httpx.Client) -> None:
    document = client.get("/api/openapi.json").json()
    for path in ("probe", "moves", "bestmove", "solve", "perft", "bounds"):
        for method in ("get", "post"):
            operation = document["paths"][f"/api/{path}"][method]
            assert operation["summary"]
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            assert schema, path
    page = client.get("/docs").text
    assert all(f"<code>{path}</code>" in page for path in document["paths"])


def test_a_class_plays_only_where_the_server_names_it(started: Any, client: httpx.Client) -> None:
    name = "tablut.play.players.simple:RandomPlayer"
    request = {"variant": "brandubh", "player": name}
    assert client.post("/api/bestmove", json=request).status_code == 422
    served = started(Settings(players=(name,)))
    assert name in served.get("/api/players").json()["players"]
    assert name in served.get("/play").text
    assert served.post("/api/bestmove", json=request).json()["player"] == name
    assert served.post("/api/bestmove", json=request | {"player": "os:system"}).status_code == 422


def test_a_game_of_a_collection_is_read_like_a_record(client: httpx.Client, tmp_path: Path) -> None:
    archive, games = tmp_path / "games.csv", tmp_path / "my.games"
    archive.write_text("d2-e2 c4-c5,0,0,White\na4-a5,0,0,Black\n", encoding="utf-8")
    assert write_collection(games, [archive], load_variant("brandubh"), Observer()) == []
    content = games.read_bytes()
    asked = {"record_base64": base64.b64encode(content).decode()}
    read = client.post("/api/record", json=asked).json()
    assert read["games"] == {"1": "1 ply, black", "2": "2 plies, white"}
    assert (read["shipped"], [ply["move"] for ply in read["moves"]]) == ("brandubh", ["a4-a5"])
    second = client.post("/api/record", json=asked | {"number": 2}).json()
    assert [ply["move"] for ply in second["moves"]] == ["d2-e2", "c4-c5"]
    for wrong in ({"number": 3}, {"variant": "ashton"}):
        assert "contains no game" in client.post("/api/record", json=asked | wrong).json()["error"]
    built_in = client.post("/api/record", json={"shipped": True, "variant": "copenhagen"}).json()
    assert built_in["shipped"] == "copenhagen"
    assert len(built_in["games"]) == 500
    # Damage is found anywhere, and a hostile file is refused like a damaged one.
    random = Random(1)
    for _ in range(60):
        spoilt = bytearray(content)
        for _ in range(random.choice((1, 40))):
            spoilt[random.randrange(16, len(spoilt))] ^= random.randrange(1, 256)
        answer = client.post("/api/record", json={"record_base64": base64.b64encode(spoilt).decode()})
        assert answer.status_code in (200, 422)
        assert answer.status_code == 422 or answer.json()["moves"] == read["moves"]


def test_moves_played_in_a_collection(started: Any, client: httpx.Client, tmp_path: Path) -> None:
    for name in ("ashton", "brandubh", "copenhagen"):
        shipped = client.get("/api/played", params={"variant": name}).json()
        assert shipped["total"] >= 2000
        assert shipped["opening"] is None
    gambit = client.post("/api/played", json={"variant": "fetlar", "moves": ["d1-d3", "e5-e2"]}).json()
    assert (gambit["opening"]["name"], gambit["total"]) == ("Millar Gambit", 0)
    archive, games = tmp_path / "games.csv", tmp_path / "my.games"
    archive.write_text("d2-e2 c4-c5,0,0,White\na4-a5,0,0,Black\n", encoding="utf-8")
    assert write_collection(games, [archive], load_variant("brandubh"), Observer()) == []
    served = started(Settings(games=games))
    found = served.post("/api/played", json={"variant": "brandubh"}).json()
    assert [(move["move"], move["games"], move["score"]) for move in found["moves"]] == [
        ("d1-c1", 1, 1),
        ("d2-c2", 1, 0),
    ]
    assert {game["file"] for game in found["games"]} == {"games.csv"}  # not its folder
    none = served.get("/api/played", params={"variant": "ashton"})
    assert (none.status_code, none.json()["total"], none.json()["moves"]) == (200, 0, [])
    assert served.get("/api/played", params={"variant": "brandubh", "position": "7/7/7/7/7/7/7 b"}).status_code == 422
    assert 'id="played"' in served.get("/board").text
    # A damaged or missing file is the server's fault. Visitors do not see where it is.
    for spoil in (lambda: games.write_bytes(b"SQLite format 3\0" + bytes(99)), games.unlink):
        spoil()
        broken = served.get("/api/played", params={"variant": "brandubh"})
        assert broken.status_code == 503
        assert "my.games" not in broken.text
