"""Reading and writing of variant files. The faults found in a file are reported together on a single line.

The format is TOML. A file contains ``title``, ``source``, two diagrams and the rule fields of `tablut.variants.model`.
`docs/variants.md` describes the format for authors of variants.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StrictInt, ValidationError
from pydantic_core import ErrorDetails

from tablut.errors import InputError, VariantError, did_you_mean, fault_of, shown_value
from tablut.position import diagram_cells, parse_square, square_name
from tablut.variants.model import CAMP_LETTERS, DIRECTIONS, Rules, Variant, rule_fields, step
from tablut.work.files import excerpt

FORMAT = 1
"""Version of the variant file format."""
NAME_LENGTH: Final = 80
"""Maximum length of a variant's name in characters."""
_PROSE_LENGTH: Final = 1000
# A limit on line length also limits the running time of tomllib, which is quadratic in the number of parts of a dotted
# key. A key cannot extend over several lines.
_LINE_LENGTH: Final = 2000

_TERRAIN_LETTERS = ".T*+X" + CAMP_LETTERS
_START_LETTERS = ".bwK"
_SIZES = range(3, 20, 2)
_FAULTS: Final = 10
"""Maximum number of faults that are reported for one file."""


def _rows(value: Any) -> Any:
    """Accept a diagram as a multi-line string, ignoring white space around its rows, or as a list of rows."""
    if isinstance(value, str):
        return tuple(line.strip() for line in value.strip().splitlines())
    return value


def _line(value: Any) -> Any:
    """Reject text that contains line breaks or other characters that cannot be printed."""
    if isinstance(value, str) and not value.isprintable():
        raise ValueError("expected text on one line, without control characters")
    return value


Diagram = Annotated[tuple[str, ...], BeforeValidator(_rows)]


class _VariantFile(Rules):
    """Keys of a variant file: rule fields, diagrams and metadata."""

    format: StrictInt = FORMAT
    name: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH), BeforeValidator(_line)] | None = None
    title: Annotated[str, Field(max_length=_PROSE_LENGTH), BeforeValidator(_line)] = ""
    source: Annotated[str, Field(max_length=_PROSE_LENGTH), BeforeValidator(_line)] = ""
    terrain: Diagram
    start: Diagram


def parse_variant(text: str, *, name: str, origin: str) -> Variant:
    """Parse the text of a variant file.

    ``name`` is the default name, and ``origin`` is the prefix of error messages.
    """
    if not (name.isprintable() and 0 < len(name) <= NAME_LENGTH):
        raise VariantError(f"name {excerpt(name)}: expected 1 to {NAME_LENGTH} characters on one line", subject=origin)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > _LINE_LENGTH:
            raise VariantError(
                f"line {number}: has {len(line):,} characters; the limit is {_LINE_LENGTH:,}", subject=origin
            )
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise VariantError(f"is not valid TOML: {_one_line(str(error))}", subject=origin) from error
    except (RecursionError, ValueError) as error:
        # Python rejects deeply nested lists, and numbers with thousands of digits.
        what = "nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
        raise VariantError(f"cannot be read: {what}", subject=origin) from error
    version = data.get("format", FORMAT)
    if isinstance(version, int) and version != FORMAT:
        raise VariantError(
            f"field 'format': this version reads format {FORMAT}, but the file has {version}", subject=origin
        )
    try:
        file = _VariantFile.model_validate(data)
    except ValidationError as error:
        raise VariantError(_errors(error), subject=origin) from error
    # Each stage relies on the checks in the stages before it.
    for stage in ((_check_terrain, _check_start), (_check_pieces, _check_rules_fit)):
        if faults := [fault for check in stage if (fault := _fault(check, file))]:
            raise VariantError("; ".join(faults), subject=origin)
    variant = Variant(
        name=file.name or name,
        title=file.title,
        source=file.source,
        terrain=file.terrain,
        start=file.start,
        rules=Rules.model_validate({name: getattr(file, name) for name in Rules.model_fields}),
    )
    if fault := _fault(_check_fields_agree, variant):
        raise VariantError(fault, subject=origin)
    return variant


Checked = TypeVar("Checked", _VariantFile, Variant)


class _FieldError(Exception):
    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"field '{field}': {message}")


def _fault(check: Callable[[Checked], None], checked: Checked) -> str:
    """Return the fault that a check finds, or an empty string."""
    try:
        check(checked)
    except _FieldError as error:
        return str(error)
    return ""


def _one_line(text: str) -> str:
    """Shorten a library's message, which may quote the file, to one printable line."""
    return text if len(text) <= 160 and text.isprintable() else excerpt(text, 160)


_KINDS = {
    "bool": "true or false",
    "int": "a whole number",
    "model": "a table, such as [castle]",
    "string": "text in quotes",
    "tuple": "a list of texts",
}


def _errors(error: ValidationError) -> str:
    """Describe all errors, unknown fields first, because an unknown field may be a misspelling of a missing one."""
    details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    missing = [".".join(map(str, detail["loc"])) for detail in details if detail["type"] == "missing"]
    names = ", ".join(repr(name) for name in missing)
    faults = []
    for detail in details:
        if detail["type"] == "missing":
            continue
        kinds = dict(_KINDS)
        if detail["loc"] in (("terrain",), ("start",)):
            kinds["tuple"] = "rows of text"
        if detail["type"] == "extra_forbidden":
            kinds["extra_forbidden"] = f"unknown{_meant(detail, details)}"
        faults.append(fault_of([detail], kinds))
    if missing:
        faults.append(f"field{'s' * (len(missing) > 1)} {names}: {'is' if len(missing) == 1 else 'are'} missing")
    return "; ".join(faults[:_FAULTS]) + f"; and {len(faults) - _FAULTS} more" * (len(faults) > _FAULTS)


def _meant(unknown: ErrorDetails, details: Sequence[ErrorDetails]) -> str:
    """Return a hint that names the field probably meant by an unknown name.

    Missing fields of the same table are preferred.
    """
    *path, name = unknown["loc"]
    missing = [
        str(detail["loc"][-1]) for detail in details if detail["type"] == "missing" and [*detail["loc"][:-1]] == path
    ]
    known = _field_names(_VariantFile, [str(part) for part in path])
    hint = did_you_mean(str(name), missing) or did_you_mean(str(name), known)
    return hint and f"; {hint}"


def _field_names(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """Return the field names of a table that is given by its path in the file."""
    fields = {info.alias or attribute: info for attribute, info in model.model_fields.items()}
    if not path:
        return list(fields)
    inner = fields[path[0]].annotation
    return _field_names(inner, path[1:]) if isinstance(inner, type) and issubclass(inner, BaseModel) else []


def _check_square_diagram(field: str, rows: tuple[str, ...], letters: str) -> None:
    size = len(rows)
    if size not in _SIZES:
        raise _FieldError(field, f"has {size} rows; boards have an odd number of rows from {_SIZES[0]} to {_SIZES[-1]}")
    for number, row in enumerate(rows, 1):
        if len(row) != size:
            raise _FieldError(
                field, f"row {number} ({shown_value(row)}) has {len(row)} cells, but there are {size} rows"
            )
        for letter in row:
            if letter not in letters:
                raise _FieldError(
                    field, f"row {number} ({shown_value(row)}) has the unknown letter {letter!r}; known: {letters}"
                )


def _check_terrain(file: _VariantFile) -> None:
    terrain, wide = file.terrain, file.corners.wide
    _check_square_diagram("terrain", terrain, _TERRAIN_LETTERS)
    cells, size = diagram_cells(terrain), len(terrain)
    if cells.count("T") > 1:
        raise _FieldError("terrain", f"has {cells.count('T')} castle cells (T); expected at most one")
    ends = {0, size - 1} if not wide else {0, 1, size - 2, size - 1}
    for cell, letter in enumerate(cells):
        if letter in "+X" and not ends.issuperset(divmod(cell, size)):
            raise _FieldError("terrain", f"has {letter!r} on {square_name(cell, size)}, which is not a corner")


def _check_start(file: _VariantFile) -> None:
    _check_square_diagram("start", file.start, _START_LETTERS)


def _check_pieces(file: _VariantFile) -> None:
    start, terrain, size = file.start, file.terrain, len(file.terrain)
    if len(start) != size:
        raise _FieldError("start", f"has {len(start)} rows, but the terrain has {size}")
    pieces, ground = diagram_cells(start), diagram_cells(terrain)
    if pieces.count("K") != 1:
        raise _FieldError("start", f"has {pieces.count('K')} kings (K); expected exactly one")
    if "b" not in pieces:
        raise _FieldError("start", "has no attacker (b), so black would lose before the first move")
    names = {"b": "an attacker", "w": "a defender", "K": "the king"}
    # Kinds of cells where each kind of piece may not stand, and their names for messages.
    banned = {
        "b": {"T": "the castle", "X": "a king-only corner"},
        "w": {"T": "the castle", "X": "a king-only corner"} | dict.fromkeys(CAMP_LETTERS, "a camp cell"),
        "K": {"X": "an escape", "*": "an escape"} | dict.fromkeys(CAMP_LETTERS, "a camp cell"),
    }
    for cell, (piece, letter) in enumerate(zip(pieces, ground, strict=True)):
        if piece != "." and letter in banned[piece]:
            raise _FieldError("start", f"has {names[piece]} on {square_name(cell, size)}: {banned[piece][letter]}")
    king = pieces.index("K")
    if [pieces[near] for direction in DIRECTIONS if (near := step(king, direction, size)) is not None] == ["b"] * 4:
        raise _FieldError("start", f"has a captured king on {square_name(king, size)}, surrounded by attackers")


def _check_rules_fit(file: _VariantFile) -> None:
    ground, size = diagram_cells(file.terrain), len(file.terrain)
    given = file.model_fields_set
    if any(letter in ground for letter in CAMP_LETTERS) and "camps" not in given:
        raise _FieldError("camps", "is missing, but the terrain has camps")
    if "T" in ground and "castle" not in given:
        raise _FieldError("castle", "is missing, but the terrain has a castle")
    if "X" in ground and "corners" not in given:
        raise _FieldError("corners", "is missing, but the terrain has X corners")
    for name in file.camps.inert:
        try:
            square = parse_square(name, size)
        except InputError as error:
            raise _FieldError("camps.inert", str(error)) from error
        if ground[square] not in CAMP_LETTERS:
            raise _FieldError("camps.inert", f"{name} is not a camp cell")


def _check_fields_agree(variant: Variant) -> None:
    """Reject rules that can never apply on the board. Only fields that do not occur in older files are checked."""
    size, regions, rules = variant.size, variant.regions, variant.rules
    corners, wide, wall = regions.royal_corners, rules.corners.wide, rules.shieldwall
    if wall is not None and wall.corner and not corners:
        raise _FieldError("shieldwall.corner", "is true, but 'terrain' has no X corners")
    edge = {cell for cell in range(size * size) if not {0, size - 1}.isdisjoint(divmod(cell, size))}
    if wall is not None and wall.corner and edge <= regions.escapes:
        raise _FieldError("shieldwall.corner", "is true, but in 'terrain' the king escapes on the whole edge")
    if wide and not corners:
        raise _FieldError("corners.wide", "is true, but 'terrain' has no X corners")
    blocks = [
        {cell, cell + 1, cell + size, cell + size + 1}
        for cell in (0, size - 2, size * (size - 2), (size + 1) * (size - 2))
    ]
    if wide and (size < 5 or any(block & corners and not block <= corners for block in blocks)):
        raise _FieldError("corners.wide", "is true, but a corner of 'terrain' is not a block of 2x2 X cells")
    later = wide or wall or {rules.fort, rules.encirclement} != {"none"}
    if later and corners and not regions.approaches.keys() & corners:
        raise _FieldError("corners", "cannot be reached by any king in 'terrain'")
    if rules.fort != "none" and not edge & regions.king_cells:
        raise _FieldError(
            "fort", f"is {rules.fort}, but in 'terrain' the king cannot stand on an edge cell without having won"
        )
    if rules.fort != "none" and regions.camps:
        raise _FieldError("fort", f"is {rules.fort}, but 'terrain' has camps, for which forts are not defined")
    if rules.fort != "none" and any(len(regions.neighbours(castle)) < 4 for castle in regions.castles):
        raise _FieldError("fort", f"is {rules.fort}, but 'terrain' has the castle on the edge")


# ------------------------------------------------------------------------------------------
# Writing of variant files: the inverse of `parse_variant`


def write_variant(variant: Variant) -> str:
    """Return a variant in the format of variant files."""
    head: dict[str, object] = {"format": FORMAT, "name": variant.name, "title": variant.title, "source": variant.source}
    lines = [f"{name} = {_toml(value)}" for name, value in head.items()]
    for name, rows in (("terrain", variant.terrain), ("start", variant.start)):
        lines += ["", f'{name} = """', *rows, '"""']
    lines.append("")
    tables: dict[str, list[str]] = {}
    for field in rule_fields(variant.rules):
        table, _, name = field.name.rpartition(".")
        if field.value is not None:
            tables.setdefault(table, []).append(f"{name} = {_toml(field.value)}")
    # In TOML, top-level fields must come before the first table.
    lines += tables.pop("")
    for table, fields in tables.items():
        lines += ["", f"[{table}]", *fields]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Return a value in TOML syntax. Strings, numbers, booleans and lists are written as in JSON."""
    return json.dumps(value, ensure_ascii=False)
