"""Available tablebases: those given to the server, and for other games the shipped ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from reports.solutions import results
from retrograde.answers import TierResult, tier_result
from retrograde.tablebase import Tablebase, open_tablebase
from retrograde.tablebase.probing import shipped_store
from tablut.board import Board
from tablut.prober import MissingTableError
from tablut.results import Result
from tablut.variants import Variant, load_variant, shipped_variants
from tablut.work.files import store_path


class NamedTable(NamedTuple):
    """A tablebase with the name that visitors see; its folder is not revealed to them."""

    name: str
    whole: bool
    folder: Path
    tablebase: Tablebase


class NamedTables:
    """The tablebases by game; a store given by the user replaces the shipped one."""

    def __init__(self, stores: Sequence[Path | str] = ()) -> None:
        self._known: dict[str, list[NamedTable]] = {}
        for store in stores:
            self._add(store_path(store).resolve())
        for variant in shipped_variants():
            if variant.digest not in self._known and (folder := shipped_store(variant)) is not None:
                self._add(folder)

    def _add(self, folder: Path) -> None:
        tablebase = open_tablebase(folder)
        game = tablebase.variant
        whole = tablebase.covers(game.attackers, game.defenders)
        self._known.setdefault(game.digest, []).append(NamedTable(folder.name, whole, folder, tablebase))

    def of(self, variant: Variant) -> Sequence[NamedTable]:
        """Return the tablebases of a game."""
        return self._known.get(variant.digest, ())

    def all(self) -> Iterator[NamedTable]:
        """Yield every tablebase."""
        return chain.from_iterable(self._known.values())

    def covering(self, board: Board) -> NamedTable | None:
        """Return the tablebase that covers a board's material, or None."""
        material = board.position.material
        return next((table for table in self.of(board.variant) if table.tablebase.covers(*material)), None)

    def needed(self, board: Board) -> NamedTable:
        """Return the tablebase that covers a board's material, or raise `MissingTableError`."""
        found = self.covering(board)
        if found is not None:
            return found
        attackers, defenders = board.position.material
        there = [f"{table.name} (up to {table.tablebase.max_men} men)" for table in self.of(board.variant)]
        known = f"available are {', '.join(there)}" if there else "there is no tablebase of this game"
        raise MissingTableError(
            f"has {1 + attackers + defenders} men ({attackers} attackers, {defenders} defenders, the king); {known}. "
            "More can be added with `tablut serve --tablebase STORE`",
            subject=f"position '{board.position}'",
        )


# -- listing for the page of endings ---------------------------------------------------------------

_AT_ONCE: Final = 3_000_000
"""Number of classes that can be read in a fraction of a second."""


class Reached(NamedTuple):
    """Positions reachable from the start of a solved board, and their classes under the symmetries of the start."""

    positions: int
    classes: int


class TableListed(Result):
    """A tablebase as listed on a page: its contents, and what the start reaches of it if the board is solved."""

    name: str
    variant: str
    start: str
    whole: bool
    max_men: int
    longest: int
    positions: int
    classes: int
    reached: Reached | None
    first: str
    tiers: list[TierResult]


def list_tables(tables: NamedTables) -> list[TableListed]:
    """Return the explorer's tablebases as listed on the page of endings."""
    return sorted(
        (_listed(table) for table in tables.all()), key=lambda table: (table.whole, table.classes * table.whole)
    )


def _listed(table: NamedTable) -> TableListed:
    store, variant = table.tablebase.store, table.tablebase.variant
    tiers = [tier_result(store.tier(*material).record, variant) for material in store.tiers()]
    return TableListed(
        name=table.name,
        variant=variant.name,
        start=variant.start_position,
        whole=table.whole,
        max_men=table.tablebase.max_men,
        longest=max((tier.max_dtm for tier in tiers), default=0),
        positions=sum(tier.positions for tier in tiers),
        classes=sum(tier.classes for tier in tiers),
        reached=_reached().get(variant.digest) if table.whole else None,
        first=_first(tiers),
        tiers=tiers,
    )


@cache
def _reached() -> dict[str, Reached]:
    """Return the numbers of positions reachable from the starts of the solved boards, by digest of the game."""
    return {load_variant(name).digest: Reached(one["positions"], one["classes"]) for name, one in results().items()}


def _first(tiers: list[TierResult]) -> str:
    """Return the material to list first, or an empty string if the tablebase is small enough to list completely."""
    if sum(tier.classes for tier in tiers) <= _AT_ONCE:
        return ""
    small = [tier for tier in tiers if tier.classes <= _AT_ONCE]
    tier = max(small, key=lambda tier: tier.classes) if small else min(tiers, key=lambda tier: tier.classes)
    return f"{tier.attackers}v{tier.defenders}"
