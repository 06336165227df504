"""Files from outside are bounded; files of ours are whole, locked and swept."""

import os
from functools import partial
from pathlib import Path

import pytest

from tablut.errors import InputError, MachineError, OutputError
from tablut.store.files import (
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


def test_a_longer_file_than_allowed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * 11)
    assert read_bytes(path, "file", 11) == b"x" * 11
    with pytest.raises(InputError, match="more than 10 bytes"):
        read_bytes(path, "file", 10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(InputError):
            read_bytes(path, "file")


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
