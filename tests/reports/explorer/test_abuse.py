"""What an explorer does with visitors who mean no good, or too much: it stays up, polite and fast."""

import gc
import json
import random
import re
import select
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from explorers import Running

from reports.explorer.guard import HEADERS, Settings
from retrograde.answers import ProbeResult
from tests.support.effort import slow_but
from tests.support.markup import Page
from tests.support.waiting import PATIENCE, eventually

STATIC = Path(__file__).resolve().parents[3] / "reports" / "explorer" / "static"
PAGES = ("/", "/board", "/play", "/puzzles", "/endings", "/openings", "/games", "/docs", "/help")
ENDING = "9/9/9/4w4/2K6/9/9/9/4b4 b"
START = "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w"
ALLOWED = {200, 400, 404, 405, 413, 422, 429, 503}


# -- who may ask ---------------------------------------------------------------------------------


def test_only_the_loopbacks_names_are_answered(client: httpx.Client) -> None:
    others = ["evil.example", "127.0.0.1.evil.example", "", "[::2]:80", "[127.0.0.1].evil.example"]
    others += ["[::1]evil.example", "[::1", "[::1]:x", "127.0.0.1:", "127.0.0.1@evil.example"]
    for host in others:
        for path in ("/", "/api/moves", "/static/king.svg"):
            assert client.get(path, headers={"Host": host}).status_code == 421, host
    for host in ("localhost", "localhost:1", "127.0.0.1:8137", "[::1]:8137"):
        assert client.get("/api/variants", headers={"Host": host}).status_code == 200


def test_another_sites_page_may_not_ask(client: httpx.Client) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://[", "", "//", "\x80"):
        response = client.post("/api/moves", json={}, headers={"Origin": origin.encode("latin-1")})
        assert (response.status_code, response.json()["status"]) == (403, 403)
    own = str(client.base_url).rstrip("/")
    assert client.post("/api/moves", json={}, headers={"Origin": own}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_sites_page_embeds_is_refused_and_its_links_lead_here(client: httpx.Client, site: str) -> None:
    for mode in ("no-cors", "navigate"):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
        assert client.get("/api/bestmove", params={"nodes": 1}, headers=headers).status_code == 403
        assert client.get("/board", headers=headers).status_code == (200 if mode == "navigate" else 403)
    for site_of_ours in ("none", "same-origin"):
        assert client.get("/api/variants", headers={"Sec-Fetch-Site": site_of_ours}).status_code == 200


def test_every_answer_has_the_headers(client: httpx.Client) -> None:
    for path in (*PAGES, "/api/moves", "/api/nothing", "/nothing", "/static/king.svg", "/static/nothing"):
        headers = client.get(path).headers
        assert {name: headers.get(name) for name in HEADERS} == HEADERS, path
        assert "server" not in headers
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_only_what_ships_with_it(client: httpx.Client, path: str) -> None:
    page = Page(client.get(path).text)
    assert page.forbidden == []
    for link in set(page.links):
        assert link.startswith(("/", "#")), link
        assert not link.startswith("//")
        assert link.startswith("#") or client.get(link).status_code == 200, link


def test_modules_load_only_what_ships() -> None:
    for module in (STATIC / "js").iterdir():
        text = module.read_text(encoding="utf-8")
        for source in re.findall(r'from "([^"]+)"', text):
            assert (module.parent / source).is_file(), f"{module.name} loads {source}"
        assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}
        assert "innerHTML" not in text
        # Whatever a page asks is asked in one way, which knows what the page shows, and can be stopped.
        assert ("fetch(" in text) == (module.name == "api.js"), module.name
        assert ('"./api.js"' in text) == (module.name == "asks.js"), module.name
        assert "eval(" not in text


# -- too much ------------------------------------------------------------------------------------


def test_a_large_body_is_refused(client: httpx.Client) -> None:
    most = Settings().body_bytes
    for content in (b"x" * (most + 1), (b"x" * 65536 for _ in range(most // 65536 + 1))):
        response = client.post("/api/moves", content=content, headers={"Content-Type": "application/json"})
        assert response.status_code == 413
        assert f"{most:,}" in response.json()["error"]
    assert client.post("/api/record", json={"record": "x" * most}).status_code == 422


def test_who_does_not_finish_a_request_is_let_go(started: Running) -> None:
    client = started(Settings(request_seconds=0.3))
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=PATIENCE) as slow:
        slow.sendall(b"POST /api/moves HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
        assert b" 408 " in slow.recv(4096)


@pytest.mark.parametrize("header", [b"Content-Length: -1", b"Content-Length: 1_0", b"Content-Length: " + b"9" * 40])
def test_a_length_that_is_none_is_refused(client: httpx.Client, header: bytes) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=PATIENCE) as rude:
        rude.sendall(b"POST /api/moves HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header + b"\r\n\r\n{}")
        assert re.match(rb"HTTP/1.1 4\d\d ", rude.recv(4096))


def test_only_so_many_requests_at_once(started: Running) -> None:
    client = started(Settings(in_flight=1, searches=1, movetime=PATIENCE))
    with client.stream("POST", "/api/think", json={"movetime": PATIENCE}):
        response = client.get("/api/variants")
        assert response.status_code == 503
        assert response.headers["Retry-After"]
        assert response.json()["status"] == 503


def ask_beside_a_search(client: httpx.Client, visitors: list[dict[str, str]], refused: int) -> list[httpx.Response]:
    """Return the answers to searches that are asked for while one runs, which ends when so many were refused."""
    answers: list[httpx.Response] = []

    def search(headers: dict[str, str]) -> None:
        answers.append(client.post("/api/bestmove", json={"nodes": 1}, headers=headers))

    with ThreadPoolExecutor(12) as pool:
        with client.stream("POST", "/api/think", json={"movetime": PATIENCE}):
            tasks = [pool.submit(search, headers) for headers in visitors]
            for _ in range(10):
                assert client.get("/api/probe", params={"position": ENDING}).status_code == 200
            eventually(lambda: len(answers) == refused)
        for task in tasks:
            task.result()
    return answers


@pytest.mark.slow
def test_a_flood_of_searches_is_refused_politely_and_probes_are_answered(started: Running) -> None:
    client = started(Settings(searches=1, waiting=2, patience=PATIENCE, movetime=PATIENCE))
    answers = ask_beside_a_search(client, [{"Cookie": f"visitor=v{number}"} for number in range(12)], 10)
    assert sorted(answer.status_code for answer in answers) == 2 * [200] + 10 * [503]
    for answer in answers:
        if answer.status_code == 503:
            assert int(answer.headers["Retry-After"]) >= 1
            assert "try again" in answer.json()["error"]


def test_who_has_waited_long_enough_is_refused(started: Running) -> None:
    client = started(Settings(searches=1, patience=0.2, movetime=PATIENCE))
    with client.stream("POST", "/api/think", json={"movetime": PATIENCE}):
        response = client.post("/api/bestmove", json={"nodes": 1})
    assert response.status_code == 503
    assert response.json()["error"].endswith("busy with other searches; try again in a moment")


def test_a_visitor_has_one_search_and_may_wait_for_another(started: Running) -> None:
    client = started(Settings(searches=1, waiting=8, patience=PATIENCE, movetime=PATIENCE))
    answers = ask_beside_a_search(client, 4 * [{}], 3)
    assert sorted(answer.status_code for answer in answers) == [200, 429, 429, 429]


@pytest.mark.parametrize("path", slow_but(["think"], ["solve"]))
def test_work_ends_when_its_visitor_leaves(started: Running, path: str) -> None:
    client = started(Settings(searches=1, waiting=4, patience=PATIENCE / 3, movetime=PATIENCE, proof_seconds=PATIENCE))
    asked = {"position": START, "seconds": PATIENCE} if path == "solve" else {"movetime": PATIENCE}
    body = json.dumps(asked).encode()
    head = f"POST /api/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=PATIENCE) as visitor:
        visitor.sendall(f"{head}{len(body)}\r\n\r\n".encode() + body)
        time.sleep(0.7)
    assert client.post("/api/bestmove", json={"nodes": 1}).status_code == 200


def left(client: httpx.Client, method: str, path: str, asked: dict[str, Any] | None, seen: str) -> None:
    """Ask as a visitor of some name, and leave once the search is queued or has ended."""
    body = b"" if asked is None else json.dumps(asked).encode()
    cookie = {"Cookie": f"visitor={seen}"}
    fields = f"Host: 127.0.0.1\r\nCookie: visitor={seen}\r\nContent-Type: application/json"

    def searches() -> list[dict[str, Any]]:
        return list(client.get("/api/searches", headers=cookie).json()["searches"])

    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=PATIENCE) as visitor:
        head = f"{method} {path} HTTP/1.1\r\n{fields}\r\nContent-Length: {len(body)}\r\n\r\n"
        visitor.sendall(head.encode() + body)
        eventually(lambda: searches() or select.select([visitor], [], [], 0)[0])
        time.sleep(0.1)  # so that it runs, not only stands in the queue
    eventually(lambda: not searches())


Asked = tuple[str, str, dict[str, Any] | None]
LONG: list[Asked] = [
    ("POST", "/api/think", {"movetime": PATIENCE}),
    ("POST", "/api/solve", {"position": START, "seconds": PATIENCE}),
    ("POST", "/api/solve", {"variant": "ashton-5-4v0"}),
    ("POST", "/api/bestmove", {"movetime": PATIENCE}),
    ("POST", "/api/analyse", {"record": '[Variant "ashton"] 1. e4-f4 a4-b4 2. f4-f3'}),
    ("GET", "/api/puzzles/ending-ashton-01", None),
    ("POST", "/api/puzzles/ashton-06/try", {"moves": ["f6-f3"]}),
    ("POST", "/api/puzzles/ashton-06/hint", {"moves": []}),
    ("POST", "/api/puzzles/ashton-06/reveal", {"moves": []}),
    ("POST", "/api/puzzles/ashton-06/rules", None),
    ("GET", "/api/endings/ashton-5?order=index", None),
]
KILLED: list[Asked] = [
    ("POST", "/api/bestmove", {"movetime": PATIENCE, "player": "mcts"}),
    ("POST", "/api/perft", {"depth": 5}),
    ("POST", "/api/bounds", {"variant": "alea-evangelii"}),
    ("POST", "/api/bestmove", {"movetime": PATIENCE, "player": "minimax3", "variant": "copenhagen"}),
]
"""Searches that do not stop by themselves: their processes are killed, and start again."""


@pytest.mark.parametrize("searches", [LONG, pytest.param(KILLED, marks=pytest.mark.slow)])
def test_who_leaves_during_a_search_leaves_no_trace_in_the_terminal(
    searches: list[Asked],
    started: Running,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if searches is KILLED:
        monkeypatch.setattr("reports.explorer.work._GRACE", 0.5)
    client = started(Settings(searches=1, patience=PATIENCE, movetime=PATIENCE, proof_seconds=PATIENCE))
    # A process that has only begun to load its kernels cannot stop at once, and would be killed.
    for path, body in (("bestmove", {"nodes": 1}), ("puzzles/brandubh-01/hint", {"moves": []})):
        assert client.post(f"/api/{path}", json=body).status_code == 200
    for number, (method, path, asked) in enumerate(searches):
        left(client, method, path, asked, f"v{number}")
    # A visitor who leaves before the request has arrived.
    for path in ("/api/moves", "/api/think", "/api/record", "/api/puzzles/ashton-06/rules"):
        with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=PATIENCE) as visitor:
            visitor.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{{".encode())
            time.sleep(0.1)
    assert client.post("/api/bestmove", json={"nodes": 1}).status_code == 200
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == []
    assert capfd.readouterr().err == ""


def test_who_leaves_the_queue_gives_up_the_place(started: Running) -> None:
    client = started(Settings(searches=1, waiting=1, patience=PATIENCE, movetime=PATIENCE))
    with client.stream("POST", "/api/think", json={"movetime": PATIENCE}, headers={"Cookie": "visitor=anna"}):
        for name in ("bert", "carl"):  # the second takes the place that the first has left
            left(client, "POST", "/api/bestmove", {"nodes": 1}, name)


def told(client: httpx.Client, path: str, asked: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the events of a stream, to its end."""
    with client.stream("POST", path, json=asked) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        text = "".join(response.iter_text())
    return [(name, json.loads(data)) for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n", text)]


def test_a_thought_is_told_as_it_goes_on(client: httpx.Client) -> None:
    *infos, (last, found) = told(client, "/api/think", {"variant": "ashton-5-4v0", "movetime": 1})
    assert (last, found["mate"]) == ("done", 3)
    depths = [info["depth"] for name, info in infos if name == "info"]
    assert depths == sorted(depths)


def test_an_analysis_tells_how_far_it_is_and_ends_with_the_whole(client: httpx.Client) -> None:
    record = '[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1 2. b3-b4'
    *events, (last, found) = told(client, "/api/analyse", {"record": record, "movetime": 0.05})
    assert [looked["ply"] for name, looked in events if name == "looked"] == [1, 2, 3]
    assert (last, [ply["move"] for ply in found["plies"]]) == ("done", ["c3-b3", "c1-b1", "b3-b4"])


def test_what_the_server_remembers_is_bounded(started: Running) -> None:
    client = started(Settings(remembered=5))

    def remembered() -> int:
        gc.collect()
        return sum(isinstance(thing, ProbeResult) for thing in gc.get_objects())

    before = remembered()
    for rank in (2, 3, 5, 6):
        for file in (2, 3, 5, 6):
            rows = ["4b4", *(8 * ["9"])]
            rows[rank] = f"{file}K{8 - file}"
            assert client.get("/api/probe", params={"position": f"{'/'.join(rows)} b"}).status_code == 200
    assert before < remembered() <= before + 5


# -- nonsense ------------------------------------------------------------------------------------

VALUES: list[Any] = [
    None, True, -1, 0, 1e308, 10**30, "", "x" * 5000, "\x00", "\ud800", "</script>", "../../etc/passwd", [], {}, [[]],
    {"a": {}}, ["e4-f4"] * 1001, ["\u202e"], "9/9/9/9/4K4/9/9/9/b8 w", "{" * 500,
]  # fmt: skip
FIELDS = ("variant", "rules", "position", "side", "moves", "depth", "player", "nodes", "movetime", "record", "most")


def test_nonsense_is_refused_and_never_a_defect(started: Running) -> None:
    client = started(Settings(movetime=0.1, proof_seconds=0.1, analysis_seconds=0.2, sequences=10**6))
    draw = random.Random(5)
    document = client.get("/api/openapi.json").json()
    addresses = [(path, method) for path, methods in document["paths"].items() for method in methods]
    for _ in range(40):
        path, method = draw.choice(addresses)
        path = path.replace("{name}", draw.choice(["ashton-01", "ashton-5", "%00", "..%2f..%2fx", "x" * 300]))
        said = {draw.choice(FIELDS): draw.choice(VALUES) for _ in range(draw.randrange(3))}
        body = json.dumps(said).encode()
        headers = {"Content-Type": "application/json"}
        response = client.request(method.upper(), path, content=body if method == "post" else None, headers=headers)
        assert response.status_code in ALLOWED, (path, said, response.text[:300])
        if response.status_code != 200:
            assert response.json().keys() == {"error", "status"}
            assert "\n" not in response.json()["error"]
            assert len(response.json()["error"]) < 1500
            assert "Traceback" not in response.text


def test_a_list_that_takes_too_long_is_refused(started: Running) -> None:
    client = started(Settings(movetime=0.01, margin=PATIENCE))
    response = client.get("/api/endings/ashton-5", params={"order": "index"})
    assert response.status_code == 503
    assert "choose one material" in response.json()["error"]
    assert "Retry-After" not in response.headers  # it would take as long the next time


def test_names_from_outside_are_no_markup(client: httpx.Client) -> None:
    for path in ("/puzzles", "/board", "/endings"):
        text = client.get(path, params={"puzzle": "<script>alert(1)</script>", "variant": "<b>"}).text
        assert "<script>alert" not in text
        assert "<b>" not in text
