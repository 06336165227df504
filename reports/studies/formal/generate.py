"""Statements about one rule set, as a Rocq file: its cells and rules, and theorems with the numbers of `tablut bounds`.

The definitions are in ``definitions.v``. The generator writes only cells and rule fields, and the numbers that the
theorems claim. A wrong cell would be visible in the file, and a wrong number would make the proof fail.
"""

from __future__ import annotations

import re
from math import comb
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from counting.complexity import bounds
from reports.rendering import STUDIES
from symmetry import dihedral
from tablut.errors import InputError
from tablut.position import diagram_cells
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from counting.complexity import BoundsReport, SpaceCounts
    from tablut.variants import Variant, VariantLike

FOLDER: Final = STUDIES / "formal"
LIBRARY: Final = ("definitions", "theory", "spaces", "classes", "rules", "binomials", "enumeration")
"""Names of the files with definitions and general theorems, in an order in which they can be compiled."""
PROVED: Final = ("ashton", "brandubh", "copenhagen", "ashton-5-4v0", "brandubh-5-4v0")
"""The rule sets whose statements are stored with the study."""
MOST_CELLS: Final = 121
_MOST_LISTED: Final = 400_000
"""Maximum number of lists of contents for which the proof also lists all placements."""

_SETS: Final = {
    "no_end": ("undecided", "undecided placements"),
    "all_captured": ("all_captured", "final placements: all black soldiers captured"),
    "escaped": ("escaped", "final placements: the king has escaped, and black soldiers are left"),
    "escaped_last": ("escaped_last", "final placements: the king has escaped and captured the last black soldier"),
    "king_captured": ("king_captured", "final placements: the king has been captured"),
    "distinct": ("counted", "their union, each placement once"),
}
_FINAL: Final = ("all_captured", "escaped", "escaped_last", "king_captured")


class Claim(NamedTuple):
    """A theorem whose number `tablut bounds` prints: its name in the Rocq file, and where the number is in the JSON."""

    theorem: str
    table: str
    key: str

    def number(self, report: BoundsReport) -> int:
        """Return the number that `tablut bounds` computes."""
        return int(getattr(getattr(report, self.table), self.key))


def claims() -> list[Claim]:
    """Return the claims that are made about every rule set."""
    keys = (*_SETS, "end", "total")
    return [Claim(f"{table}_{key}", table, key) for table in ("corrected", "classes") for key in keys]


def module_name(variant: Variant) -> str:
    """Return the name of a rule set's Rocq file, without the suffix, which is also the name of its rules there."""
    name = re.sub(r"\W", "_", variant.name, flags=re.ASCII)
    return name if re.match(r"[A-Za-z]", name) and name not in (*LIBRARY, "paper") else f"game_{name}"


def check_expressed(variant: Variant) -> None:
    """Raise `InputError` if the Rocq definitions do not express the sets of a rule set."""
    subject = f"variant {variant.name}, field "
    if variant.size**2 > MOST_CELLS:
        raise InputError(
            f"the board has {variant.size**2} cells",
            subject=f"{subject}terrain",
            remedy=f"use a board of at most {MOST_CELLS} cells, for which the computation inside Rocq takes minutes",
        )
    if len(variant.symmetries) < len(dihedral(variant.size)):
        raise InputError(
            "some of the square's eight symmetries do not preserve the rules, but all eight define the classes",
            subject=subject + _asymmetric_field(variant),
            remedy="use a rule set that looks the same from all four sides and in a mirror",
        )


def _asymmetric_field(variant: Variant) -> str:
    """Return the field that makes a rule set less symmetric than the square."""
    terrain = diagram_cells(variant.terrain)
    kinds = {cell: "camp" if letter in "ABCD" else letter.replace("+", ".") for cell, letter in enumerate(terrain)}
    camps = {camp.cells for camp in variant.regions.camps}
    for symmetry in dihedral(variant.size):
        moved = symmetry.table
        if any(kinds[moved[cell]] != kind for cell, kind in kinds.items()) or camps != {
            frozenset(moved[cell] for cell in camp) for camp in camps
        }:
            return "terrain"
    regions = variant.regions
    for cells in (regions.king_cells, regions.camp_cells):
        if any({symmetry.table[cell] for cell in cells} != cells for symmetry in dihedral(variant.size)):
            return "start"
    return "camps.inert"


def statements(source: VariantLike) -> str:
    """Return the Rocq file with the statements about a rule set.

    Raises
    ------
    InputError
        If the definitions do not express the sets of this rule set.
    """
    variant = as_variant(source)
    check_expressed(variant)
    name, report = module_name(variant), bounds(variant)
    parts = [_head(variant), _rules(variant, name), _king(name)]
    parts += _numbers(name, report.corrected, report.classes)
    if _listed(variant) <= _MOST_LISTED:
        parts.append(_listing(name, report.corrected))
    return "\n".join(parts)


def path_of(source: VariantLike, folder: Path = FOLDER) -> Path:
    """Return the path of the file with the statements about a rule set."""
    return folder / f"{module_name(as_variant(source))}.v"


def _comment(text: str) -> str:
    """Return a line of text that cannot end the comment in which it stands."""
    return re.sub(r"[^ -!#-~]|\*\)|\(\*", "?", text)


def _head(variant: Variant) -> str:
    pairs = zip(variant.terrain, variant.start, strict=True)
    rows = "\n".join(f"     {_comment(terrain)}    {_comment(start)}" for terrain, start in pairs)
    return f"""\
(* {_comment(variant.title)}

   `python -m reports.studies.formal generate` wrote this file from the rule set {_comment(variant.name)}.
   The terrain and the start:

{rows} *)

From mathcomp Require Import all_ssreflect.
From Coq Require Import NArith.
From Tablut Require Import definitions theory spaces classes rules enumeration.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
"""


def _cells(cells: Iterable[int]) -> str:
    text = f"[:: {'; '.join(str(cell) for cell in sorted(cells))}]"
    return "[::]" if text == "[:: ]" else "\n    ".join(wrap(text, 100))


def _rules(variant: Variant, name: str) -> str:
    regions, rules = variant.regions, variant.rules
    fields = {
        "side": variant.size,
        "castle": _cells(regions.castles),
        "camps": _cells(cell for camp in regions.camps for cell in camp.cells),
        "manned_camps": _cells(cell for camp in regions.camps if camp.garrison for cell in camp.cells),
        "corners": _cells(regions.royal_corners),
        "escapes": _cells(regions.escapes),
        "king_start": diagram_cells(variant.start).index("K"),
        "black_men": variant.attackers,
        "white_men": variant.defenders,
        "king_passes_castle": rules.castle.passable != "nobody",
        "king_enters_castle": rules.castle.stop == "king",
        "camps_hostile": rules.camps.hostile,
        "corners_hostile": rules.corners.hostile,
        "king_armed": rules.king.armed,
        "on_castle": rules.king.on_castle.capitalize(),
        "beside_as_on_castle": rules.king.beside_castle == "as_on_castle",
        "elsewhere": rules.king.elsewhere.capitalize(),
    }
    written = {field: str(value).lower() if isinstance(value, bool) else value for field, value in fields.items()}
    lines = ";\n".join(f"  {field} := {value}" for field, value in written.items())
    return f"Definition {name} : ruleset := {{|\n{lines}\n|}}.\n"


def _king(name: str) -> str:
    return f"""\
(* The cells of an undecided king: the list is right. *)
Definition king_list : seq nat := Eval vm_compute in king_cells {name}.

Theorem king_cells_reached c : king_reaches {name} c <-> c \\in king_cells {name}.
Proof. by apply: (king_cellsP (kc := king_list)); vm_compute. Qed.

(* A placement with a captured king is also an undecided one, so the union below counts it once. *)
Theorem captured_kings_undecided p : king_captured {name} p -> undecided {name} p.
Proof. exact: king_captured_undecided. Qed.
"""


def _numbers(name: str, corrected: SpaceCounts, classes: SpaceCounts) -> list[str]:
    parts = []
    for table, counts, what, lemma in (
        ("corrected", corrected, "number", "prove_{}"),
        ("classes", classes, "classes", "prove_{}_classes"),
    ):
        heading = "Numbers of placements" if what == "number" else "Numbers of classes under the symmetries"
        parts.append(f"(* ---- {heading} {'-' * (108 - len(heading))} *)\n")
        for key, (property_, description) in _SETS.items():
            value = getattr(counts, key)
            parts.append(
                f"(* {description}: {value:,} *)\n"
                f"Theorem {table}_{key} :\n  {what} {name} ({property_} {name}) = {value}%N.\n"
                f"Proof. apply: ({lemma.format(property_)} (kc := king_list)); by_computation. Qed.\n"
            )
        parts += [_sum(name, table, what, "end", counts.end), _sum(name, table, what, "total", counts.total)]
    return parts


def _sum(name: str, table: str, what: str, key: str, value: int) -> str:
    """Return the theorem on the sum of the final kinds, or of these and the undecided placements."""
    keys = _FINAL if key == "end" else ("no_end", *_FINAL)
    described = "all final kinds" if key == "end" else "labelled placements: undecided ones, and all final kinds"
    terms = "\n   + ".join(f"{what} {name} ({_SETS[part][0]} {name})" for part in keys)
    parts = "".join(f"\n  {table}_{part}" for part in keys)
    return (
        f"(* {described}: {value:,} *)\n"
        f"Theorem {table}_{key} :\n  ({terms})%num\n  = {value}%N.\n"
        f"Proof.\napply: ({'sum_of_four' if key == 'end' else 'sum_of_five'}{parts});\nby_computation.\nQed.\n"
    )


def _listed(variant: Variant) -> int:
    """Return how many lists of contents have at most one king, and at most the soldiers of the start."""
    cells = variant.size**2
    return sum(
        comb(cells, king) * comb(cells - king, black) * comb(cells - king - black, white)
        for king in range(2)
        for black in range(variant.attackers + 1)
        for white in range(variant.defenders + 1)
    )


def _listing(name: str, corrected: SpaceCounts) -> str:
    values = {property_: getattr(corrected, key) for key, (property_, _) in _SETS.items()}
    equations = [f"number {name} ({property_} {name}) = {value}%N" for property_, value in values.items()]
    first, *others = equations[:4]
    lines = "".join(f",\n      {one}" for one in others)
    return f"""\
(* ---- The same numbers by a list of all placements {"-" * 64} *)

Theorem listing :
  [/\\ {first}{lines}
    & {equations[4]} /\\
      {equations[5]}].
Proof. apply: (by_listing (kc := king_list)); by_computation. Qed.
"""
