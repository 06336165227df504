"""The sealed store and its files: what is read is what was written, or the file is named; bounded, whole and locked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tablut.errors import InputError, MachineError, OutputError
from tablut.work.files import (
    check_output,
    child,
    lock_folder,
    read_bytes,
    read_text,
    remove_temporaries,
    reserve,
    write_bytes,
    write_text,
)
from tablut.work.ledger import Kind, claim, commit, head_of
from tablut.work.sealed_records import (
    Count,
    DamagedError,
    DataFile,
    Digest,
    Record,
    StoreError,
    TooNewError,
    TooOldError,
    check_data,
    data_file,
    digest_of,
    read_record,
    record_text,
    write_record,
)
from tests.support.effort import MORE, examples

KIND = Kind("tally", "tally.json")


class Head(Record):
    FORMAT: ClassVar[str] = "test tally"

    game: Digest


class Step(Record):
    FORMAT: ClassVar[str] = "test step"
    VERSION: ClassVar[int] = 3

    game: Digest
    number: Count
    before: Digest | None
    share: float
    parts: tuple[DataFile, ...]

    def fault(self) -> str | None:
        return "it has too many parts" if len(self.parts) > 9 else None


class Grouped(Record):
    FORMAT: ClassVar[str] = "test group"
    GROUP: ClassVar[bool] = True

    names: dict[str, Count]


GAME = digest_of("a game")
HEAD = Head(game=GAME)


def step(number: int, before: str | None, parts: tuple[DataFile, ...]) -> Step:
    return Step(game=GAME, number=number, before=before, share=number / 3, parts=parts)


class Stores(RuleBasedStateMachine):
    """A store of steps with parts, written, damaged in any way, read and gone on with."""

    @initialize()
    def begin(self) -> None:
        self.place = Path(tempfile.mkdtemp())
        self.root = self.place / "store"
        self.written: dict[str, bytes] = {}
        self.steps: list[Step] = []
        with claim(self.root, KIND, HEAD):
            pass
        self.written["tally.json"] = (self.root / "tally.json").read_bytes()

    def teardown(self) -> None:
        shutil.rmtree(self.place)

    def sound(self) -> bool:
        return (
            all((self.root / name).is_file() and not (self.root / name).is_symlink() for name in self.written)
            and {name: (self.root / name).read_bytes() for name in self.written} == self.written
        )

    @precondition(lambda self: self.sound() and len(self.steps) < 4)
    @rule(contents=st.lists(st.binary(max_size=40), min_size=1, max_size=3))
    def go_on(self, contents: list[bytes]) -> None:
        with claim(self.root, KIND, HEAD) as head:
            assert head == HEAD
            number = len(self.steps)
            folder = self.root / f"step-{number}"
            folder.mkdir()
            for place, content in enumerate(contents):
                (folder / f"part-{place}").write_bytes(content)
                self.written[f"step-{number}/part-{place}"] = content
            before = digest_of(json.loads(record_text(self.steps[-1]))) if self.steps else None
            made = step(number, before, tuple(data_file(folder / f"part-{n}") for n in range(len(contents))))
            commit(self.root / f"step-{number}.json", made)
        self.written[f"step-{number}.json"] = (self.root / f"step-{number}.json").read_bytes()
        self.steps.append(made)

    @precondition(lambda self: self.sound())
    @rule(data=st.data())
    def damage(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.written)))
        path, content = self.root / name, self.written[name]
        kind = data.draw(st.sampled_from(["flip", "cut", "longer", "other", "gone", "link", "folder"]))
        path.unlink()
        if kind == "flip" and content:
            changed = bytearray(content)
            changed[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
            path.write_bytes(changed)
        elif kind == "cut":
            path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        elif kind == "longer":
            path.write_bytes(content + data.draw(st.binary(min_size=1, max_size=3)))
        elif kind == "other":
            path.write_bytes(self.written[data.draw(st.sampled_from(sorted(self.written)))])
        elif kind == "link":
            (self.place / "kept").write_bytes(content)
            path.symlink_to(self.place / "kept")
        elif kind == "folder":
            path.mkdir()

    @precondition(lambda self: not self.sound())
    @rule()
    def mend(self) -> None:
        for name, content in self.written.items():
            path = self.root / name
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
            path.write_bytes(content)

    @rule(name=st.sampled_from([".tally.json.ab1.tmp", ".step-0.json.x.tmp", "lock"]))
    def leave_behind(self, name: str) -> None:
        (self.root / name).write_bytes(b"half")

    def read_all(self) -> list[Step]:
        """Read a store as its users do: the head, each record, and each part against its record."""
        if head_of(self.root, KIND, Head) is None:
            raise InputError(f"{self.root / 'tally.json'}")
        found: list[Step] = []
        while (record := read_record(self.root / f"step-{len(found)}.json", Step, "step file", "go on")) is not None:
            before = digest_of(json.loads(record_text(found[-1]))) if found else None
            if (record.number, record.before) != (len(found), before):
                raise InputError(f"step-{len(found)}.json: belongs elsewhere")
            for place, entry in enumerate(record.parts):
                check_data(self.root / f"step-{len(found)}" / f"part-{place}", entry, "part", "go on")
            found.append(record)
        return found

    @invariant()
    def what_is_read_is_what_was_written_or_is_named(self) -> None:
        if not hasattr(self, "root"):
            return
        wrong = [
            name
            for name, content in self.written.items()
            if (self.root / name).is_symlink()
            or not (self.root / name).is_file()
            or (self.root / name).read_bytes() != content
        ]
        found, named = self.steps, None
        try:
            found = self.read_all()
        except InputError as error:
            named = str(error)
        if named is not None:
            assert any(Path(name).name in named for name in wrong), (named, wrong)
        else:
            # Without the record of a step the store is a shorter one.
            assert found == self.steps[: len(found)]
            missing = [name for name in wrong if not (self.root / name).exists()]
            assert len(found) == len(self.steps) or f"step-{len(found)}.json" in missing
            later = {name for name in wrong if int(name.split("-")[1][0]) >= len(found)}
            assert set(wrong) <= later


TestStores = Stores.TestCase
TestStores.settings = settings(max_examples=examples(15, 2 * MORE), stateful_step_count=15)


def test_a_claimed_folder_is_swept_and_begun_once(tmp_path: Path) -> None:
    root = tmp_path / "new" / "store"
    root.mkdir(parents=True)
    for left in ("lock", ".tally.json.x1.tmp"):
        (root / left).write_bytes(b"half")
    with claim(root, KIND, HEAD) as head:
        assert head == HEAD
        with pytest.raises(InputError, match="another program"), claim(root, KIND, HEAD):
            pass
    assert sorted(path.name for path in root.iterdir()) in (["lock", "tally.json"], ["tally.json"])
    with pytest.raises(StoreError, match="another tally"), claim(root, KIND, Head(game=digest_of(2))):
        pass


@pytest.mark.parametrize("name", ["notes.txt", ".hidden"])
def test_somebodys_own_folder_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(StoreError, match="is not empty, but has no tally"), claim(tmp_path, KIND, HEAD):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_versions_and_kinds(tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    write_record(path, step(0, None, ()))
    sealed = json.loads(path.read_text())
    for version, error in ((2, TooOldError), (4, TooNewError), ("3", DamagedError)):
        path.write_text(json.dumps({**sealed, "version": version}))
        with pytest.raises(error):
            read_record(path, Step, "step file", "go on")
    write_record(path, HEAD)
    with pytest.raises(StoreError, match="another kind"):
        read_record(path, Step, "step file", "go on")
    write_record(path, step(0, None, (DataFile(bytes=0, sha256=GAME),) * 10))
    with pytest.raises(DamagedError, match="too many parts"):
        read_record(path, Step, "step file", "go on")


def test_a_record_forged_with_other_types_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    for change in ({"number": -1}, {"number": "0"}, {"more": 1}, {"share": None}, {"parts": [{}]}, {"game": "x"}):
        body = {"content": {**step(0, None, ()).model_dump(mode="json"), **change}, "format": "test step", "version": 3}
        path.write_text(json.dumps({**body, "sha256": digest_of(body)}, indent=1, sort_keys=True) + "\n")
        with pytest.raises(DamagedError):
            read_record(path, Step, "step file", "go on")


def test_a_record_of_a_group_is_its_folders_zarr_json(tmp_path: Path) -> None:
    record = Grouped(names={"a": 1})
    write_record(tmp_path / "zarr.json", record)
    assert json.loads((tmp_path / "zarr.json").read_text())["node_type"] == "group"
    assert read_record(tmp_path / "zarr.json", Grouped, "group file", "make it again") == record
    write_record(tmp_path / "zarr.json", HEAD)
    with pytest.raises(DamagedError):
        read_record(tmp_path / "zarr.json", Grouped, "group file", "make it again")


@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_a_killed_writer_leaves_the_record_before_or_the_one_after(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from tests.tablut.test_store import step, GAME\n"
        "from tablut.work.sealed_records import write_record\n"
        "print('ready', flush=True)\n"
        "for number in range(10**9): write_record(Path(sys.argv[1]), step(number, GAME, ()))\n"
    )
    path, root = tmp_path / "step.json", Path(__file__).resolve().parents[2]
    with subprocess.Popen([sys.executable, "-c", script, str(path), str(root)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while not path.exists():
            pass
        process.kill()
    assert read_record(path, Step, "step file", "go on") is not None


# -- files from outside are bounded; files of ours are whole, locked and swept -----------


def test_a_longer_file_than_allowed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * 11)
    assert read_bytes(path, "file", 11) == b"x" * 11
    with pytest.raises(InputError, match="10 bytes"):
        read_bytes(path, "file", 10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(InputError):
            read_bytes(path, "file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_that_the_user_names_is_read_within_the_limit(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert read_bytes(pipe, "file", pipes=True) == b""  # nobody writes to it
    for most in (100_000, 99_999):
        with ThreadPoolExecutor() as pool:
            written = pool.submit(pipe.write_bytes, b"x" * 100_000)
            with pipe.open("rb") as reader:  # so that the writer goes on while the pipe is opened again
                if most == 100_000:
                    assert read_bytes(pipe, "file", most, pipes=True) == b"x" * most
                else:
                    with pytest.raises(InputError):
                        read_bytes(pipe, "file", most, pipes=True)
                reader.read()
            written.result()
    with pytest.raises(InputError):
        read_bytes(Path("/dev/zero"), "file", pipes=True)


@pytest.mark.parametrize("parts", [[], [b""], [b"a", b"", b"bc"], [bytes(1 << 20), b"end"]])
def test_a_file_in_parts_is_the_file_as_a_whole(tmp_path: Path, parts: list[bytes]) -> None:
    write_bytes(tmp_path / "parts", parts)
    write_bytes(tmp_path / "whole", b"".join(parts))
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes() == b"".join(parts)


def test_text_of_other_systems_reads_alike(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffone\r\ntwo\rthree\n".encode())
    assert read_text(path, "file") == "one\ntwo\nthree\n"
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_text(path, "file")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc", "a\\b", "a\0", "a\n", ".hidden", "x" * 300])
def test_a_name_from_a_file_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        child(tmp_path, name, "ply")


def test_a_link_in_a_store_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(InputError, match="link"):
        child(tmp_path, "link", "ply")


def test_a_full_disk_is_the_machines_fault_and_a_folder_the_users(tmp_path: Path) -> None:
    if Path("/dev/full").exists():
        with pytest.raises(MachineError, match="No space left"):
            write_bytes(Path("/dev/full"), b"x")
    with pytest.raises(OutputError, match="directory") as caught:
        write_bytes(tmp_path, b"x")
    assert caught.value.exit_code == 2


def test_only_temporaries_are_swept(tmp_path: Path) -> None:
    for name in (".census.json.ab_12x.tmp", "census.json", ".hidden", "notes.tmp"):
        (tmp_path / name).touch()
    remove_temporaries(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "census.json", "notes.tmp"]


def test_a_file_is_reserved_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "scratch"
    reserve(path, 12_345)
    assert path.read_bytes() == bytes(12_345)
    with pytest.raises(OutputError, match="scratch"):
        reserve(path, 1 << 60)
    assert not path.exists()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with lock_folder(tmp_path, "store"), pytest.raises(InputError, match="another program"), lock_folder(tmp_path, "x"):
        pass
    with lock_folder(tmp_path, "store"):
        pass


def test_what_is_checked_beforehand_is_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in (".", "file/x", "file/a/x", "x", "new/folder/x"):
        said = []
        for work in (check_output, partial(write_text, content="text")):
            try:
                work(tmp_path / name)
                said.append("")
            except OutputError as error:
                said.append(str(error))
        assert said[0] == said[1], name
