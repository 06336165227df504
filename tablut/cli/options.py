"""Options and arguments that many commands share, and the functions that read their values."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tablut.errors import InputError, input_failure
from tablut.formats import reading
from tablut.position import Position, Side
from tablut.records.game import GameRecord, NoRulesError
from tablut.records.kinds import read_record, record_text
from tablut.status import check_playable, position_status, reasons
from tablut.variants import Variant, as_variant
from tablut.work import files
from tablut.work.files import excerpt
from tablut.work.machine import MOST_THREADS

_MATERIAL = re.compile(r"([0-9]{1,3})v([0-9]{1,3})", re.ASCII)


def variant_names_from(incomplete: str) -> list[str]:
    """Return the names of shipped rule sets that begin with a text, for ``autocompletion=``."""
    from tablut.variants import variant_names

    return [name for name in variant_names() if name.startswith(incomplete)]


def variant_option(text: str) -> Any:
    """Return the option ``--variant`` with the given help text, for commands without a default rule set."""
    return typer.Option("--variant", "-v", metavar="NAME|FILE", help=text, autocompletion=variant_names_from)


def seed_option(text: str) -> Any:
    """Return the option ``--seed`` with a help text."""
    return typer.Option("--seed", min=0, max=(1 << 63) - 1, help=text)


def threads_option(text: str) -> Any:
    """Return the option ``--threads`` with a help text."""
    return typer.Option("--threads", min=1, max=MOST_THREADS, help=text)


def material_option(text: str) -> Any:
    """Return the option ``--material``, which may be repeated; `read_materials` parses its values."""
    return typer.Option("--material", metavar="AvD", help=text, show_default=False)


VariantOption = Annotated[str, variant_option("Name of a shipped rule set, or a TOML file.")]
ResumeOption = Annotated[bool, typer.Option("--resume", hidden=True)]
"""Option without effect, kept because published commands contain it. Work in a folder is always resumed."""
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Running Dask cluster whose workers can access DIR."),
]
StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help="Folder of the tablebase.", show_default=False)]
PositionOption = Annotated[
    str | None,
    typer.Option(
        "--position",
        "-p",
        metavar="TEXT|FILE|-",
        help="Position as text (one line, a grid or another program's format), file, or - for standard input. "
        "[default: the start]",
    ),
]

_POSITION_BYTES: Final = 64 << 10
"""Maximum size of a position file in bytes. The JSON of a board of side 11 needs about 2,000 bytes."""


def warn(message: str) -> None:
    """Print a one-line warning about the answer on standard error."""
    typer.echo("tablut: warning: " + " ".join(message.split()), err=True)


def read_bytes(source: str, what: str, most: int = files.TEXT_BYTES) -> bytes:
    """Return the content of a file, or all of standard input for ``-``."""
    if source != "-":
        return files.read_bytes(Path(source), what, most)
    stream = getattr(sys.stdin, "buffer", None)
    try:
        content = sys.stdin.read(most + 1).encode() if stream is None else stream.read(most + 1)
    except OSError as error:
        raise input_failure(f"{what} '-'", error) from error
    if len(content) > most:
        raise InputError(f"is larger than {most:,} bytes, the maximum", subject=f"{what} '-'")
    return bytes(content)


def read_text(source: str, what: str, most: int = files.TEXT_BYTES) -> str:
    """Return the text of a UTF-8 file, or all of standard input for ``-``."""
    if source != "-":
        return files.read_text(Path(source), what, most)
    try:
        text = read_bytes(source, what, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", subject=f"{what} '-'") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_game_record(text: str, variant: str | None, origin: str) -> GameRecord:
    """Parse a game record; ``variant``, the value of ``--variant``, is required if the record names no rules."""
    try:
        record = read_record(text, variant, origin=origin)
        if record.variant is None:
            raise NoRulesError(f"record {excerpt(origin)}: does not name a rule set")
    except NoRulesError as error:
        raise InputError(str(error), remedy="add the rule set, such as -v ashton") from error
    return record


def save_record(record: GameRecord, target: Path, source: str | None = None) -> None:
    """Write a record to a file in the format given by its suffix. Warn about contents that the format loses."""
    text, lost = record_text(record, target, None if source == "-" else source)
    files.write_text(target, text)
    if lost:
        warn(f"{target}: cannot store {'; '.join(lost[:9])}{'; ...' * (len(lost) > 9)}")


def position_text(source: str) -> str:
    """Return the text of a position from an option: the value itself, a file's content, or standard input for ``-``."""
    if source != "-" and not _exists(source):
        if reading.looks_like_position(source):
            return source
        raise InputError(
            "is neither a position nor a file; a position has rows from the top and the side to "
            "move, such as '2b2/2b2/bbKbb/2b2/2b2 w'",
            subject=f"position {excerpt(source)}",
            remedy="leave it out to use the start",
        )
    text = read_text(source, "position file", _POSITION_BYTES)
    if not text.strip():
        raise InputError("is empty", subject=f"position file {excerpt(source)}")
    return text


def read_materials(texts: Sequence[str] | None) -> tuple[tuple[int, int], ...]:
    """Parse the values of ``--material``, without duplicates."""
    materials = []
    for text in texts or ():
        found = _MATERIAL.fullmatch(text)
        if found is None:
            raise InputError("expected attackers and defenders, such as 2v1", subject=f"--material {excerpt(text)}")
        materials.append((int(found[1]), int(found[2])))
    return tuple(dict.fromkeys(materials))


def check_folder(folder: Path, option: str) -> None:
    """Raise `InputError` if an output folder exists as a file. This is called before any work is done."""
    if not next(place for place in (folder, *folder.absolute().parents) if place.exists()).is_dir():
        raise InputError(
            "is not a folder", subject=f"{option} {excerpt(str(folder))}", remedy="choose a new or existing folder"
        )


def read_position(
    source: str | None, variant: Variant | str, *, side: str | None = None, judged: bool = True
) -> Position | None:
    """Return the position given by an option, or None for the start.

    With ``judged`` the position must be playable, and the user is warned if it is impossible.
    """
    if side not in (None, "w", "b"):
        raise InputError("expected w or b", subject=f"side {excerpt(side or '')}")
    if source is None:
        return None
    to_move: Side | None = "w" if side == "w" else "b" if side == "b" else None
    rules = as_variant(variant)
    position = reading.read_position(position_text(source), rules.size, to_move)
    if judged:
        check_playable(rules, position)
        warn_if_impossible(rules, position)
    return position


def warn_if_impossible(variant: Variant, position: Position, where: str | None = None) -> None:
    """Warn on standard error if a position is impossible, with the reasons; ``where`` replaces the position's text."""
    if status := position_status(variant, position):
        shown = f"position '{position}'" if where is None else where
        warn(f"{shown}: is impossible in {variant.name}: {reasons(status)}")


def _exists(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except (OSError, ValueError):
        # The name is too long for a file, or contains an invalid character.
        return False
