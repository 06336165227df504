"""A census on a web server and in an object store: read, verified, copied and counted there, and never believed."""

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from fuses import Fuse, KilledError
from serving import Server, empty_bucket, folder_server, s3_server

from counting.census import census, rows_elsewhere
from counting.census import run as running
from counting.census.copying import copy_census
from counting.census.count_plan import CountWish
from counting.census.files import open_rows, read_rows
from counting.census.records import LEAF_BITS
from counting.census.verification import verify_census
from tablut import remote
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError
from tablut.locations import as_location
from tablut.remote import Patience, Remote
from tablut.variants import load_variant
from tests.support.waiting import PATIENCE

GAME = load_variant("ashton-5-4v0")
CODED = load_variant("brandubh")
PLIES = 3
PART = "classes/ply-003/part-00000.rows"


def patient(request: float = PATIENCE, repeats: int = 2) -> Patience:
    return Patience(request, repeats, whole=PATIENCE)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a server as long as it takes, and forget what an earlier test has read."""
    monkeypatch.setattr(remote, "PATIENCE", patient())
    rows_elsewhere._opened.cache_clear()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some plies, and a part of one that was counted and not stored; a census of codes."""
    folder = tmp_path_factory.mktemp("stored")
    census(GAME, plies=PLIES, store=folder / "small")
    census(GAME, plies=PLIES + 1, store=folder / "small", resume=True, count=CountWish((0, 2)))
    census(CODED, plies=2, store=folder / "coded")
    return folder


@pytest.fixture
def own(stored: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(stored / "small", tmp_path / "own"))


@pytest.fixture
def served(stored: Path) -> Iterator[Server]:
    with folder_server(stored) as server:
        yield server


@pytest.fixture(scope="module")
def moto() -> Iterator[int]:
    with s3_server() as port:
        yield port


@pytest.fixture
def bucket(moto: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(remote, "PATIENCE", patient())
    with empty_bucket(moto, monkeypatch) as server:
        yield server


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


# -- reading -------------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("name", ["small", "coded"])
def test_what_is_served_is_what_lies_there(stored: Path, name: str, ranges: bool) -> None:
    with folder_server(stored, ranges=ranges) as server:
        there = verify_census(f"{server.url}/{name}", parents=True)
        here = verify_census(stored / name, parents=True)
        assert there.model_dump(exclude={"store"}) == here.model_dump(exclude={"store"})
        assert there.failures == 0
        for part in sorted((stored / name / "classes").glob("ply-*/part-*.rows")):
            file = open_rows(part)
            far = open_rows(as_location(f"{server.url}/{part.relative_to(stored).as_posix()}"), file.digest)
            for first, last in ((0, 1 << LEAF_BITS), (7, 1700), (5, 5)):
                assert (read_rows(far, first, last) == read_rows(file, first, last)).all()


def test_plies_that_are_there_are_shown_without_their_rows(stored: Path, served: Server) -> None:
    url = f"{served.url}/small"
    plain = census(GAME, plies=PLIES, store=stored / "small", resume=True)
    served.forget()
    far = census(GAME, plies=PLIES, store=url, resume=True)
    assert far.model_dump(exclude={"store", "stored_bytes"}) == plain.model_dump(exclude={"store", "stored_bytes"})
    assert far.store == url
    last = (stored / f"small/classes/ply-{PLIES:03}/part-00000.rows").stat().st_size
    asked = [one for one in served.asked if one.path.endswith(f"ply-{PLIES:03}/part-00000.rows")]
    assert sum(one.sent for one in asked) <= min(last, 1 << 18)


def test_nothing_elsewhere_is_opened_without_a_digest(served: Server) -> None:
    with pytest.raises(InputError, match="no record says"):
        open_rows(as_location(f"{served.url}/small/{PART}"))


def test_what_the_commands_say(served: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"{served.url}/small"
    assert run(["census", "verify", url, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["store"], answer["failures"], answer["counted"]) == (url, 0, PLIES + 1)
    assert run(["census", "-v", GAME.name, "--plies", "3", "--store", url, "--resume"]) == 0
    capsys.readouterr()
    assert run(["census", "copy", url, str(tmp_path / "copy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plies"] == PLIES + 1
    for words, said in (
        (["--plies", "3", "--store", url], "go on with --resume"),
        (["--plies", "9", "--store", url, "--resume"], "can be read only"),
        (["--plies", "3", "--store", f"{served.url}/nothing"], "holds no census, and can be read only"),
        (["--plies", "3", "--store", f"{served.url}/coded", "--resume"], "by other rules"),
        (["--plies", "3", "--store", "ftp://host/x"], "unknown kind 'ftp'"),
        (["--plies", "3", "--store", url, "--resume", "--scheduler", "tcp://127.0.0.1:1"], "workers need a folder"),
    ):
        assert run(["census", "-v", GAME.name, *words]) == 2, words
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
    assert run(["census", "verify", f"{served.url}/nothing"]) == 2
    assert "holds no census" in capsys.readouterr().err
    assert run(["census", "copy", url, f"{served.url}/new"]) == 2
    assert "can be read only" in capsys.readouterr().err


# -- faults --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["stall", "error", "short", "cut", "wrong"])
def test_a_fault_that_passes_is_got_over(
    stored: Path, served: Server, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "stall":
        # A busy machine may stall as well.
        monkeypatch.setattr(remote, "PATIENCE", patient(request=0.5, repeats=40))
    # Every third request goes wrong: records, beginnings and rows alike.
    served.faults = [fault, "", ""] * (3 if fault == "stall" else 40)
    served.chosen = lambda asked: asked.method == "GET" and (stored / asked.path[1:]).is_file()
    assert verify_census(f"{served.url}/small").failures == 0


@pytest.mark.parametrize("fault", ["error", "short", "forbidden"])
@pytest.mark.parametrize("where", ["classes/census.json", "classes/ply-003.json", PART])
def test_a_store_that_does_not_answer_is_named(served: Server, fault: str, where: str) -> None:
    served.always = fault
    served.chosen = lambda asked: asked.method == "GET" and asked.path == f"/small/{where}"
    with pytest.raises(MachineError, match=r"permission denied|no good answer") as named:
        verify_census(f"{served.url}/small")
    assert f"{served.url}/small/{where}" in str(named.value)
    assert "\n" not in str(named.value)


@pytest.mark.parametrize("fault", ["cut", "wrong"])
@pytest.mark.parametrize("where", ["classes/ply-003.json", PART, "classes/count-004.json"])
def test_bytes_that_stay_wrong_are_a_failure_that_is_named(
    served: Server, fault: str, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served.always = fault
    served.chosen = lambda asked: asked.method == "GET" and asked.path == f"/small/{where}"
    assert run(["census", "verify", f"{served.url}/small", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    said = [message for check in answer["checks"] for message in check["messages"]]
    assert any(f"{served.url}/small/{where}" in message for message in said)
    with pytest.raises(InputError, match=where):
        copy_census(f"{served.url}/small", tmp_path / "copy")
    # What was bad was not kept.
    served.always = ""
    assert verify_census(f"{served.url}/small").failures == 0


@pytest.mark.parametrize("place", ["record", "index", "row", "end", "missing", "swapped", "gap"])
def test_a_damaged_store_is_named(own: Path, place: str) -> None:
    part = own / PART
    begin = open_rows(part).begin
    if place == "end":
        part.write_bytes(part.read_bytes()[:-3])
    elif place == "missing":
        part.unlink()
    elif place == "swapped":
        shutil.copy(own / "classes/ply-002/part-00000.rows", part)
    elif place == "gap":
        (own / "classes/ply-002.json").unlink()
    else:
        path = own / "classes/ply-003.json" if place == "record" else part
        content = bytearray(path.read_bytes())
        content[{"record": 300, "index": begin - 9, "row": begin + 8}[place]] ^= 1
        path.write_bytes(bytes(content))
    with folder_server(own.parent) as server:
        report = verify_census(f"{server.url}/own")
        # A web server has no list of names: a census that ends early is all there is, but not what was published.
        assert (report.failures > 0) == (place != "gap")
        assert report.plies < PLIES + 1 or place not in ("gap", "record")


# -- copies --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["small", "coded"])
@pytest.mark.parametrize("kind", ["memory", "s3", "folder"])
def test_a_copy_is_the_same_files(stored: Path, name: str, kind: str, bucket: Server, tmp_path: Path) -> None:
    place = str(tmp_path / "there") if kind == "folder" else f"{kind}://tables/{kind}-{name}"
    first = copy_census(stored / name, place)
    assert first.files == len(contents(stored / name))
    assert first.bytes == sum(map(len, contents(stored / name).values()))
    again = copy_census(stored / name, place)
    assert (again.files, again.plies) == (0, first.plies)
    assert verify_census(place).failures == 0
    copy_census(place, tmp_path / "back")
    assert contents(tmp_path / "back") == contents(stored / name)


def test_a_copy_of_a_damaged_file_is_not_made(own: Path, tmp_path: Path) -> None:
    path = own / PART
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match="part-00000"):
        copy_census(own, tmp_path / "copy")
    assert not (tmp_path / "copy/classes/ply-003.json").exists()
    assert not list((tmp_path / "copy").rglob("*.tmp"))


def test_what_is_there_is_not_written_over(stored: Path, tmp_path: Path) -> None:
    copy_census(stored / "coded", tmp_path / "other")
    with pytest.raises(InputError, match="choose another place"):
        copy_census(stored / "small", tmp_path / "other")
    (tmp_path / "full/classes").mkdir(parents=True)
    (tmp_path / "full/classes/letter").touch()
    with pytest.raises(InputError, match="holds other files"):
        copy_census(stored / "small", tmp_path / "full")
    with pytest.raises(InputError, match="is what is to be copied"):
        copy_census(stored / "small", str(stored / "small"))
    with pytest.raises(InputError, match="holds no census"):
        copy_census(tmp_path / "nothing", tmp_path / "new")


# -- counting ------------------------------------------------------------------------------


def test_a_census_is_counted_in_an_object_store(bucket: Server, stored: Path, tmp_path: Path) -> None:
    url = "s3://tables/census"
    first = census(GAME, plies=2, store=url)
    assert [ply.digest for ply in first.plies] == [ply.digest for ply in census(GAME, plies=2).plies]
    bucket.forget()
    census(GAME, plies=PLIES, store=url, resume=True, full=True)
    put = [asked.path for asked in bucket.asked if asked.method == "PUT" and "classes" in asked.path]
    # What is there is not sent again, and a record goes last.
    assert not any("ply-002" in path for path in put)
    names = [path.partition("/classes/")[2] for path in put]
    assert names == ["ply-003/part-00000.rows", "ply-003.json"]
    census(GAME, plies=PLIES + 1, store=url, resume=True, count=CountWish((0, 2)))
    assert verify_census(url).failures == 0
    copy_census(url, tmp_path / "copy")
    assert [record.name for record in sorted((tmp_path / "copy/classes").glob("*.json"))] == [
        record.name for record in sorted((stored / "small/classes").glob("*.json"))
    ]
    plain = [ply.digest for ply in census(GAME, plies=PLIES, store=stored / "small", resume=True).plies]
    assert [ply.digest for ply in census(GAME, plies=PLIES, store=url, resume=True).plies] == plain


def test_what_was_done_before_it_ended_is_there(bucket: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "s3://tables/early"
    with monkeypatch.context() as patched:
        patched.setattr(running, "open_scheduler", lambda *_: nullcontext(Fuse(3)))
        with pytest.raises(KilledError):
            census(GAME, plies=PLIES, store=url)
    report = verify_census(url)
    assert (report.plies, report.failures) == (2, 0)
    found = census(GAME, plies=PLIES, store=url, resume=True)
    assert [ply.digest for ply in found.plies] == [ply.digest for ply in census(GAME, plies=PLIES).plies]


@pytest.mark.parametrize("fault", ["error", "forbidden"])
def test_a_store_that_takes_nothing_is_named(bucket: Server, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.always, bucket.chosen = fault, lambda asked: asked.method == "PUT" and "ply-002" in asked.path
    words = ["census", "-v", GAME.name, "--plies", "3", "--store", "s3://tables/refused"]
    assert run([*words, "--json"]) == 74
    captured = capsys.readouterr()
    assert "not-to-be-printed" not in captured.err
    assert "--resume" in captured.err
    bucket.always = ""
    assert run([*words, "--resume"]) == 0
    assert verify_census("s3://tables/refused").failures == 0


def test_a_damaged_part_elsewhere_is_named_before_anything_is_counted(bucket: Server) -> None:
    url = "s3://tables/spoilt"
    census(GAME, plies=3, store=url)
    part = as_location(url) / "classes" / "ply-003" / "part-00000.rows"
    assert isinstance(part, Remote)
    content = part.read("file", 1 << 24)
    assert content is not None
    part.write(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match=r"ply-003/part-00000\.rows"):
        census(GAME, plies=4, store=url, resume=True)
    assert verify_census(url).failures == 1
    part.write(content)
    assert census(GAME, plies=4, store=url, resume=True).plies[4].digest == census(GAME, plies=4).plies[4].digest
    with pytest.raises(InputError, match="name the place above it"):
        census(GAME, plies=4, store=f"{url}/classes", resume=True)
