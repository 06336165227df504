"""Records: what a store says of itself, as sealed JSON, and the digests by which a record binds files of data.

There are two layers and no more. A record has one possible text, which holds its SHA-256: whatever is changed in it
is found. Every file of data has its length and its SHA-256 (or a digest that its room derives from it) in a record,
and the record says what it belongs to. So a file that was damaged, cut short, swapped for that of another place, or
left by another run is told apart, and its name is never read from a file.

A seal finds damage and mix-ups, not malice: who can write to a folder can seal what he likes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, ValidationError
from pydantic_core import PydanticCustomError

from tablut.errors import InputError, fault_of
from tablut.store.files import brief, excerpt, read_bytes, write_text

_MOST_BYTES: Final = 256 << 20
_STEP: Final = 1 << 20

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class StoreError(InputError):
    """A store that cannot be used as it is; the message names the file or the folder."""


class DamagedError(StoreError):
    """A file of a store that is missing, or is not as it was written."""


class TooOldError(StoreError):
    """A format version that this program no longer reads."""


class TooNewError(StoreError):
    """A format version that only a later program reads."""


def plain_of(value: Any) -> Any:
    """Return a value as JSON values: the only form in which models are sealed or digested.

    pydantic's own form of a model has changed between its versions, and a digest may not.
    """
    if isinstance(value, BaseModel):
        return value.plain() if hasattr(value, "plain") else fields_of(value)
    if isinstance(value, dict):
        return {str(key): plain_of(item) for key, item in value.items()}
    return [plain_of(item) for item in value] if isinstance(value, (list, tuple)) else value


def fields_of(model: BaseModel, without: Container[str] = ()) -> dict[str, Any]:
    """Return the fields of a model as JSON values, under the names that they have in files."""
    fields = {name: field.alias or name for name, field in type(model).model_fields.items() if name not in without}
    found = {}
    for name, written in fields.items():
        field, value = type(model).model_fields[name], plain_of(getattr(model, name))
        exact = any(isinstance(item, PlainSerializer) for item in field.metadata) or _has_exact(field.annotation)
        found[written] = _as_text(value) if exact else value
    return found


def _has_exact(annotation: Any) -> bool:
    """Return whether a type holds integers that JSON has as text, because they may exceed 2^53."""
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
    """An object of JSON that has a field twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(found := dict(pairs)) < len(names):
        twice = next(name for name in found if names.count(name) > 1)
        raise TwiceError(f"field {excerpt(twice)} is given twice", "", 0)
    return found


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; refuse a field that is given twice, of which Python would keep the last value.

    All JSON from outside is read by this function or by `read_model`.
    """
    return json.loads(text, object_pairs_hook=_object)


def read_model(model: type[Read], text: str | bytes) -> Read:
    """Return what a JSON text holds, by a model: no field is given twice, and true is no number."""
    found = model.model_validate_json(text, strict=True)
    try:
        read_json(text)
    except TwiceError as error:
        fault = PydanticCustomError("value_error", "{said}", {"said": error.msg})
        raise ValidationError.from_exception_data(model.__name__, [{"type": fault, "input": None}]) from error
    return found


def digest_of(content: Any) -> str:
    """Return the SHA-256 of JSON content or of a model in hexadecimal, whatever the order of its keys."""
    text = json.dumps(plain_of(content), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Part(BaseModel):
    """The base of what records hold: no field is missing, of another type, or unknown."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


@brief
class Record(Part):
    """The base of records.

    A record with ``GROUP`` is kept as the attributes of a Zarr group, so that its folder is one.
    """

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int] = 1
    GROUP: ClassVar[bool] = False

    def fault(self) -> str | None:
        """Return what is wrong with the record by itself, or None."""
        return None


class DataFile(Part):
    """A file of data as a record names it: its length and the SHA-256 of its content."""

    bytes: Count
    sha256: Digest


Model = TypeVar("Model", bound=Record)


def record_text(record: Record) -> str:
    """Return the one text that a record has as a file."""
    return _text(type(record), {"content": plain_of(record), "format": record.FORMAT, "version": record.VERSION})


def _text(model: type[Record], body: dict[str, Any]) -> str:
    sealed: dict[str, Any] = {**body, "sha256": digest_of(body)}
    if model.GROUP:
        sealed = {"attributes": {"tablut": sealed}, "node_type": "group", "zarr_format": 3}
    return json.dumps(sealed, indent=1, sort_keys=True) + "\n"


def write_record(path: Path, record: Record, *, remedy: str = "") -> None:
    """Write a record, whole or not at all, and have it on the disk."""
    write_text(path, record_text(record), remedy, lasting=True)


def read_record(path: Path, model: type[Model], what: str, way_out: str) -> Model | None:
    """Return the record that a file holds, everything about it checked; None if there is no such file.

    ``what`` is how errors call the file, ``way_out`` what they say is to be done.
    """
    shown = f"{what} {str(path)!r}"
    if path.is_symlink():
        raise StoreError(f"{shown}: is a link; a store holds its files itself")
    if not path.exists():
        return None
    try:
        content = read_bytes(path, what, _MOST_BYTES)
    except InputError as error:
        raise DamagedError(f"{shown}: cannot be read: {str(error).rpartition(': ')[2]}; {way_out}") from error
    try:
        text = content.decode()
        sealed = read_json(text)
        if model.GROUP:
            sealed = sealed["attributes"]["tablut"]
        body = {name: value for name, value in sealed.items() if name != "sha256"}
        found, version = sealed["format"], sealed["version"]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{shown}: is damaged, or no record of this program; {way_out}") from error
    if found != model.FORMAT:
        raise StoreError(f"{shown}: is a record of another kind, {excerpt(str(found), 40)}; {way_out}")
    # Another program may write another text around its version: that is read before the seal is compared.
    if isinstance(version, int) and version != model.VERSION:
        newer = version > model.VERSION
        says = f"{shown}: format version {version}, this program reads {model.VERSION}; "
        raise (TooNewError if newer else TooOldError)(says + ("update it" if newer else "make it again"))
    if text != _text(model, body):
        raise DamagedError(f"{shown}: is damaged: not what its digest says; {way_out}")
    try:
        record = model.model_validate_json(json.dumps(body["content"]))
        fault = record.fault()
    except ValidationError as error:
        fault = fault_of(error.errors())
    if fault is not None:
        raise DamagedError(f"{shown}: is damaged: {fault}; {way_out}")
    return record


# -- files of data -------------------------------------------------------------------------


def data_file(path: Path) -> DataFile:
    """Return what a record says of a file of data that has just been written."""
    digest, length = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_STEP):
            digest.update(piece)
            length += len(piece)
    return DataFile(bytes=length, sha256=digest.hexdigest())


def check_data(path: Path, expected: DataFile, what: str, way_out: str, *, content: bool = True) -> None:
    """Refuse a file of data that is missing, a link, of another length or, if all of it is read, of another digest."""
    shown = f"{what} {str(path)!r}"
    if path.is_symlink():
        raise StoreError(f"{shown}: is a link; a store holds its files itself")
    if not path.is_file():
        raise DamagedError(f"{shown}: is {'no ordinary file' if path.exists() else 'missing'}; {way_out}")
    try:
        length = path.stat().st_size
        if length != expected.bytes:
            raise DamagedError(f"{shown}: is damaged: has {length:,} bytes, not {expected.bytes:,}; {way_out}")
        if content and data_file(path) != expected:
            raise DamagedError(f"{shown}: is damaged: not its SHA-256; {way_out}")
    except OSError as error:
        raise StoreError(f"{shown}: {error.strerror}; {way_out}") from error
