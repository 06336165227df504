"""Options and arguments that many commands share, and the functions that read their values."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tablut.board import Board
from tablut.cli.command import Decorator, argument, beginning, bundle, name_of, option, whole
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


def variant_option(help: str = "Name of a built-in rule set, or a TOML file.", **settings: Any) -> Decorator:  # noqa: A002
    """Declare the option ``--variant``."""
    return option("--variant", "-v", metavar="NAME|FILE", help=help, shell_complete=complete_variant, **settings)


def seed_option(help: str, default: int = 0) -> Decorator:  # noqa: A002
    """Declare the option ``--seed``."""
    return whole("--seed", least=0, default=default, help=help)


def threads_option(help: str, **settings: Any) -> Decorator:  # noqa: A002
    """Declare the option ``--threads``."""
    return whole("--threads", least=1, most=MOST_THREADS, default=1, help=help, **settings)


def material_option(help: str) -> Decorator:  # noqa: A002
    """Declare the option ``--material``, which may be repeated; `read_materials` parses its values."""
    return option("--material", metavar="AvD", multiple=True, help=help)


class _PathType(click.Path):
    """Type of a parameter that takes the path of a file or folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or raise `InputError` if it is empty."""
        if not str(value).strip():
            raise InputError("is empty", subject=f"{name_of(param)} {value!r}", remedy="name a file or folder")
        return super().convert(value, param, ctx)


def file_option(*names: str, metavar: str = "FILE", **settings: Any) -> Decorator:
    """Declare an option that takes a file or folder."""
    return option(*names, type=_PathType(path_type=Path), metavar=metavar, **settings)


_PICTURES: Final = {
    "svg": files.FileKind("an SVG drawing", files.beginning(rb"\s*(<[?!][^>]*>\s*)*<svg\b"), ".svg"),
    "png": files.FileKind("a PNG picture", files.beginning(b"\x89PNG\r\n"), ".png"),
    "gif": files.FileKind("a GIF picture", files.beginning(b"GIF8"), ".gif"),
}


@dataclass(frozen=True)
class Pictures:
    """Files for pictures of a result, as the user names them. They are checked before any work is done."""

    svg: Path | None
    png: Path | None
    gif: Path | None = None

    folders = False
    """Whether the paths are those of folders, except for an animated picture."""

    def __post_init__(self) -> None:
        for kind, path in vars(self).items():
            if path is not None and self.folders and kind != "gif":
                check_folder(path, f"--{kind}")
            else:
                files.check_output(path, _PICTURES[kind])

    def __bool__(self) -> bool:
        return any((self.svg, self.png, self.gif))

    def write(self, drawing: str, name: str | None = None) -> None:
        """Write a drawing to the file of each kind, or to a file of the given name in each folder."""
        png = b""
        if self.png is not None:
            from tablut.pictures import draw_png

            png = draw_png(drawing)  # before anything is written, because the drawing may be too large
        for path, suffix, content in ((self.svg, "svg", drawing.encode()), (self.png, "png", png)):
            if path is not None:
                place = path if name is None else path / f"{name}.{suffix}"
                files.write_bytes(place, content, kind=_PICTURES[suffix])

    def animate(self, drawings: Sequence[str]) -> None:
        """Write an animation of the drawings, if the user wants one."""
        if self.gif is not None:
            from tablut.pictures import draw_gif

            files.write_bytes(self.gif, draw_gif(drawings), kind=_PICTURES["gif"])

    @property
    def names(self) -> dict[str, str | None]:
        """The names of the files by their kind, for the result of a command."""
        return {kind: path and str(path) for kind, path in vars(self).items()}


class _PictureFolders(Pictures):
    folders = True


def picture_options(what: str, *, folder: bool = False, moving: str = "") -> Decorator:
    """Declare ``--svg`` and ``--png``, and with ``moving`` also ``--gif``, passed as `Pictures` named ``pictures``."""
    where, metavar = ("Folder", "DIR") if folder else ("File", "FILE")
    animated = [file_option("--gif", help=f"File for an animated picture of {moving}.")] if moving else []
    drawn = file_option("--svg", metavar=metavar, help=f"{where} for {what}.")
    png = file_option("--png", metavar=metavar, help=f"{where} for the same as PNG.")
    return bundle("pictures", _PictureFolders if folder else Pictures, drawn, png, *animated)


store_argument = argument("store", metavar="STORE", help="Folder of the tablebase.")
position_option = option(
    "--position",
    "-p",
    metavar="TEXT|FILE|-",
    help="Position as text (one line, a grid or another program's format), file, or - for standard input. "
    "[default: the start]",
)


scheduler_option = option(
    "--scheduler", metavar="ADDRESS", help="Running Dask cluster, whose workers can access --store."
)


def _rules(variant: str) -> Variant:
    return as_variant(variant)


def _board(variant: str, position: str | None, *, judged: bool = True) -> Board:
    return Board(variant, read_position(position, variant, judged=judged))


rules_option = bundle("rules", _rules, variant_option(default="ashton"))
"""Option ``--variant``, whose value is passed as a `Variant` named ``rules``."""
board_options = bundle("board", _board, variant_option(default="ashton"), position_option)
"""Options ``--variant`` and ``--position``, passed as a playable `Board` named ``board``."""
drawn_board_options = bundle("board", partial(_board, judged=False), variant_option(default="ashton"), position_option)
"""Options ``--variant`` and ``--position``, passed as a `Board` named ``board`` that may be impossible."""


@dataclass(frozen=True)
class LongWork:
    """Settings of a long computation: the folder for its results, and the threads or the cluster that it uses."""

    store: str | None
    threads: int
    scheduler: str | None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.store is None:
            raise InputError(
                "needs a folder that the workers can access at the same path",
                subject="--scheduler",
                remedy="add --store DIR",
            )

    @property
    def places(self) -> dict[str, Any]:
        """The settings as arguments of library functions."""
        return {"store": self.store, "threads": self.threads, "scheduler": self.scheduler}

    def interrupted(self, reply: Reply, cause: BaseException) -> Interrupted:
        """Return the exception that ends the work after an interrupt or an error. It contains the results so far."""
        again = "the same command" if self.store is not None else "a new run with --store DIR, which can be resumed"
        return Interrupted(reply, again, cause)


def long_work(threads: str, store: str = "Folder for the results, from which a run resumes.") -> Decorator:
    """Declare the options of stored and distributed work, passed as a `LongWork` named ``work``."""
    return bundle(
        "work",
        LongWork,
        option("--store", metavar="DIR", help=store),
        threads_option(threads),
        scheduler_option,
    )


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
