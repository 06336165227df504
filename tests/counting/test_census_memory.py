"""Large reads and writes past the system's cache: the same bytes as by the usual way, wherever they begin and end."""

import errno
import fcntl
import os
from pathlib import Path

import numpy as np
import pytest

from tablut.work import direct as memory
from tablut.work.direct import DIRECT_BYTES, PAGE, Buffer, aligned, read_span, write_span


def content(count: int) -> np.ndarray:
    array = aligned(count)
    array[:] = np.random.default_rng(count).integers(0, 256, count, dtype=np.uint8)
    return array


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("count", [0, PAGE, DIRECT_BYTES, 5 * DIRECT_BYTES + 8])
def test_what_is_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: bool, count: int) -> None:
    if not direct:
        monkeypatch.setattr(memory, "_set_direct", lambda stream, direct: False)
    path, wanted = tmp_path / "file", content(count)
    with path.open("wb", buffering=0) as stream:
        write_span(stream, content(PAGE))
        write_span(stream, wanted)
        write_span(stream, content(7))
        if hasattr(os, "O_DIRECT"):
            assert not fcntl.fcntl(stream, fcntl.F_GETFL) & os.O_DIRECT
    assert path.read_bytes() == bytes(content(PAGE)) + bytes(wanted) + bytes(content(7))
    with path.open("rb", buffering=0) as stream:
        assert bytes(read_span(stream, PAGE, count, Buffer())) == bytes(wanted)
        for first in (1, 8, PAGE - 1, PAGE + 24):
            if count > first:
                found = read_span(stream, PAGE + first, count - first, Buffer())
                assert bytes(found) == bytes(wanted[first:])
                assert found.ctypes.data % PAGE == (PAGE + first) % PAGE
        with pytest.raises(EOFError):
            read_span(stream, PAGE, count + 8, Buffer())


def test_memory_between_pages_takes_the_usual_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(memory, "_set_direct")
    wanted = content(DIRECT_BYTES + 8)[8:]
    with (tmp_path / "file").open("wb", buffering=0) as stream:
        write_span(stream, wanted)
    assert (tmp_path / "file").read_bytes() == bytes(wanted)


class Refusing:
    """A file whose disk has larger blocks: whatever is long is refused, or taken in part."""

    def __init__(self, stream: object, takes: int) -> None:
        self.stream, self.takes = stream, takes

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)

    def _checked(self, buffer: memoryview) -> memoryview:
        if self.takes == 0:
            self.takes = -1
            raise OSError(errno.EINVAL, "Invalid argument")
        if self.takes > 0:
            buffer, self.takes = buffer[: self.takes], 0
        return buffer

    def write(self, buffer: memoryview) -> int:
        return self.stream.write(self._checked(buffer))  # type: ignore[attr-defined,no-any-return]

    def readinto(self, buffer: memoryview) -> int:
        return self.stream.readinto(self._checked(buffer))  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("takes", [0, 24])
def test_disks_that_want_other_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: int) -> None:
    monkeypatch.setattr(memory, "_set_direct", lambda stream, direct: True)
    path, wanted = tmp_path / "file", content(2 * DIRECT_BYTES + 5)
    with path.open("wb", buffering=0) as stream:
        write_span(Refusing(stream, takes), wanted)  # type: ignore[arg-type]
    assert path.read_bytes() == bytes(wanted)
    with path.open("rb", buffering=0) as stream:
        assert bytes(read_span(Refusing(stream, takes), 8, len(wanted) - 8, Buffer())) == bytes(wanted[8:])
