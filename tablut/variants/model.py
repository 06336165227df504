"""The frozen `Variant`: a board, a start and the rule fields, with everything derived from them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from symmetry import Symmetry, dihedral, stabiliser
from tablut.notation import diagram_cells, parse_square, position_text
from tablut.variants.regions import CAMP_LETTERS, Regions, derive_regions

if TYPE_CHECKING:
    from tablut.variants.rules import Rules

__all__ = ["Variant"]


@dataclass(frozen=True)
class Variant:
    """A rule set: hashable, immutable, and equal to every other with the same content.

    Attributes
    ----------
    name : str
        The shipped name, or the stem of the user's file.
    title, source : str
        What it is and where its rules are written.
    terrain, start : tuple of str
        Diagrams, the top rank first; the letters are those of the variant files.
    rules : Rules
        One value for each rule field.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> variant = load_variant("brandubh")
    >>> variant.size, variant.attackers, variant.defenders
    (7, 8, 4)
    >>> variant.start_position
    '3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 b'
    """

    name: str
    title: str
    source: str
    terrain: tuple[str, ...]
    start: tuple[str, ...]
    rules: Rules

    @property
    def size(self) -> int:
        """Side of the board in cells."""
        return len(self.terrain)

    @cached_property
    def attackers(self) -> int:
        """Number of attackers at the start."""
        return sum(row.count("b") for row in self.start)

    @cached_property
    def defenders(self) -> int:
        """Number of defenders at the start, the king not counted."""
        return sum(row.count("w") for row in self.start)

    @cached_property
    def start_position(self) -> str:
        """The start as one-line position text, the side to move included."""
        return position_text(self.start, self.rules.first[0])

    @cached_property
    def regions(self) -> Regions:
        """Castle, camps, escapes, corners, and who may ever stand where."""
        return derive_regions(self.size, diagram_cells(self.terrain), diagram_cells(self.start), self.rules)

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The symmetries of the square that keep the rules.

        They keep every kind of cell, the partition of the camp cells into camps, the
        list of inert camp cells, and where each piece may ever stand; otherwise the
        start position plays no part.

        Returns
        -------
        tuple of Symmetry
            In the order of `symmetry.dihedral`, the identity first.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> len(load_variant("ashton").symmetries)
        8
        """
        regions = self.regions
        inert = {parse_square(name, self.size) for name in self.rules.camps.inert}
        labels = []
        for cell, letter in enumerate(diagram_cells(self.terrain)):
            # An ordinary corner is a cell like any other, whichever letter drew it.
            kind = "camp" if letter in CAMP_LETTERS else "." if letter == "+" else letter
            labels.append((kind, cell in inert, cell in regions.king_cells, cell in regions.camp_cells))
        camps = {camp.cells for camp in regions.camps}
        return tuple(
            symmetry
            for symmetry in stabiliser(dihedral(self.size), labels)
            if {frozenset(symmetry.table[cell] for cell in camp) for camp in camps} == camps
        )

    @cached_property
    def start_symmetries(self) -> tuple[Symmetry, ...]:
        """The symmetries of the rules that keep the start position too.

        Returns
        -------
        tuple of Symmetry
            In the order of `symmetries`, the identity first.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> len(load_variant("ashton-5-4v2").start_symmetries)
        4
        """
        return stabiliser(self.symmetries, diagram_cells(self.start))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the game (terrain, start and rules) in hexadecimal; it is equal where `same_game` holds.

        Returns
        -------
        str
            64 digits.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> load_variant("ashton").digest == load_variant("bologna").digest
        False
        """
        game = {
            "terrain": self.terrain,
            "start": self.start,
            "rules": self.rules.model_dump(mode="json", by_alias=True),
        }
        text = json.dumps(game, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def same_game(self, other: Variant) -> bool:
        """Return whether two variants differ at most in name, title and source.

        Parameters
        ----------
        other : Variant
            Another rule set.

        Returns
        -------
        bool
            Whether terrain, start and rules are equal.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> load_variant("ashton").same_game(load_variant("bologna"))
        False
        """
        return (self.terrain, self.start, self.rules) == (other.terrain, other.start, other.rules)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the definition only; what is derived is derived again."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}
