"""What a tablebase holds, as commands answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tablut.cli.people import Table, label, number
from tablut.indexing.values import unforced
from tablut.results import Result

if TYPE_CHECKING:
    from pathlib import Path

    from retrograde.tablebase.schema import TierRecord
    from tablut.cli.people import PeopleConsole
    from tablut.variants import Variant

__all__ = ["TablebaseInfo", "TierResult", "info_of", "show_info", "tier_result"]


class TierResult(Result):
    """A tier: positions count placements with a side to move; everything after them counts classes."""

    attackers: int
    defenders: int
    positions: int
    classes: int
    win: int
    draw: int
    unresolved: int
    loss: int
    max_dtm: int
    bytes: int


class TablebaseInfo(Result):
    """What a tablebase holds."""

    variant: str
    format_version: int
    max_men: int
    tiers: list[TierResult]
    missing: list[str]
    positions: int
    classes: int
    bytes: int
    bytes_per_class: float


def tier_result(record: TierRecord, variant: Variant) -> TierResult:
    """Return a tier of a variant as commands answer it: each position the first of its game."""
    rules = variant.rules
    return TierResult(
        attackers=record.attackers,
        defenders=record.defenders,
        positions=2 * record.placements,
        classes=2 * record.classes,
        **record.tally(unforced(variant), rules.move_limit),
        max_dtm=record.longest(rules.move_limit),
        bytes=record.bytes,
    )


def info_of(store: Path | str) -> TablebaseInfo:
    """Return what a tablebase holds."""
    from retrograde.tablebase.probing import open_tablebase

    tablebase = open_tablebase(store)
    files = tablebase.store
    tiers = [tier_result(files.tier(*material).record, tablebase.variant) for material in files.tiers()]
    classes, size = sum(tier.classes for tier in tiers), sum(tier.bytes for tier in tiers)
    return TablebaseInfo(
        variant=tablebase.variant.name,
        format_version=files.record.version,
        max_men=tablebase.max_men,
        tiers=tiers,
        missing=[
            f"{attackers}v{defenders}" for attackers, defenders in files.planned if not files.has(attackers, defenders)
        ],
        positions=sum(tier.positions for tier in tiers),
        classes=classes,
        bytes=size,
        bytes_per_class=round(size / classes, 5) if classes else 0.0,
    )


def show_info(console: PeopleConsole, info: TablebaseInfo) -> None:
    """Print what a tablebase holds, as a table."""
    more = any(1 + tier.attackers + tier.defenders > info.max_men for tier in info.tiers)
    what = f"  tablebase, every position of at most {info.max_men} men" + (" and some tiers of more" if more else "")
    console.print(Text.assemble((info.variant, "bold"), what))
    neither = "unresolved" if any(tier.unresolved for tier in info.tiers) else "draw"
    numbers = ("positions", "classes", "win", neither, "loss", "longest", "bytes")
    table = Table(label("tier"), *map(number, numbers))
    for tier in info.tiers:
        counts = (tier.positions, tier.classes, tier.win, tier.draw + tier.unresolved, tier.loss)
        table.add(
            f"{tier.attackers}v{tier.defenders}",
            *(f"{count:,}" for count in counts),
            str(tier.max_dtm),
            f"{tier.bytes:,}",
        )
    table.add("all", f"{info.positions:,}", f"{info.classes:,}", "", "", "", "", f"{info.bytes:,}", style="bold")
    console.print(table)
    note = f"Tier: attackers v defenders. Win, {neither} and loss are of the side to move, in classes."
    console.print(note, style="dim")
    if info.positions:
        console.print(f"{info.bytes / info.positions:.4f} bytes a position")
    if info.missing:
        console.print(f"not there yet: {', '.join(info.missing)}")
