"""Request fields that many commands share, and functions that read the values of these fields."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import click
from pydantic import model_validator

from tablut.board import Board
from tablut.cli.requests import Argument, Option, Request, beginning
from tablut.cli.runtime import Interrupted, Reply
from tablut.errors import MOST_THREADS, InputError, input_failure
from tablut.formats import reading
from tablut.position import Position, Side
from tablut.status import check_playable, position_status, reasons
from tablut.variants import Variant, as_variant
from tablut.work import files
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from tablut.formats.game_text import GameRecord

_MATERIAL = re.compile(r"([0-9]{1,3})v([0-9]{1,3})", re.ASCII)


def _variant_names() -> tuple[str, ...]:
    from tablut.variants import variant_names

    return variant_names()


complete_variant = beginning(_variant_names)


def variant_field(default: str | None = None, help: str = "Name of a built-in rule set, or a TOML file.") -> Any:  # noqa: A002
    """Describe a field as the option ``--variant``."""
    return Option(default, help, "--variant", "-v", metavar="NAME|FILE", complete=complete_variant)


def position_field() -> Any:
    """Describe a field as the option ``--position``, whose value `read_position` reads."""
    words = "Position as text (one line, a grid or another program's format), file, or - for standard input."
    return Option(None, f"{words} [default: the start]", "--position", "-p", metavar="TEXT|FILE|-")


def seed_field(help: str, default: int = 0) -> Any:  # noqa: A002
    """Describe a field as the option ``--seed``."""
    return Option(default, help, least=0)


def threads_field(help: str) -> Any:  # noqa: A002
    """Describe a field as the option ``--threads``."""
    return Option(1, help, least=1, most=MOST_THREADS)


def memory_field(default: int | None, help: str, least: int = 1, most: int | None = None) -> Any:  # noqa: A002
    """Describe a field as the option ``--memory``, a limit in MiB."""
    return Option(default, help, metavar="MIB", least=least, most=most)


def material_field(help: str) -> Any:  # noqa: A002
    """Describe a field as the option ``--material``, whose values `read_materials` parses."""
    return Option((), help, metavar="AvD")


def scheduler_field() -> Any:
    """Describe a field as the option ``--scheduler``."""
    return Option(None, "Running Dask cluster, whose workers can access --store.", metavar="ADDRESS")


def store_argument(help: str = "Folder of the tablebase.") -> Any:  # noqa: A002
    """Describe a field as the folder of a store."""
    return Argument("STORE", help)


def tablebase_field() -> Any:
    """Describe a field as the option ``--tablebase``."""
    return Option(None, "Folder of a tablebase. [default: the built-in tablebase, if any]", metavar="STORE")


class RulesRequest(Request):
    """A request about a rule set."""

    variant: str = variant_field("ashton")

    @cached_property
    def rules(self) -> Variant:
        """The rule set."""
        return as_variant(self.variant)


class BoardRequest(RulesRequest):
    """A request about a position, which must be playable."""

    judged: ClassVar = True
    position: str | None = position_field()

    @cached_property
    def board(self) -> Board:
        """The board with the position."""
        return Board(self.rules, read_position(self.position, self.rules, judged=self.judged))


class DrawnBoardRequest(BoardRequest):
    """A request about a position that may be impossible."""

    judged: ClassVar = False


_PICTURES: Final = {
    "svg": files.FileKind("an SVG drawing", files.beginning(rb"\s*(<[?!][^>]*>\s*)*<svg\b"), ".svg"),
    "png": files.FileKind("a PNG picture", files.beginning(b"\x89PNG\r\n"), ".png"),
    "gif": files.FileKind("a GIF picture", files.beginning(b"GIF8"), ".gif"),
}


class PicturesRequest(Request):
    """A request that names files for pictures of a result. They are checked before any work is done."""

    folders: ClassVar = False
    """Whether ``svg`` and ``png`` are folders for several pictures."""
    svg: Path | None = Option(None, "File for an SVG drawing.")
    png: Path | None = Option(None, "File for the same as PNG.")

    @model_validator(mode="after")
    def _check_pictures(self) -> Self:
        for kind, path in self.pictures.items():
            if path is not None and self.folders and kind != "gif":
                check_folder(path, f"--{kind}")
            else:
                files.check_output(path, _PICTURES[kind])
        return self

    @property
    def pictures(self) -> dict[str, Path | None]:
        """The files or folders by the kind of picture."""
        return {kind: getattr(self, kind) for kind in _PICTURES if hasattr(self, kind)}

    @property
    def picture_names(self) -> dict[str, str | None]:
        """The names of the files by the kind of picture, for the result of a command."""
        return {kind: None if path is None else str(path) for kind, path in self.pictures.items()}

    @property
    def draws(self) -> bool:
        """Whether any picture is wanted."""
        return any(self.pictures.values())

    def write_drawing(self, drawing: str, name: str | None = None) -> None:
        """Write a drawing to the file of each kind, or to a file of the given name in each folder."""
        png = b""
        if self.png is not None:
            from tablut.pictures import draw_png

            png = draw_png(drawing)  # before anything is written, because the drawing may be too large
        for path, suffix, content in ((self.svg, "svg", drawing.encode()), (self.png, "png", png)):
            if path is not None:
                place = path if name is None else path / f"{name}.{suffix}"
                files.write_bytes(place, content, kind=_PICTURES[suffix])


class PictureFoldersRequest(PicturesRequest):
    """A request that names folders for several pictures."""

    folders: ClassVar = True
    svg: Path | None = Option(None, "Folder for SVG drawings.", metavar="DIR")
    png: Path | None = Option(None, "Folder for the same as PNG.", metavar="DIR")


class AnimatedRequest(Request):
    """A request that names a file for an animated picture of a result."""

    gif: Path | None = Option(None, "File for an animated picture.")

    def animate(self, drawings: Sequence[str]) -> None:
        """Write an animation of the drawings, if the user wants one."""
        if self.gif is not None:
            from tablut.pictures import draw_gif

            files.write_bytes(self.gif, draw_gif(drawings), kind=_PICTURES["gif"])


class LongWorkRequest(Request):
    """A request for a long computation: the folder for its results, and the threads or the cluster that it uses."""

    store: str | None = Option(None, "Folder for the results, from which a run resumes.", metavar="DIR")
    threads: int = threads_field("Number of threads.")
    scheduler: str | None = scheduler_field()

    @model_validator(mode="after")
    def _check_store(self) -> Self:
        if self.scheduler is not None and self.store is None:
            raise InputError(
                "needs a folder that the workers can access at the same path",
                subject="--scheduler",
                remedy="add --store DIR",
            )
        return self

    def interrupted(self, reply: Reply, cause: BaseException) -> Interrupted:
        """Return the exception that ends the work after an interrupt or an error. It contains the results so far."""
        again = "the same command" if self.store is not None else "a new run with --store DIR, which can be resumed"
        return Interrupted(reply, again, cause)


_POSITION_BYTES: Final = 64 << 10
"""Maximum size of a position file in bytes. The JSON of an 11×11 board has about 2,000 bytes."""


def warn(message: str) -> None:
    """Print a one-line warning about the result on standard error."""
    click.echo("tablut: warning: " + " ".join(message.split()), err=True)


def read_bytes(source: str, what: str, most: int = files.TEXT_BYTES) -> bytes:
    """Return the content of a file, or of standard input for ``-``."""
    if source != "-":
        return files.read_bytes(Path(source), what, most, pipes=True)
    stream = getattr(sys.stdin, "buffer", None)
    try:
        content = sys.stdin.read(most + 1).encode() if stream is None else stream.read(most + 1)
    except OSError as error:
        raise input_failure(f"{what} '-'", error) from error
    if len(content) > most:
        raise InputError(f"is larger than {most:,} bytes, the maximum", subject=f"{what} '-'")
    return bytes(content)


def read_text(source: str, what: str, most: int = files.TEXT_BYTES) -> str:
    """Return the contents of a UTF-8 file, or of standard input for ``-``."""
    return files.as_text(read_bytes(source, what, most), f"{what} {excerpt(source)}")


def read_game_record(text: str, variant: str | None, origin: str) -> GameRecord:
    """Parse a game record; ``variant``, the value of ``--variant``, is required if several rule sets fit the record."""
    from tablut.replay import read_fitting_record

    with suggesting_rules():
        return read_fitting_record(text, None if variant is None else as_variant(variant), origin)


@contextmanager
def suggesting_rules(origin: str = "") -> Iterator[None]:
    """Add the way out, and the name of the file if it is given, to the error for a record that names no rule set."""
    from tablut.formats.game_text import NoRulesError
    from tablut.records import name_source

    try:
        yield
    except NoRulesError as error:
        if origin:
            name_source(error, "record", origin)
        raise InputError(str(error), remedy=f"add the rule set, such as -v {error.example}") from error


def save_record(record: GameRecord, target: Path, source: str | None = None) -> None:
    """Write a record to a file in the format given by its suffix. Warn about contents that the format cannot store."""
    from tablut.records import record_file, record_text

    text, lost = record_text(record, target, None if source == "-" else source)
    files.write_text(target, text, kind=record_file(target, record.variant))
    if lost:
        warn(f"{target}: cannot store {'; '.join(lost[:9])}{'; ...' * (len(lost) > 9)}")


def position_text(source: str) -> str:
    """Return the text of a position: the option's value itself, a file's content, or standard input for ``-``."""
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


def check_range(shortest: int | None, longest: int | None) -> None:
    """Raise `InputError` if no length satisfies both ``--min-plies`` and ``--max-plies``."""
    if shortest is not None and longest is not None and shortest > longest:
        raise InputError(f"must not be greater than --max-plies {longest}", subject=f"--min-plies {shortest}")


def check_folder(folder: Path, option: str) -> None:
    """Raise `InputError` if an output folder's path is a file. Call this function before any work is done."""
    if not next(place for place in (folder, *folder.absolute().parents) if place.exists()).is_dir():
        raise InputError(
            "is not a folder", subject=f"{option} {excerpt(str(folder))}", remedy="choose a new or existing folder"
        )


def read_position(
    source: str | None, variant: Variant | str, *, side: str | None = None, judged: bool = True
) -> Position | None:
    """Return the position given by an option, or None for the start.

    If ``judged`` is set, the position must be playable, and the user is warned if it is impossible.
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
    """Warn on standard error if a position is impossible, and give the reasons.

    The warning quotes ``where`` if it is given, otherwise the position.
    """
    if status := position_status(variant, position):
        shown = f"position '{position}'" if where is None else where
        warn(f"{shown}: is impossible in {variant.name}: {reasons(status)}")


def _exists(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except (OSError, ValueError):
        # The name is too long for a file, or contains an invalid character.
        return False
