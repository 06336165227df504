"""From a variant file to a `Variant`: everything that can be wrong in it, said in one line.

The format is TOML: ``title``, ``source``, two diagrams and the rule fields of
`tablut.variants.rules`. `docs/variants.md` describes it for authors.
"""

from __future__ import annotations

import tomllib
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError

from tablut.errors import InputError, VariantError
from tablut.notation import diagram_cells, parse_square, square_name
from tablut.variants.model import Variant
from tablut.variants.regions import CAMP_LETTERS
from tablut.variants.rules import Rules

__all__ = ["FORMAT", "parse_variant"]

FORMAT = 1
"""Version of the variant file format."""

_TERRAIN_LETTERS = ".T*+X" + CAMP_LETTERS
_START_LETTERS = ".bwK"
_SIZES = range(3, 12, 2)


def _rows(value: Any) -> Any:
    """Accept a diagram as one multi-line string or as a list of rows; blanks around it do not count."""
    if isinstance(value, str):
        return tuple(line.strip() for line in value.strip().splitlines())
    return value


Diagram = Annotated[tuple[str, ...], BeforeValidator(_rows)]


class _VariantFile(Rules):
    """The keys of a variant file: the rule fields, the diagrams and what describes them."""

    format: int = FORMAT
    name: str | None = None
    title: str = ""
    source: str = ""
    terrain: Diagram
    start: Diagram


def parse_variant(text: str, *, name: str, origin: str) -> Variant:
    """Read the text of a variant file.

    Parameters
    ----------
    text : str
        TOML.
    name : str
        Name of the variant if the file gives none.
    origin : str
        What error messages call the file.

    Returns
    -------
    Variant
        Validated and frozen.

    Raises
    ------
    VariantError
        Naming the file, the field and what was expected there.

    Examples
    --------
    >>> parse_variant("first = 'white'", name="mine", origin="mine.toml")
    Traceback (most recent call last):
        ...
    tablut.errors.VariantError: mine.toml: field 'castle': is missing (and 5 more errors)
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise VariantError(f"{origin}: not valid TOML: {error}") from error
    version = data.get("format", FORMAT)
    if version != FORMAT:
        raise VariantError(f"{origin}: field 'format': this version reads format {FORMAT}, the file says {version!r}")
    try:
        file = _VariantFile.model_validate(data)
    except ValidationError as error:
        raise VariantError(f"{origin}: {_first_error(error)}") from error

    try:
        _check_terrain(file.terrain)
        _check_start(file.start, file.terrain)
        _check_rules_fit(file)
    except _FieldError as error:
        raise VariantError(f"{origin}: field '{error.field}': {error}") from error
    return Variant(
        name=file.name or name,
        title=file.title,
        source=file.source,
        terrain=file.terrain,
        start=file.start,
        rules=Rules.model_validate(file.model_dump(by_alias=True, include=set(Rules.model_fields))),
    )


class _FieldError(Exception):
    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def _first_error(error: ValidationError) -> str:
    details = error.errors()
    first = details[0]
    field = ".".join(str(part) for part in first["loc"])
    match first["type"]:
        case "missing":
            problem = "is missing"
        case "extra_forbidden":
            problem = "is not a field of variant files"
        case "literal_error":
            problem = f"expected {first['ctx']['expected']}, not {first['input']!r}"
        case _:
            problem = f"{first['msg'].removeprefix('Value error, ')}, not {first['input']!r}"
    more = len(details) - 1
    return f"field '{field}': {problem}" + (f" (and {more} more error{'s' * (more > 1)})" if more else "")


def _check_square_diagram(field: str, rows: tuple[str, ...], letters: str) -> None:
    size = len(rows)
    if size not in _SIZES:
        raise _FieldError(field, f"has {size} rows; boards have an odd side from {_SIZES[0]} to {_SIZES[-1]}")
    for number, row in enumerate(rows, 1):
        if len(row) != size:
            raise _FieldError(field, f"row {number} ({row!r}) has {len(row)} cells, not {size} as there are rows")
        for letter in row:
            if letter not in letters:
                raise _FieldError(field, f"row {number} ({row!r}) has the unknown letter {letter!r}; known: {letters}")


def _check_terrain(terrain: tuple[str, ...]) -> None:
    _check_square_diagram("terrain", terrain, _TERRAIN_LETTERS)
    cells, size = diagram_cells(terrain), len(terrain)
    if cells.count("T") != 1:
        raise _FieldError("terrain", f"has {cells.count('T')} castle cells (T); expected exactly one")
    corners = {0, size - 1, size * (size - 1), size * size - 1}
    for cell, letter in enumerate(cells):
        if letter in "+X" and cell not in corners:
            raise _FieldError("terrain", f"has {letter!r} on {square_name(cell, size)}, which is no corner")


def _check_start(start: tuple[str, ...], terrain: tuple[str, ...]) -> None:
    _check_square_diagram("start", start, _START_LETTERS)
    size = len(terrain)
    if len(start) != size:
        raise _FieldError("start", f"has {len(start)} rows, the terrain {size}")
    pieces, ground = diagram_cells(start), diagram_cells(terrain)
    if pieces.count("K") != 1:
        raise _FieldError("start", f"has {pieces.count('K')} kings (K); expected exactly one")
    if "b" not in pieces:
        raise _FieldError("start", "has no attacker (b); black would have lost before the first move")
    names = {"b": "an attacker", "w": "a defender", "K": "the king"}
    # Where each kind of piece may not stand, and what the cell is called.
    banned = {
        "b": {"T": "the castle", "X": "a king-only corner"},
        "w": {"T": "the castle", "X": "a king-only corner"} | dict.fromkeys(CAMP_LETTERS, "a camp cell"),
        "K": {"X": "an escape", "*": "an escape"} | dict.fromkeys(CAMP_LETTERS, "a camp cell"),
    }
    for cell, (piece, letter) in enumerate(zip(pieces, ground, strict=True)):
        if piece != "." and letter in banned[piece]:
            raise _FieldError("start", f"has {names[piece]} on {square_name(cell, size)}, {banned[piece][letter]}")


def _check_rules_fit(file: _VariantFile) -> None:
    ground, size = diagram_cells(file.terrain), len(file.terrain)
    given = file.model_fields_set
    if any(letter in ground for letter in CAMP_LETTERS) and "camps" not in given:
        raise _FieldError("camps", "is missing, and the terrain has camps")
    if "X" in ground and "corners" not in given:
        raise _FieldError("corners", "is missing, and the terrain has X corners")
    for name in file.camps.inert:
        try:
            square = parse_square(name, size)
        except InputError as error:
            raise _FieldError("camps.inert", str(error)) from error
        if ground[square] not in CAMP_LETTERS:
            raise _FieldError("camps.inert", f"{name} is no camp cell")
