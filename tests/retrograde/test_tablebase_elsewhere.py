"""Tablebases on a web server and in an object store: built, copied, verified and probed there, and never believed."""

import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from serving import Asked, Server, empty_bucket, folder_server, s3_server

from retrograde.solver.build import build_tablebase
from retrograde.solver.solution import solve_game
from retrograde.tablebase import DamagedTableError, MissingTableError, TablebaseError, open_tablebase
from retrograde.tablebase.copying import copy_store
from retrograde.tablebase.elsewhere import plan_tiers
from retrograde.tablebase.schema import FORMAT_VERSION, TierRecord, read_record, write_record
from retrograde.tablebase.store import open_store
from retrograde.verification.verifying import verify
from tablut import remote, segments
from tablut.board import Board
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError, OutputError
from tablut.indexing.values import value_of
from tablut.locations import as_location, names_in, resolved
from tablut.position import Position
from tablut.prober import find_prober
from tablut.remote import Patience, Remote
from tablut.segments import SegmentCache
from tablut.variants import load_variant
from tests.support.waiting import PATIENCE

DATA = Path(__file__).parents[1] / "data" / "stores"
FIVE = Path(__file__).parents[2] / "retrograde" / "data" / "ashton-5"
GAME = load_variant("ashton-5-4v0")
SMALL = DATA / f"tablebase-{FORMAT_VERSION}"
PROBE = Position.parse("5/1b3/2K2/3b1/5 w", 5)
DEEP = "9/9/9/4w4/2K6/9/5b3/5b3/4b4 b"


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "provenance" not in path.parts and path.name != "lock"
    }


def forget_segments() -> None:
    """Empty the cache, as another user on another machine would find it."""
    segments._opened.clear()
    shutil.rmtree(os.environ["TABLUT_CACHE_DIR"], ignore_errors=True)


def value_of_all(place: Path | str) -> list[int]:
    table = open_tablebase(place)
    return [value_of(table.probe(one)) for one in SAMPLE]


def sample(root: Path) -> list[Position]:
    """Some positions of every tier of a store, both sides to move."""
    store = open_store(root)
    found = []
    for material in store.tiers():
        index = store.tier(*material).index
        for entry in range(0, index.size, 1 + index.size // 40):
            for side in "wb":
                position = index.unrank(entry, side)  # type: ignore[arg-type]
                if Board(store.variant, position).outcome() is None:
                    found.append(position)
    return found


def is_named(url: str, name: str) -> bool:
    try:
        return any(name in wrong.what for wrong in verify(url, quick=True).wrong)
    except TablebaseError as error:
        return name in str(error)


SAMPLE = sample(SMALL)


def patient(request: float = PATIENCE, repeats: int = 2) -> Patience:
    return Patience(request, repeats, whole=PATIENCE)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Wait for a server as long as it takes, and keep what is read in a folder of the test."""
    monkeypatch.setattr(remote, "PATIENCE", patient())
    monkeypatch.setenv("TABLUT_CACHE_DIR", str(tmp_path / "segments"))


@pytest.fixture
def served() -> Iterator[Server]:
    with folder_server(DATA) as server:
        yield server


@pytest.fixture
def url(served: Server) -> str:
    return f"{served.url}/{SMALL.name}"


@pytest.fixture(scope="module")
def moto() -> Iterator[int]:
    with s3_server() as port:
        yield port


@pytest.fixture
def bucket(moto: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(remote, "PATIENCE", patient())
    with empty_bucket(moto, monkeypatch) as server:
        yield server


# -- locations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ftp://host/x", "unknown kind 'ftp'"),
        ("https://", "has no name"),
        ("s3:///x", "has no bucket"),
        ("file://elsewhere/x", "another machine"),
        ("https://host/a/../b", "a step '..'"),
        ("https://host/a/%2e%2E/b", "a step '..'"),
        ("https://host/a b", "a space"),
        ("https://host/a\\b", "backslash"),
        ("https://host:port/", "cannot be read"),
        ("https://[host/", "cannot be read"),
    ],
)
def test_a_url_that_names_no_store_is_refused(text: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError) as refused:
        as_location(text)
    assert reason in str(refused.value)
    assert run(["tablebase", "info", text]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["https://me:secret@host/x", "s3://secret@bucket/x", "https://host/x?token=secret", "http://host/x#secret"]
)
def test_credentials_in_a_url_are_refused_and_not_repeated(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", text, "-p", DEEP]) == 2
    error = capsys.readouterr().err
    assert "environment" in error
    assert "secret" not in error
    assert error.count("\n") == 1


def test_places_of_this_machine_are_paths(tmp_path: Path) -> None:
    assert as_location("tables/x") == Path("tables/x")
    assert as_location((tmp_path / "a b").as_uri()) == tmp_path / "a b"
    assert resolved("x") == str(Path.cwd() / "x")
    (tmp_path / "b").mkdir()
    (tmp_path / "a").touch()
    assert names_in(tmp_path) == ["a", "b"]
    assert open_tablebase(SMALL.as_uri()).probe(PROBE) == open_tablebase(SMALL).probe(PROBE)


# -- reading -------------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_what_is_served_is_what_lies_there(ranges: bool, version: int) -> None:
    root = DATA / f"tablebase-{version}"
    with folder_server(DATA, ranges=ranges) as server:
        here, there = open_tablebase(root), open_tablebase(f"{server.url}/{root.name}")
        assert there.store.tiers() == here.store.tiers()
        assert (there.max_men, there.covers(4, 0)) == (here.max_men, False)
        positions = sample(root)
        assert [there.probe(one) for one in positions] == [here.probe(one) for one in positions]
        assert [there.store.tier(*one).values() for one in there.store.tiers()] == [
            here.store.tier(*one).values() for one in here.store.tiers()
        ]
        assert verify(f"{server.url}/{root.name}", sample=3).failures == 0


def test_a_probe_fetches_the_chunks_that_it_needs_and_nothing_twice(served: Server, url: str, tmp_path: Path) -> None:
    root = copy_store(FIVE, tmp_path / "five").root
    assert isinstance(root, Path)
    with folder_server(tmp_path) as server:
        there, position = open_tablebase(f"{server.url}/five"), Position.parse(DEEP, 9)
        verdict = there.probe(position)
        assert verdict == open_tablebase(FIVE).probe(position)
        record = read_record(root / "3v1", TierRecord)
        cold = (server.requests, server.sent)
        shard = record.files["black/c/0"]
        asked = [one for one in server.asked if one.path.endswith("black/c/0")]
        assert shard.segments is not None
        assert len(asked) == 2  # the index of the shard, and one chunk
        assert sum(one.sent for one in asked) < 2 * shard.bytes // len(shard.segments) < shard.bytes
        assert cold[0] <= 8
        server.forget()
        assert there.probe(position) == verdict
        assert server.requests == 0
        # Another process reads the records alone: the segments lie in the cache, checked by their digests.
        again = open_tablebase(f"{server.url}/five")
        assert again.probe(position) == verdict
        assert server.requests == 2
        assert {one.path.rpartition("/")[2] for one in server.asked} == {"zarr.json"}


def test_find_prober_takes_a_url(url: str) -> None:
    prober = find_prober(GAME, url)
    assert prober is not None
    assert prober.probe(PROBE) == open_tablebase(SMALL).probe(PROBE)
    with pytest.raises(TablebaseError, match="another game"):
        find_prober("brandubh", url)


def test_a_prober_elsewhere_is_kept_until_its_records_change(own: tuple[Path, str]) -> None:
    root, url = own
    first = find_prober(GAME, url)
    assert first is not None
    assert first.probe(PROBE) == open_tablebase(SMALL).probe(PROBE)
    assert find_prober(GAME, url) is first
    record = read_record(root / "2v0", TierRecord)
    write_record(root / "2v0", record.model_copy(update={"version": 2, "values": {}}))
    assert find_prober(GAME, url) is not first


def test_commands_take_a_url(url: str, served: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", url, "-p", str(PROBE), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["store"], answer["variant"]) == (url, GAME.name)
    for words in (["info", url], ["verify", url], ["query", url, "--wdl", "loss"], ["walk", url, "-p", str(PROBE)]):
        assert run(["tablebase", *words]) == 0, words
    assert run(["bestmove", "-v", GAME.name, "-p", str(PROBE), "--tablebase", url, "--nodes", "100"]) == 0
    assert run(["puzzle", "solve", "-v", GAME.name, "-p", str(PROBE), "--tablebase", url]) == 0
    capsys.readouterr()
    assert run(["tablebase", "info", f"{served.url}/nothing"]) == 2
    assert "has no zarr.json" in capsys.readouterr().err
    assert run(["tablebase", "build", "-v", GAME.name, "--men", "2", "--store", url + "/new"]) == 2
    assert "can be read only" in capsys.readouterr().err


# -- faults --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["stall", "error", "short", "cut", "wrong"])
def test_a_fault_that_passes_is_got_over(served: Server, url: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "stall":
        # A busy machine may stall as well.
        monkeypatch.setattr(remote, "PATIENCE", patient(request=0.5, repeats=40))
    truth = open_tablebase(SMALL)
    for position in SAMPLE[:: 51 if fault == "stall" else 17]:
        # Every second request goes wrong: records, descriptions of arrays, indices and chunks alike.
        served.faults = [fault, ""] * 20
        forget_segments()
        assert value_of(open_tablebase(url).probe(position)) == value_of(truth.probe(position))


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        ("stall", MachineError, "no good answer"),
        ("error", MachineError, "500"),
        ("short", MachineError, "no good answer"),
        ("forbidden", MachineError, "permission denied"),
        ("cut", DamagedTableError, "damaged"),
        ("wrong", DamagedTableError, "damaged"),
    ],
)
@pytest.mark.parametrize("where", ["zarr.json", "2v0/zarr.json", "2v0/white/zarr.json", "2v0/white/c/0"])
def test_a_fault_that_stays_is_named(
    served: Server,
    url: str,
    fault: str,
    error: type[Exception],
    said: str,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served.always = fault
    served.chosen = lambda asked: asked.method == "GET" and asked.path == f"/{SMALL.name}/{where}"
    if fault == "stall":
        monkeypatch.setattr(remote, "PATIENCE", patient(request=0.5, repeats=4))
    with pytest.raises(error, match=said) as named:
        open_tablebase(url).probe(PROBE)
    assert f"{url}/{where}" in str(named.value)
    assert "\n" not in str(named.value)
    # What was bad was not kept: without the fault the answer is right.
    served.always = ""
    assert open_tablebase(url).probe(PROBE) == open_tablebase(SMALL).probe(PROBE)


@pytest.mark.parametrize(("fault", "code"), [("error", 74), ("stall", 74), ("wrong", 2)])
def test_a_command_ends_with_one_line_and_the_code(
    served: Server,
    url: str,
    fault: str,
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if fault == "stall":
        monkeypatch.setattr(remote, "PATIENCE", patient(request=0.5, repeats=4))
    served.always = fault
    assert run(["probe", url, "-p", str(PROBE)]) == code
    assert capsys.readouterr().err.count("\n") == 1


def test_nobody_at_the_address_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert run(["probe", f"http://127.0.0.1:{port}/x", "-p", str(PROBE)]) == 74
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(port) in error


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A copy of the small store that may be spoilt, and its URL."""
    root = shutil.copytree(SMALL, tmp_path / "own")
    with folder_server(tmp_path) as server:
        yield root, f"{server.url}/own"


@pytest.mark.parametrize(
    "third", [1, *(pytest.param(third, marks=pytest.mark.slow) for third in (0, 2, 3))], ids="at {} thirds".format
)
def test_every_changed_byte_is_named_or_makes_no_difference(own: tuple[Path, str], third: int) -> None:
    root, url = own
    truth = value_of_all(SMALL)
    for path in sorted(root.rglob("*")):
        if not path.is_file() or "provenance" in path.parts:
            continue
        content = path.read_bytes()
        at = min(third * len(content) // 3, len(content) - 1)
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        forget_segments()
        try:
            # Equal bytes of another file, which were read before, serve as well.
            assert value_of_all(url) == truth
        except TablebaseError as error:
            assert path.relative_to(root).as_posix() in str(error)  # noqa: PT017
        assert is_named(url, path.name)
        path.write_bytes(content)
    assert value_of_all(url) == truth


def test_what_is_missing_short_swapped_or_of_another_tier_is_named(own: tuple[Path, str]) -> None:
    root, url = own
    shard = root / "2v0" / "white" / "c" / "0"
    content = shard.read_bytes()
    shard.unlink()
    with pytest.raises(DamagedTableError, match="is missing"):
        open_tablebase(url).probe(PROBE)
    shard.write_bytes(content[:-1])
    with pytest.raises(DamagedTableError, match=f"has {len(content) - 1} bytes, not {len(content)}"):
        open_tablebase(url).probe(PROBE)
    # A sound shard of another array, with sound checksums of its own.
    shard.write_bytes((root / "2v0" / "black" / "c" / "0").read_bytes())
    with pytest.raises(DamagedTableError, match="2v0/white/c/0"):
        open_tablebase(url).probe(PROBE)
    shard.write_bytes(content)
    shutil.rmtree(root / "1v0")
    shutil.copytree(root / "2v0", root / "1v0")
    with pytest.raises(TablebaseError, match="is tier 2v0, not 1v0"):
        open_tablebase(url).store.tier(1, 0)
    shutil.rmtree(root / "1v0")
    with pytest.raises(MissingTableError, match="not built yet: finish the build of"):
        open_tablebase(url).store.tier(1, 0)
    assert open_tablebase(url).store.missing() == ["1v0"]


def test_a_store_that_changes_while_it_is_open_is_named(own: tuple[Path, str]) -> None:
    root, url = own
    table = open_tablebase(url)
    table.store.tier(2, 0)
    shutil.copy(root / "2v0" / "black" / "c" / "0", root / "2v0" / "white" / "c" / "0")
    with pytest.raises(DamagedTableError, match="2v0/white/c/0"):
        table.probe(PROBE)


def test_segments_that_do_not_add_up_are_refused(own: tuple[Path, str]) -> None:
    root, url = own
    record = read_record(root / "2v0", TierRecord)
    file = record.files["white/c/0"]
    assert file.segments is not None
    for cut in (file.segments[:-1], None, ((0, "0" * 64), *file.segments)):
        forged = file.model_copy(update={"segments": cut})
        write_record(root / "2v0", record.model_copy(update={"files": {**record.files, "white/c/0": forged}}))
        with pytest.raises(DamagedTableError, match="damaged"):
            open_store(url).tier(2, 0)


def test_a_giant_is_not_read(own: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PATIENCE", Patience(request=30, repeats=0, whole=30))
    root, url = own
    with (root / "zarr.json").open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(InputError, match="the most that is read"):
        open_store(url)


# -- the cache -----------------------------------------------------------------------------


def test_the_cache_is_bounded_checked_and_done_without(tmp_path: Path) -> None:
    from hashlib import sha256

    cache = SegmentCache(tmp_path / "kept", most=4_000)
    pieces = {sha256(bytes([one]) * 500).hexdigest(): bytes([one]) * 500 for one in range(30)}
    for number, (digest, piece) in enumerate(pieces.items()):
        cache.put(digest, piece)
        kept = list((tmp_path / "kept").iterdir())
        assert sum(path.stat().st_size for path in kept) <= 4_000
        os.utime(tmp_path / "kept" / digest, (number, number))
    names = {path.name for path in (tmp_path / "kept").iterdir()}
    assert names < set(pieces)
    assert list(pieces)[-1] in names
    # What a stranger put there is not believed.
    fresh, digest = SegmentCache(tmp_path / "kept", most=4_000), list(pieces)[-1]
    (tmp_path / "kept" / digest).write_bytes(b"x" * 500)
    assert fresh.get(digest) is None
    assert not (tmp_path / "kept" / digest).exists()
    # A folder that is somebody's loses segments alone, and what is too long to be one is not read.
    (tmp_path / "kept" / "letter.txt").write_bytes(b"dear" * 5_000)
    os.utime(tmp_path / "kept" / "letter.txt", (0, 0))
    for digest, piece in pieces.items():
        fresh.put(digest, piece)
    assert (tmp_path / "kept" / "letter.txt").exists()
    large = sha256(b"y" * 5_000).hexdigest()
    (tmp_path / "kept" / large).write_bytes(b"y" * 5_000)
    assert fresh.get(large) is None
    # A folder that cannot be made is done without.
    (tmp_path / "file").touch()
    without = SegmentCache(tmp_path / "file" / "kept")
    without.put(digest, pieces[digest])
    assert without.get(digest) == pieces[digest]


def test_the_environment_sets_the_cache(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TABLUT_CACHE_MIB", "0")
    open_tablebase(url).probe(PROBE)
    assert not (tmp_path / "segments").exists()
    monkeypatch.setenv("TABLUT_CACHE_MIB", "1")
    open_tablebase(url).probe(PROBE)
    assert (tmp_path / "segments").is_dir()
    monkeypatch.setenv("TABLUT_CACHE_MIB", "many")
    with pytest.raises(InputError, match="TABLUT_CACHE_MIB"):
        open_tablebase(url).probe(PROBE)


# -- writing -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_a_store_is_built_in_an_object_store(kind: str, bucket: Server, tmp_path: Path) -> None:
    url = f"{kind}://tables/{kind}-built"
    build_tablebase(tmp_path / "here", GAME, 3)
    assert build_tablebase(url, GAME, 2).tiers() == [(1, 0)]
    # It is added to, and what is there is not written again.
    bucket.forget()
    assert build_tablebase(url, GAME, 3).missing() == []
    if kind == "s3":
        put = {asked.path for asked in bucket.asked if asked.method == "PUT"}
        assert put
        assert not any("1v0" in path for path in put)
    copy = copy_store(url, tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(tmp_path / "here")
    assert verify(url).failures == 0
    assert copy.tiers() == [(1, 0), (2, 0)]


def test_a_solution_is_kept_in_an_object_store(bucket: Server, capsys: pytest.CaptureFixture[str]) -> None:
    url = "s3://tables/solution"
    assert run(["solve", "-v", GAME.name, "--store", url]) == 0
    assert run(["tablebase", "info", url]) == 0
    capsys.readouterr()
    assert run(["tablebase", "verify", url, "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["published"]["same"] == ["1v0", "2v0", "3v0", "4v0"]
    assert open_tablebase(url).probe(Board(GAME)) == solve_game(GAME).probe(Board(GAME))


def test_a_damaged_tier_in_an_object_store_is_named_and_built_again(bucket: Server) -> None:
    url = "s3://tables/spoilt"
    build_tablebase(url, GAME, 3)
    shard = as_location(url) / "2v0" / "white" / "c" / "0"
    assert isinstance(shard, Remote)
    content = shard.read("file", 10**6)
    assert content is not None
    assert open_tablebase(url).probe(PROBE) == open_tablebase(SMALL).probe(PROBE)
    shard.write(content[:-2] + bytes(2))
    # Whoever asks how the store is gets no answer from the cache.
    assert verify(url, quick=True).failures > 0
    forget_segments()
    with pytest.raises(DamagedTableError, match="2v0/white/c/0"):
        open_tablebase(url).probe(PROBE)
    assert verify(url, quick=True).failures > 0
    told: list[str] = []
    build_tablebase(url, GAME, 3, advanced=told.append)
    assert any("2v0/white/c/0" in step for step in told)
    assert shard.read("file", 10**6) == content
    assert verify(url).failures == 0


def test_a_build_that_ends_early_keeps_what_was_sent_and_goes_on(bucket: Server) -> None:
    url, seen = "s3://tables/early", []

    class Killed(BaseException):
        pass

    def until_the_last(step: str) -> None:
        seen.append(step)
        if step.startswith("2v0: solves") or step == "2v0: index":
            raise Killed

    with pytest.raises(Killed):
        build_tablebase(url, GAME, 3, advanced=until_the_last)
    assert seen
    assert open_store(url).tiers() == [(1, 0)]
    assert open_store(url).missing() == ["2v0"]
    assert verify(url).failures > 0
    build_tablebase(url, GAME, 3)
    assert verify(url).failures == 0


@pytest.mark.parametrize("fault", ["error", "forbidden"])
def test_a_store_that_takes_nothing_is_named(bucket: Server, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.always, bucket.chosen = fault, lambda asked: asked.method == "PUT" and "2v0" in asked.path
    words = ["tablebase", "build", "-v", GAME.name, "--men", "3", "--store", "s3://tables/refused"]
    assert run(words) == 74
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "not-to-be-printed" not in error
    assert open_store("s3://tables/refused").tiers() == [(1, 0)]
    bucket.always = ""
    assert run(words) == 0


def test_a_fault_that_passes_is_got_over_in_an_object_store(bucket: Server) -> None:
    copy_store(SMALL, "s3://tables/small")
    truth = open_tablebase(SMALL)
    for fault in ("error", "short", "cut", "wrong"):
        bucket.faults = [fault, ""] * 20
        forget_segments()
        assert open_tablebase("s3://tables/small").probe(PROBE) == truth.probe(PROBE), fault


def test_two_writers_of_one_plan_lose_nothing(bucket: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    root = as_location("s3://tables/both")
    assert isinstance(root, Remote)
    write, others = Remote.write, [(2, 0)]

    def late(self: Remote, content: bytes, **how: object) -> None:
        # Between reading the record and writing it, somebody else writes one.
        if others:
            plan_tiers(root, GAME, [others.pop()])
        write(self, content, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(Remote, "write", late)
    assert plan_tiers(root, GAME, [(1, 0)]).planned == ((1, 0), (2, 0))
    assert open_store(root).planned == ((1, 0), (2, 0))


def test_what_is_there_is_not_written_over(bucket: Server, tmp_path: Path) -> None:
    (as_location("s3://tables/other") / "notes.txt").write(b"mine")  # type: ignore[union-attr]
    with pytest.raises(TablebaseError, match="holds other files"):
        build_tablebase("s3://tables/other", GAME, 2)
    build_tablebase("s3://tables/mine", GAME, 2)
    with pytest.raises(TablebaseError, match="another game"):
        build_tablebase("s3://tables/mine", load_variant("brandubh-5-4v0"), 2)
    with pytest.raises(TablebaseError, match="choose another place"):
        copy_store("s3://tables/mine/", "s3://tables/mine")
    with pytest.raises(InputError, match="tablebase copy"):
        build_tablebase("s3://tables/mine", GAME, 2, scheduler="tcp://127.0.0.1:1")
    with folder_server(DATA) as server, pytest.raises(OutputError, match="can be read only"):
        copy_store(SMALL, f"{server.url}/new")


def test_a_bucket_that_is_not_there_is_named(bucket: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "s3://nothing/x", "-p", str(PROBE)]) == 2
    assert run(["tablebase", "build", "-v", GAME.name, "--men", "2", "--store", "s3://nothing/x"]) != 0
    assert all(line.startswith("tablut: ") for line in capsys.readouterr().err.splitlines())


def test_what_copies_is_of_the_present_format(tmp_path: Path) -> None:
    for version in range(1, FORMAT_VERSION):
        copied = copy_store(DATA / f"tablebase-{version}", tmp_path / str(version))
        assert {copied.tier(*one).record.version for one in copied.tiers()} == {FORMAT_VERSION}
        assert contents(tmp_path / str(version)) == contents(SMALL)
        assert verify(tmp_path / str(version)).failures == 0


def test_a_proxy_saw_only_what_it_should(bucket: Server) -> None:
    """The key is sent as a signature, never as it is."""
    copy_store(SMALL, "s3://tables/small")
    assert bucket.asked
    assert not any("not-to-be-printed" in str(asked) for asked in bucket.asked if isinstance(asked, Asked))
