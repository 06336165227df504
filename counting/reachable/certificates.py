"""Certificates for samples: for each sample, a game that reaches it or a reason why it is unreachable, as JSON lines.

The first line is a header with the game, the sample range and the totals. A file is compressed if its name ends in
``.gz``. Its contents are not trusted: `counting.reachable.certificate_checker` checks them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablut.errors import InputError, fault_of
from tablut.work.files import FileKind, beginning, excerpt, read_lines, write_bytes
from tablut.work.sealed_records import fields_of, read_model

SampledSpace = Literal["undecided", "decided"]
"""The sampled space: undecided positions with the side to move, or final placements with the kind of ending."""

FORMAT: Final = "tablut-reachability"
VERSION: Final = 1
CERTIFICATES: Final = FileKind("a certificate file", beginning(rb'\s*\{\s*"format":\s*"tablut-reachability"'))

_MOST_LINE: Final = 1 << 14
_MOST_DIGITS: Final = len(str(2 * 361 * 3**361))
"""Number of digits that is enough for every position number on a board of 19×19."""
_MOST_SAMPLES: Final = 1 << 40

_CLAIMS: Final = ("game", "locked", "pocket", "lemma", "tree", "unknown")

Model = TypeVar("Model", bound=BaseModel)
Lemma = Literal["material", "camp", "immobile", "last_move"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Header(_Strict):
    """The first line of a certificate file."""

    format: Literal["tablut-reachability"] = FORMAT
    version: int
    variant: str = Field(max_length=4096)
    digest: str = Field(max_length=64)
    space: SampledSpace = "undecided"
    generator: Literal["Philox4x64-10"]
    seed: Annotated[int, Field(ge=0, lt=1 << 64)]
    first: Annotated[int, Field(ge=0, le=_MOST_SAMPLES)]
    count: Annotated[int, Field(ge=0, le=_MOST_SAMPLES)]
    reachable: Annotated[int, Field(ge=0)]
    unreachable: Annotated[int, Field(ge=0)]
    unknown: Annotated[int, Field(ge=0)]
    interval95: Annotated[list[float], Field(min_length=2, max_length=2)]
    interval99: Annotated[list[float], Field(min_length=2, max_length=2)]


class PositionCertificate(_Strict):
    """The certificate for one sample: its index, its position number, and one claim."""

    i: Annotated[int, Field(ge=0)]
    n: str = Field(max_length=_MOST_DIGITS, pattern="^[0-9]+$")
    game: str | None = Field(default=None, max_length=_MOST_LINE)
    locked: str | None = Field(default=None, max_length=1024)
    pocket: str | None = Field(default=None, max_length=1024)
    lemma: Lemma | None = None
    tree: Annotated[int, Field(ge=1)] | None = None
    unknown: Literal[True] | None = None

    def claims(self) -> list[str]:
        """Return the claim names. A valid certificate makes exactly one claim."""
        return [name for name in _CLAIMS if getattr(self, name) is not None]

    def line(self) -> str:
        """Return the certificate as a line for a file."""
        return _line(self)


def _line(model: BaseModel) -> str:
    fields = {name: value for name, value in fields_of(model).items() if value is not None}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def lines_digest(certificates: Iterable[PositionCertificate]) -> str:
    """Return the SHA-256 of the certificate lines."""
    return hashlib.sha256("\n".join(certificate.line() for certificate in certificates).encode()).hexdigest()


def encode_moves(moves: Iterable[tuple[int, int]], size: int) -> str:
    """Return moves, given as pairs of cells (origin, target), as Base64 text.

    Each cell takes one byte, or two bytes (the low one first) on boards of ``size`` rows that have more than 256 cells.
    """
    return b64encode(np.array([*moves], dtype=_cell_type(size)).tobytes()).decode()


def decode_moves(text: str, size: int) -> list[tuple[int, int]]:
    """Return the moves that a Base64 text encodes. This is the inverse of `encode_moves`."""
    content, kind = b64decode(text, validate=True), _cell_type(size)
    if len(content) % (2 * kind.itemsize):
        raise ValueError("the last move is incomplete")
    cells = np.frombuffer(content, dtype=kind).tolist()
    return list(zip(cells[::2], cells[1::2], strict=True))


def _cell_type(size: int) -> np.dtype[Any]:
    return np.dtype("u1" if size * size <= 256 else "<u2")


def write_file(path: Path, header: Header, certificates: Iterable[PositionCertificate]) -> int:
    """Write a certificate file, and return its size in bytes."""
    lines = [_line(header), *(certificate.line() for certificate in certificates)]
    content = ("\n".join(lines) + "\n").encode()
    if path.name.endswith(".gz"):
        # Write no time stamp, so that the same samples always produce the same bytes.
        content = gzip.compress(content, mtime=0)
    write_bytes(path, content, "choose another name with `certificates`", kind=CERTIFICATES)
    return len(content)


def read_file(path: Path) -> tuple[Header, Iterator[tuple[int, PositionCertificate]]]:
    """Read a certificate file. Return its header, and an iterator over line numbers and certificates."""
    subject = f"certificate file {excerpt(str(path))}"
    lines = _lines(path, subject)
    _, first = next(lines, (1, ""))
    if not first:
        raise InputError("is empty", subject=subject)
    try:
        record = json.loads(first)
    except (ValueError, RecursionError) as error:
        raise InputError("line 1: is not valid JSON", subject=subject) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"line 1: is not a header of the format {FORMAT}", subject=subject)
    if (version := record.get("version")) != VERSION:
        raise InputError(f"has format version {version!r}, but this program reads version {VERSION}", subject=subject)

    def validated(model: type[Model], number: int, line: str) -> Model:
        try:
            return read_model(model, line)
        except ValidationError as error:
            raise InputError(f"line {number}: {fault_of(error.errors())}", subject=subject) from error

    header = validated(Header, 1, first)
    return header, ((number, validated(PositionCertificate, number, line)) for number, line in lines)


def _lines(path: Path, subject: str) -> Iterator[tuple[int, str]]:
    """Yield a file's lines and their numbers. Raise `InputError` if a line is too long or cut short."""
    for number, line in enumerate(read_lines(path, subject, _MOST_LINE), 1):
        if len(line) > _MOST_LINE:
            raise InputError(f"line {number}: has more than {_MOST_LINE:,} characters", subject=subject)
        if not line.endswith("\n"):
            raise InputError(f"line {number}: is cut short", subject=subject)
        yield number, line
