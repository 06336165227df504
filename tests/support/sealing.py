"""Parts that are forged: changed, and sealed again, so that only their meaning can give them away."""

import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tablut.work import parts


def reseal(path: Path, change: Callable[[dict[str, Any], bytearray], None]) -> None:
    """Change the header and the bytes of the sections of a part, and give it fitting digests."""
    content = path.read_bytes()
    magic, version, length, cpu, *_ = parts.TAIL.unpack(content[-parts.TAIL.size :])
    end = len(content) - parts.TAIL.size - length
    header, data = json.loads(content[end : end + length]), bytearray(content[:end])
    change(header, data)
    for section in header["sections"].values():
        for block in section["blocks"]:
            if block["sha256"] is not None:
                some = data[block["at"] : block["at"] + block["bytes"]]
                block["sha256"] = hashlib.sha256(some).hexdigest()
    text = json.dumps(header, separators=(",", ":")).encode()
    tail = parts.TAIL.pack(magic, version, len(text), cpu, hashlib.sha256(text).digest(), 0)[:-4]
    path.write_bytes(bytes(data) + text + tail + struct.pack("<I", zlib.crc32(tail)))


def place_of(header: dict[str, Any], name: str) -> slice:
    """Return where the only block of a section lies."""
    (block,) = header["sections"][name]["blocks"]
    return slice(block["at"], block["at"] + block["bytes"])
