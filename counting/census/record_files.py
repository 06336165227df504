"""Records as files: JSON that is read with a bound on its size and checked by itself, and as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from counting.census.records import FORMAT_VERSION, Model, Sealed
from tablut.errors import InputError
from tablut.store.files import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

_RECORD_BYTES: Final = 4 << 20
"""Most bytes of a record: 4096 parts, and the material of an 11x11 board."""


class _Format(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    format: int


Record = TypeVar("Record", bound=Sealed)


def read_record(path: Path, model: type[Record], hint: str) -> Record | None:
    """Return what a JSON file of a store says, checked by itself; None if there is no such file."""
    if not path.exists():
        return None
    try:
        content = read_bytes(path, "census file", _RECORD_BYTES)
    except InputError as error:
        reason = str(error).rpartition(": ")[2]
        raise InputError(f"census file {str(path)!r} cannot be read: {reason}; {hint}") from error
    try:
        version = _Format.model_validate_json(content).format
        if version != FORMAT_VERSION:
            raise InputError(
                f"census file {str(path)!r}: format version {version}, this program reads {FORMAT_VERSION}; "
                "count again into another folder"
            )
        found = model.model_validate_json(content)
        fault = found.fault()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))[:80]
        fault = f"{where}: {first['msg']}" if where else first["msg"]
    if fault is not None:
        raise InputError(f"census file {str(path)!r} is damaged: {fault}; {hint}")
    return found


def dump(record: Model) -> bytes:
    """Return a record as it is written."""
    return record.model_dump_json(indent=2).encode() + b"\n"
