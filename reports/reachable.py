"""Page on reachability: the share of the counted positions that can occur in a game.

The page is rendered from the stored output of ``tablut reachable estimate --json`` in ``reports/data/reachable``, and
from the data of the studies `lower_bound` and `explained`.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any, NamedTuple

from counting.reachable.chunks import SampleTally, share_interval
from counting.reachable.drawing import drawer_for
from counting.reachable.estimation import ReachableEstimate
from reports.census import results as census_results
from reports.rendering import (
    REDUCED_BOARDS,
    STUDIES,
    Artefact,
    Figure,
    draw_shares,
    drawing,
    figure,
    hold,
    page,
    quoted,
    read_stored_all,
)
from tablut import svg
from tablut.engine import engine_for
from tablut.position import Position, parse_square
from tablut.results import ExactInt, Result, scientific
from tablut.variants import Variant, load_variant

_FULL = ("ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh")
_FAMILY = (
    *("brandubh-federation", "saami-tablut", "sea-battle-9", "copenhagen", "fetlar"),
    *("tawlbwrdd", "tawlbwrdd-throneless", "sea-battle-11", "alea-evangelii"),
)
GAMES = (*_FULL, *_FAMILY)
"""The games whose estimates `docs/reachable.md` lists."""

_CLOSE = 1e-9
_DECIDED = "decided-"
"""Prefix in the names of stored estimates for final placements."""


class Example(NamedTuple):
    """An unreachable position on the page: its name, rule set, text, highlighted squares, and why it is unreachable."""

    name: str
    variant: str
    position: str
    squares: list[str]
    why: str


EXAMPLES = tuple(Example(**entry) for entry in quoted("unreachable"))
_PIXELS = 260


class ClosedSample(NamedTuple):
    """A sample of the stored estimates that is unreachable although no lemma excludes it.

    ``squares`` are those of a pocket. If there is none, ``tree`` is the size of the whole backward tree, otherwise 0.
    """

    variant: str
    sample: int
    squares: list[str]
    tree: int

    @property
    def position(self) -> Position:
        """The position, drawn again with seed 1."""
        variant = load_variant(self.variant)
        words, _ = drawer_for(variant).draw(1, self.sample, 1)
        engine = engine_for(variant)
        cells, side = engine.cells(engine.boards(words)[0])
        return Position(cells, "b" if side == "b" else "w")


CLOSED = tuple(ClosedSample(**entry) for entry in quoted("closed"))


def results() -> dict[str, dict[str, Any]]:
    """Return the stored estimates by variant, in page order. Variants without stored data are left out."""
    return read_stored_all("reachable", (*GAMES, *REDUCED_BOARDS), ReachableEstimate, _check)


class Share(NamedTuple):
    """The reachable share of the counted positions: a 99 % confidence interval in per cent, rounded outwards."""

    low: str
    high: str
    positions: tuple[int, int]
    counted: int
    drawn: int
    samples: int
    searches: int
    unknown: int

    @property
    def row(self) -> list[str]:
        """The game's cells in the table in `docs/reachable.md`, without its name."""
        return [scientific(self.counted), str(self.drawn), str(self.samples), f"{self.low} to {self.high} %"]


def share(name: str) -> Share | None:
    """Return the stored estimate for a variant, rounded in the same way as on every page, or None if there is none."""
    found = read_stored_all("reachable", (name,), ReachableEstimate, _check).get(name)
    if found is None:
        return None
    low, high = found["interval99"]
    return Share(
        f"{floor(1e6 * low) / 1e4:.4f}",
        f"{ceil(1e6 * high) / 1e4:.4f}",
        (int(found["positions"]["low"]), int(found["positions"]["high"])),
        int(found["counted"]),
        found["n"],
        found["lemmas"]["n"],
        found["games"]["tried"],
        found["unknown"],
    )


def decided_results() -> dict[str, dict[str, Any]]:
    """Return the stored estimates for final placements by variant. Variants without stored data are left out."""
    names = [_DECIDED + name for name in (*_FULL, *REDUCED_BOARDS)]
    found = read_stored_all("reachable", names, ReachableEstimate, _check)
    return {name.removeprefix(_DECIDED): result for name, result in found.items()}


# -- results of the studies -----------------------------------------------------------


class LowerBound(Result, extra="ignore"):
    """A proved lower bound as printed by `python -m reports.studies.lower_bound`, without the details."""

    variant: str
    positions: ExactInt
    placements: ExactInt
    counted: ExactInt
    share: float
    budget: int
    steps: int
    openings: int
    failures: list[str]
    assembled: int


def _check_lower_bound(stored: LowerBound, name: str) -> None:
    """Check that a lower bound matches its file name and is internally consistent."""
    if stored.variant != name or stored.failures or stored.positions != 2 * stored.placements:
        raise ValueError("variant, failures, positions: are not those of a proved lower bound")
    hold(0 < stored.positions <= stored.counted, "positions: are more than the counted ones")


def lower_bounds() -> dict[str, dict[str, Any]]:
    """Return the stored proved lower bounds by variant. Variants without stored data are left out."""
    return read_stored_all(STUDIES / "lower_bound" / "data", ("ashton",), LowerBound, _check_lower_bound)


class Amount(Result):
    """A number of positions, and their number of classes under the symmetries that preserve the start."""

    positions: int = 0
    classes: int = 0

    def __add__(self, other: Amount) -> Amount:
        """Return the sum of both amounts."""
        return Amount(positions=self.positions + other.positions, classes=self.classes + other.classes)


class MaterialRow(Result):
    """Numbers of positions with given material. ``closed`` counts those that no lemma excludes and no game reaches."""

    attackers: int
    defenders: int
    counted: int
    reached: int
    excluded: int
    closed: int


class ClosedReport(Result):
    """The closed set: the positions that no game reaches although no lemma excludes them."""

    all: Amount
    layers: list[Amount]
    recurrent: Amount
    after: Amount
    parts: int
    largest_part: int


class Explanation(Result):
    """Result of `python -m reports.studies.explained` for one board.

    A position excluded by several lemmas is counted under the first of them. A failure is a reached class that a lemma
    excludes, or a class of the closed set with a predecessor that is neither in the set nor excluded. ``failures`` is
    their number, and ``failed`` lists the first of them.
    """

    variant: str
    digest: str
    symmetries: int
    counted: Amount
    reached: Amount
    excluded: dict[str, Amount]
    closed: ClosedReport
    material: list[MaterialRow]
    failures: int
    failed: list[str]


def check_explanation(stored: Explanation, name: str, variant: Variant | None = None) -> None:
    """Check that an explanation matches its file name and is internally consistent.

    ``variant`` is the board's rule set, by default the built-in one with this name.
    """
    variant, closed = variant or load_variant(name), stored.closed
    if (stored.variant, stored.digest, stored.failures) != (variant.name, variant.digest, 0):
        raise ValueError("variant, failures: are not those of an explained board")
    if stored.counted != sum(stored.excluded.values(), stored.reached + closed.all):
        raise ValueError("counted: is not the sum of its parts")
    hold(closed.all == sum(closed.layers, closed.recurrent + closed.after), "closed: is not the sum of its parts")
    sums = {key: sum(getattr(row, key) for row in stored.material) for key in ("counted", "reached", "closed")}
    if sums != {
        "counted": stored.counted.positions,
        "reached": stored.reached.positions,
        "closed": closed.all.positions,
    }:
        raise ValueError("material: does not add up")


def explanations() -> dict[str, dict[str, Any]]:
    """Return the stored explanations for the reduced boards by variant. Boards without stored data are left out."""
    return read_stored_all(STUDIES / "explained" / "data", REDUCED_BOARDS, Explanation, check_explanation)


def _check(stored: ReachableEstimate, name: str) -> None:
    """Check an estimate for internal consistency, and recompute its intervals."""
    games, lemmas = stored.games, stored.lemmas
    space = "decided" if name.startswith(_DECIDED) else "undecided"
    variant = load_variant(name.removeprefix(_DECIDED))
    if (stored.variant, stored.digest, stored.space) != (variant.name, variant.digest, space):
        raise ValueError(f"variant: {stored.variant!r} ({stored.space}) is the wrong one")
    if (
        stored.n != stored.reachable + stored.unreachable + stored.unknown
        or games.tried != games.found + games.pockets + games.exhausted + games.unknown
        or (games.found, games.unknown) != (stored.reachable, stored.unknown)
        or lemmas.n != lemmas.passed + sum(lemmas.excluded.values())
    ):
        raise ValueError("n: is not the sum of its parts")
    tally = SampleTally(
        stored.n,
        stored.reachable,
        stored.unreachable,
        stored.unknown,
        lemmas.n,
        lemmas.passed,
        games.tried,
        games.outside,
        lemmas.outside,
        Fraction(int(stored.surviving), int(stored.counted)),
    )
    for level, stated in ((95, stored.interval95), (99, stored.interval99)):
        ends = share_interval(tally, 1 - level / 100)
        if max(abs(end - other) for end, other in zip(ends, stated, strict=True)) > _CLOSE:
            raise ValueError(f"interval{level}: is {stated}, but the counts give {ends}")


def artefacts() -> list[Artefact]:
    """Return the files for the page on reachability."""
    found, decided, counted, whole = results(), decided_results(), census_results(), explanations()
    full = [found[name] for name in GAMES if name in found]
    checked = [(found[name], counted[name]) for name in REDUCED_BOARDS if name in found and name in counted]
    ends = [(found[name], decided[name]) for name in _FULL if name in found and name in decided]
    return [
        page(
            "reachable.md",
            "reachable.md.j2",
            full=full,
            lower=lower_bounds(),
            checked=checked,
            explained=[_with_shares(found) for found in whole.values()],
            sampled_only=[name for name in REDUCED_BOARDS if name not in whole],
            examples=EXAMPLES,
            closed=CLOSED,
            ends=[(result, end, _labelled(result, end)) for result, end in ends],
        ),
        figure(
            "figures/reachable-shares.svg",
            _draw_shares,
            [_share(result) for result in full],
            "The share of the counted positions that is reachable",
        ),
        *(
            drawing(f"figures/reachable-{one.name}.svg", _drawn(one.variant, one.position, one.squares))
            for one in EXAMPLES
        ),
        *(
            drawing(
                f"figures/closed-{one.variant}-{one.sample}.svg", _drawn(one.variant, str(one.position), one.squares)
            )
            for one in CLOSED
        ),
    ]


def _with_shares(found: dict[str, Any]) -> dict[str, Any]:
    """Add to an explanation the sums that its table shows, such as the sum over all lemmas except `locked`."""
    layers = [layer["positions"] for layer in found["closed"]["layers"]]
    return found | {
        "unreached": found["counted"]["positions"] - found["reached"]["positions"],
        "others": sum(amount["positions"] for name, amount in found["excluded"].items() if name != "locked"),
        "first_layer": sum(layers[:1]),
        "deeper_layers": sum(layers[1:]),
        "circles": found["closed"]["recurrent"]["positions"] + found["closed"]["after"]["positions"],
    }


def _drawn(name: str, position: str, squares: list[str]) -> str:
    variant = load_variant(name)
    return svg.board(
        variant,
        Position.parse(position, variant.size),
        highlights=[parse_square(square, variant.size) for square in squares],
        pixels=_PIXELS,
    )


def _labelled(undecided: dict[str, Any], decided: dict[str, Any]) -> dict[str, Any]:
    """Return an interval for the number of reachable labelled states: undecided positions and final placements.

    Each of the two intervals has 99 % confidence, so their joint confidence is at least 98 %.
    """
    ends = [int(undecided["positions"][end]) + int(decided["positions"][end]) for end in ("low", "high")]
    return {"low": ends[0], "high": ends[1], "counted": int(undecided["counted"]) + int(decided["counted"])}


def _share(result: dict[str, Any]) -> dict[str, Any]:
    stage = result["lemmas"]
    return {
        "variant": result["variant"],
        "reachable": sum(result["interval99"]) / 2,
        "locked": stage["excluded"]["locked"] / stage["n"],
    }


def _draw_shares(shares: list[dict[str, Any]]) -> Figure:
    """Draw the reachable share of each game's counted positions."""
    bars = [(share["variant"], share["reachable"]) for share in shares]
    return draw_shares(bars, "percent of the counted positions (light: locked)", "#d9b8a4")
