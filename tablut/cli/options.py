"""Parameters that many commands share, so that they are the same everywhere."""

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
from tablut.running.machine import MOST_THREADS
from tablut.status import check_playable, position_status, reasons
from tablut.store import files
from tablut.store.files import excerpt
from tablut.variants import Variant, as_variant

_MATERIAL = re.compile(r"([0-9]{1,3})v([0-9]{1,3})", re.ASCII)


def variant_names_from(incomplete: str) -> list[str]:
    """Return the shipped rule sets whose names begin so, for ``autocompletion=``."""
    from tablut.variants import variant_names

    return [name for name in variant_names() if name.startswith(incomplete)]


def variant_option(text: str) -> Any:
    """Return the option ``--variant`` of a command whose default is not a rule set's name."""
    return typer.Option("--variant", "-v", metavar="NAME|FILE", help=text, autocompletion=variant_names_from)


def seed_option(text: str) -> Any:
    """Return the option ``--seed``."""
    return typer.Option("--seed", min=0, max=(1 << 63) - 1, help=text)


def threads_option(text: str) -> Any:
    """Return the option ``--threads``."""
    return typer.Option("--threads", min=1, max=MOST_THREADS, help=text)


def material_option(text: str) -> Any:
    """Return the option ``--material``, which may be repeated; `read_materials` reads what it names."""
    return typer.Option("--material", metavar="AvD", help=text, show_default=False)


VariantOption = Annotated[str, variant_option("A shipped rule set, or a TOML file.")]
ResumeOption = Annotated[bool, typer.Option("--resume", hidden=True)]
"""Not needed: work goes on by itself with what its folder has. Published commands name it."""
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="A running Dask cluster whose workers see DIR."),
]
StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help="The tablebase: its folder.", show_default=False)]
PositionOption = Annotated[
    str | None,
    typer.Option(
        "--position",
        "-p",
        metavar="TEXT|FILE|-",
        help="A position, one-line, a grid or another program's; a file, or - for standard input. [default: the start]",
    ),
]

_POSITION_BYTES: Final = 64 << 10
"""Most bytes of a file with a position; the longest form, JSON of a board of side 11, has about 2,000."""


def warn(message: str) -> None:
    """Say on standard error, in one line, what the user should know about the answer."""
    typer.echo("tablut: warning: " + " ".join(message.split()), err=True)


def read_bytes(source: str, what: str, most: int = files.TEXT_BYTES) -> bytes:
    """Return the content of a file, or of standard input for ``-``."""
    if source != "-":
        return files.read_bytes(Path(source), what, most)
    stream = getattr(sys.stdin, "buffer", None)
    try:
        content = sys.stdin.read(most + 1).encode() if stream is None else stream.read(most + 1)
    except OSError as error:
        raise input_failure(f"{what} '-': {error.strerror}", error) from error
    if len(content) > most:
        raise InputError(f"{what} '-': has more than {most:,} bytes, the most that is read")
    return bytes(content)


def read_text(source: str, what: str, most: int = files.TEXT_BYTES) -> str:
    """Return the text of a file in UTF-8, or of standard input for ``-``."""
    if source != "-":
        return files.read_text(Path(source), what, most)
    try:
        text = read_bytes(source, what, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} '-': not a UTF-8 text") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_game_record(text: str, variant: str | None, origin: str) -> GameRecord:
    """Return the game of a record, whose rules ``--variant`` gives where it names none."""
    try:
        record = read_record(text, variant, origin=origin)
        if record.variant is None:
            raise NoRulesError(f"record {excerpt(origin)}: names no rule set")
    except NoRulesError as error:
        raise InputError(f"{error}; give the rules with -v, such as -v ashton") from error
    return record


def save_record(record: GameRecord, target: Path, source: str | None = None) -> None:
    """Write a record to a file, in the format of its suffix, and warn of what the file does not keep."""
    text, lost = record_text(record, target, None if source == "-" else source)
    files.write_text(target, text)
    if lost:
        warn(f"{target}: does not keep: {'; '.join(lost[:9])}{'; ...' * (len(lost) > 9)}")


def position_text(source: str) -> str:
    """Return the text of a position that an option names: itself, a file's content, or standard input for ``-``."""
    if source != "-" and not _exists(source):
        if reading.looks_like_position(source):
            return source
        raise InputError(
            f"position {excerpt(source)}: is neither a position nor a file; a position has rows from the top and the "
            "side to move, such as '2b2/2b2/bbKbb/2b2/2b2 w'; without one the start is taken"
        )
    text = read_text(source, "position file", _POSITION_BYTES)
    if not text.strip():
        raise InputError(f"position file {excerpt(source)}: is empty")
    return text


def read_materials(texts: Sequence[str] | None) -> tuple[tuple[int, int], ...]:
    """Return the materials that ``--material`` names, each once."""
    materials = []
    for text in texts or ():
        found = _MATERIAL.fullmatch(text)
        if found is None:
            raise InputError(f"--material {excerpt(text)}: expected attackers and defenders, such as 2v1")
        materials.append((int(found[1]), int(found[2])))
    return tuple(dict.fromkeys(materials))


def check_folder(folder: Path, option: str) -> None:
    """Refuse a folder for output that is a file, before anything is written there."""
    if not next(place for place in (folder, *folder.absolute().parents) if place.exists()).is_dir():
        raise InputError(f"{option} {excerpt(str(folder))}: is no folder; name one, which need not exist yet")


def read_position(
    source: str | None, variant: Variant | str, *, side: str | None = None, judged: bool = True
) -> Position | None:
    """Return the position that an option names; None for the start."""
    if side not in (None, "w", "b"):
        raise InputError(f"side {excerpt(side or '')}: expected w or b")
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
    """Say on standard error why a position is impossible, if it is; by default it is named by its text."""
    if status := position_status(variant, position):
        shown = f"position '{position}'" if where is None else where
        warn(f"{shown}: is impossible in {variant.name}: {reasons(status)}")


def _exists(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except (OSError, ValueError):
        # A name that is too long, or with a character that no file name has, is not a file.
        return False
