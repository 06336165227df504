"""Records of a store: sealed JSON files with the store's metadata and the digests of its data files.

A record has exactly one valid text, which includes its own SHA-256, so any change to it is detected. For each data
file, it contains the length, a digest, and the work that the file belongs to, so damaged, swapped and left-over files
are detected, too. The seal does not protect against tampering.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, ValidationError
from pydantic_core import PydanticCustomError

from tablut.errors import InputError, fault_of
from tablut.work.files import OWN, FileKind, brief, excerpt, read_bytes, write_text

_MOST_BYTES: Final = 256 << 20
_STEP: Final = 1 << 20

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class StoreError(InputError):
    """Raised for a store that cannot be used in its current state. The message names the file or the folder."""


class DamagedError(StoreError):
    """Raised if a file in a store is missing or has changed since it was written.

    Attributes
    ----------
    path : Path or None
        Path of the file, if continuing the work writes the file again; otherwise None.
    """

    path: Path | None = None

    def at(self, path: Path) -> Self:
        """Return the error itself, after setting the ``path`` of the damaged file."""
        self.path = path
        return self


class TooOldError(StoreError):
    """Raised for a store with a format version that this program can no longer read."""


class TooNewError(StoreError):
    """Raised for a store with a format version that only later versions of this program can read."""


def check_version(shown: str, version: int, own: int) -> None:
    """Raise an error if a file or a record has another format version than the one that this program reads."""
    if version != own:
        kind, remedy = (TooNewError, "update it") if version > own else (TooOldError, "make it again")
        raise kind(f"format version {version}, this program reads {own}", subject=shown, remedy=remedy)


def plain_of(value: Any) -> Any:
    """Convert a value to plain JSON values. Digests of pydantic models are computed from this form.

    pydantic's own serialisation is not used, because it has changed between versions, which would change the digests.
    """
    if isinstance(value, BaseModel):
        return value.plain() if hasattr(value, "plain") else fields_of(value)
    if isinstance(value, dict):
        return {str(key): plain_of(item) for key, item in value.items()}
    return [plain_of(item) for item in value] if isinstance(value, (list, tuple)) else value


def fields_of(model: BaseModel, without: Container[str] = ()) -> dict[str, object]:
    """Return the fields of a model as JSON values, keyed by their names in files."""
    fields = {name: field.alias or name for name, field in type(model).model_fields.items() if name not in without}
    found = {}
    for name, written in fields.items():
        field, value = type(model).model_fields[name], plain_of(getattr(model, name))
        exact = any(isinstance(item, PlainSerializer) for item in field.metadata) or _has_exact(field.annotation)
        found[written] = _as_text(value) if exact else value
    return found


def _has_exact(annotation: Any) -> bool:
    """Return whether a type contains integers that are stored in JSON as text because they may exceed 2^53."""
    return any(isinstance(part, PlainSerializer) or _has_exact(part) for part in get_args(annotation))


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_text(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


# -- JSON ----------------------------------------------------------------------------------

Read = TypeVar("Read", bound=BaseModel)


class TwiceError(json.JSONDecodeError):
    """Raised for a JSON object that contains a field twice."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    if len(found := dict(pairs)) < len(names):
        twice = next(name for name in found if names.count(name) > 1)
        raise TwiceError(f"field {excerpt(twice)} is given twice", "", 0)
    return found


def read_json(text: str | bytes) -> Any:
    """Return the value that a JSON text contains. Raise `TwiceError` if an object has the same field twice."""
    return json.loads(text, object_pairs_hook=_object)


def read_model(model: type[Read], text: str | bytes) -> Read:
    """Validate a JSON text strictly against a model: no field may occur twice, and true is not accepted as a number."""
    found = model.model_validate_json(text, strict=True)
    try:
        read_json(text)
    except TwiceError as error:
        fault = PydanticCustomError("value_error", "{said}", {"said": error.msg})
        raise ValidationError.from_exception_data(model.__name__, [{"type": fault, "input": None}]) from error
    return found


def digest_of(content: Any) -> str:
    """Return the SHA-256 of JSON content or a model in hexadecimal; key order does not matter."""
    text = json.dumps(plain_of(content), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Part(BaseModel):
    """Base class of records and their parts. Fields must not be missing, unknown, or of the wrong type."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


@brief
class Record(Part):
    """Base class of records. If ``GROUP`` is true, a record is stored as the attributes of a Zarr group."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int] = 1
    GROUP: ClassVar[bool] = False

    def fault(self) -> str | None:
        """Return a description of an internal contradiction in the record, or None if there is none."""
        return None


class DataFile(Part):
    """Length and SHA-256 of a data file, for use in a record."""

    bytes: Count
    sha256: Digest


Model = TypeVar("Model", bound=Record)


def record_text(record: Record) -> str:
    """Return a record as the text of its file. Each record has exactly one valid file text."""
    body = {"content": plain_of(record), "format": record.FORMAT, "version": record.VERSION}
    return _sealed(body, group=record.GROUP)


def sealed_format(path: Path) -> str:
    """Check a JSON file's seal, and return the format of its record, or an empty string if it has no record."""
    try:
        text = read_bytes(path, "file", _MOST_BYTES).decode()
        sealed = read_json(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError("is damaged: it is not valid JSON", subject=f"file {str(path)!r}") from error
    try:
        group = "node_type" in sealed
        sealed = sealed["attributes"]["tablut"] if group else sealed
        body = {name: sealed[name] for name in ("content", "format", "version")}
    except (KeyError, TypeError):
        return ""
    if text != _sealed(body, group=group):
        raise DamagedError("is damaged: its content does not match its digest", subject=f"file {str(path)!r}")
    return str(body["format"])


def _sealed(body: dict[str, object], *, group: bool) -> str:
    sealed: dict[str, object] = {**body, "sha256": digest_of(body)}
    if group:
        sealed = {"attributes": {"tablut": sealed}, "node_type": "group", "zarr_format": 3}
    return json.dumps(sealed, indent=1, sort_keys=True) + "\n"


def write_record(path: Path, record: Record, *, remedy: str = "", kind: FileKind = OWN) -> None:
    """Write a record atomically and flush it to the disk."""
    write_text(path, record_text(record), remedy, lasting=True, kind=kind)


def record_kind(model: type[Record]) -> FileKind:
    """Return the kind of the files that contain such a record."""
    return FileKind(f"a record of the format {model.FORMAT}", lambda path: sealed_format(path) == model.FORMAT)


def read_record(path: Path, model: type[Model], what: str, way_out: str) -> Model | None:
    """Read and check the record in a file. Return None if the file does not exist."""
    shown = f"{what} {str(path)!r}"
    if path.is_symlink():
        raise StoreError("is a link", subject=shown, remedy="replace it with the file itself")
    if not path.exists():
        return None
    try:
        content = read_bytes(path, what, _MOST_BYTES)
    except InputError as error:
        raise DamagedError(f"cannot be read: {error.problem}", subject=shown, remedy=way_out) from error
    try:
        text = content.decode()
        sealed = read_json(text)
        if model.GROUP:
            sealed = sealed["attributes"]["tablut"]
        body = {name: value for name, value in sealed.items() if name != "sha256"}
        found, version = sealed["format"], sealed["version"]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError("is damaged, or was not written by tablut", subject=shown, remedy=way_out) from error
    if found != model.FORMAT:
        raise StoreError(f"is another kind of record, {excerpt(str(found), 40)}", subject=shown, remedy=way_out)
    # This is checked before the seal, because another version may write a record in a different form.
    if isinstance(version, int):
        check_version(shown, version, model.VERSION)
    if text != _sealed(body, group=model.GROUP):
        raise DamagedError("is damaged: its content does not match its digest", subject=shown, remedy=way_out)
    try:
        record = model.model_validate_json(json.dumps(body["content"]))
        fault = record.fault()
    except ValidationError as error:
        fault = fault_of(error.errors())
    if fault is not None:
        raise DamagedError(f"is damaged: {fault}", subject=shown, remedy=way_out)
    return record


# -- files of data -------------------------------------------------------------------------


def data_file(path: Path) -> DataFile:
    """Return the length and digest of a data file, for its record."""
    digest, length = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_STEP):
            digest.update(piece)
            length += len(piece)
    return DataFile(bytes=length, sha256=digest.hexdigest())


def check_data(path: Path, expected: DataFile, what: str, way_out: str, *, content: bool = True) -> None:
    """Raise an error if a data file is missing, is a link, or does not have the expected length and digest."""
    shown = f"{what} {str(path)!r}"
    if path.is_symlink():
        raise StoreError("is a link", subject=shown, remedy="replace it with the file itself")
    if not path.is_file():
        raise DamagedError(f"is {'not a plain file' if path.exists() else 'missing'}", subject=shown, remedy=way_out)
    try:
        length = path.stat().st_size
        if length != expected.bytes:
            raise DamagedError(
                f"is damaged: has {length:,} bytes instead of {expected.bytes:,}", subject=shown, remedy=way_out
            )
        if content and data_file(path) != expected:
            raise DamagedError("is damaged: its content does not match its SHA-256", subject=shown, remedy=way_out)
    except OSError as error:
        raise StoreError(str(error.strerror), subject=shown, remedy=way_out) from error
