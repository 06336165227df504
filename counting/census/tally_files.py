"""Tallies as files of a store: their names, what they belong to, and what they add up to.

A tally lies in one hundredth of the bins (`counting.census.count_record`), and belongs to its bins,
whatever pass counted them. Here a store's tallies are put together, each hundredth without a gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counting.census.count_record import Hundredth, edge, hundredth_of
from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.row_head import Owner, TallyStats, damaged, digest_of
from counting.census.row_sums import leaves_digest, part_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counting.census.row_head import RowFile

_NUMBERS = ("new", "new_classes", "decided", "decided_classes")


def bins_of(file: RowFile) -> tuple[int, int]:
    """Return the bins of a tally."""
    stats = file.header.stats
    return stats.bins if isinstance(stats, TallyStats) else (0, 0)


def tally_name(bins: tuple[int, int]) -> str:
    """Return the name of the tally of some bins."""
    return f"tally-{bins[0]:04}-{bins[1]:04}.rows"


def tally_owner(game: str, full: bool, ply: int, before: str, bins: tuple[int, int]) -> Owner:
    """Return what the tally of some bins belongs to: to the bins, whatever else is counted with them."""
    return Owner(game, full, ply, bins[0], digest_of(["tally", before, *bins])[:32])


def count_sums(files: Sequence[RowFile]) -> dict[str, Any]:
    """Return what tallies add up to, as `CountRecord` has it; of each hundredth that they cover."""
    shares: dict[int, list[RowFile]] = {}
    for file in files:
        bins = bins_of(file)
        if (number := hundredth_of(bins)) is None:
            raise damaged(file.path, "it lies in several hundredths")
        some = shares.setdefault(number, [])
        if bins[0] != (bins_of(some[-1])[1] if some else edge(number)):
            raise damaged(file.path, "it does not begin where the tally before ends")
        some.append(file)
    for number, some in shares.items():
        if bins_of(some[-1])[1] != edge(number + 1):
            raise damaged(some[-1].path, "it does not reach the end of its hundredth")
    stats = [file.header.stats.model_dump() for file in files]
    return {
        **part_sums(stats),
        "expanded": tuple(sum(each["expanded"][place] for each in stats) for place in range(EXPANSION_COUNTERS)),
        "leaves": leaves_digest(files),
        "hundredths": tuple(_hundredth(number, some) for number, some in sorted(shares.items())),
    }


def _hundredth(number: int, files: Sequence[RowFile]) -> Hundredth:
    """Return what the tallies of a hundredth add up to."""
    stats = [file.header.stats.model_dump() for file in files]
    return Hundredth(
        number=number,
        children=sum(each["children"] for each in stats),
        leaves=leaves_digest(files),
        **{name: sum(each["counters"][name] for each in stats) for name in _NUMBERS},
    )
