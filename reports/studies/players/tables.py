"""Page on the McGill paper's players: the paper's tables next to our own matches, and tests of its claims.

The matches take minutes, so the page is rendered from the stored output of ``tablut match --json`` in ``data/players``.
A test plays some of the games again.

References
----------
S. Pilarski, "Designing an Effective Tablut Artificial Intelligence", tables I to VI.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.stats import binom, hypergeom

from reports.catalogue import PaperSummary
from reports.puzzles import results as solved
from reports.rendering import STUDIES, Artefact, Figure, axes_of, figure, hold, page, quoted, read_stored
from reports.studies.players.measures import results as measured
from tablut.play.arena.match import MatchSummary
from tablut.play.arena.statistics import Tally, elo_of, interval_of_share, same_chances, wilson
from tablut.provenance import Provenance

FOLDER: Final = STUDIES / "players"
_MATCHES: Final = FOLDER / "data" / "players"
_CLOSE: Final = 2e-6
_ELO_CLOSE: Final = 0.06


class StoredMatch(MatchSummary):
    """A match with its provenance."""

    provenance: Provenance


def check_match(stored: StoredMatch, variant: str, players: tuple[str, str], command: str) -> None:
    """Check that a match has the expected variant, players and command, and that its counts are consistent."""
    if (stored.variant, stored.a, stored.b) != (variant, *players):
        raise ValueError(f"a, b: {stored.a!r} against {stored.b!r} under {stored.variant!r} is another match")
    hold(stored.provenance.command == command, "provenance.command: does not match the match")
    hold(f"-n {stored.games} " in command, f"games: {stored.games} is not the number in the command")
    if set(stored.by_colour) != {"a_white", "a_black"} or set(stored.decisive_plies) != set(stored.by_colour):
        raise ValueError("by_colour: expected a_white and a_black")
    for kind, whole in (("wins", stored.a_wins), ("losses", stored.b_wins), ("draws", stored.draws)):
        if any(set(counts) != {"wins", "losses", "draws"} for counts in stored.by_colour.values()):
            raise ValueError("by_colour: expected wins, losses and draws")
        if sum(counts[kind] for counts in stored.by_colour.values()) != whole:
            raise ValueError(f"by_colour: {kind} do not add up to {whole}")
    if any(2 * sum(counts.values()) != stored.games for counts in stored.by_colour.values()):
        raise ValueError("by_colour: is not half of the games for each colour")
    hold(not stored.faults, "faults: a game was lost because of a fault")
    if sum(stored.termination.values()) != stored.games or len(stored.slowest) != 2:
        raise ValueError("termination, slowest: do not cover the games and players")
    _check_statistics(stored)


def _check_statistics(stored: StoredMatch) -> None:
    """Recompute the score and its intervals, and compare them with the stored values."""
    hold(len(stored.pairs) == 5 and 2 * sum(stored.pairs) == stored.games, "pairs: are not half as many as games")
    a, b, c, d, e = stored.pairs
    tally = Tally(stored.a_wins, stored.draws, stored.b_wins, (a, b, c, d, e))
    points = tally.wins + tally.draws / 2
    hold(b + 2 * c + 3 * d + 4 * e == 2 * points, "pairs: do not have the points of the games")
    ends = interval_of_share(tally)
    for name, given, again in (
        ("score", [stored.score], [tally.share]),
        ("score_interval", stored.score_interval, ends),
        ("score_wilson", stored.score_wilson, wilson(points, tally.games)),
    ):
        if len(given) != len(again) or any(abs(x - y) > _CLOSE for x, y in zip(given, again, strict=True)):
            raise ValueError(f"{name}: does not follow from the games")
    for stated, share in zip((stored.elo, *stored.elo_interval), (tally.share, *ends), strict=True):
        elo = elo_of(share)
        if (stated is None) != (elo is None) or abs((stated or 0) - (elo or 0)) > _ELO_CLOSE:
            raise ValueError("elo: does not follow from the score")


# -- our player against the sources' players: matches stored as ``ours-NAME`` ----------------------


WANTED: Final = 0.99
"""The score that our player should reach."""
_ENDLESS: Final = "benchmarks/rules/mcgill-endless.toml"


class Opponent(NamedTuple):
    """A player from the source papers, and the variant for its match against our player."""

    name: str
    text: str
    variant: str = "mcgill-endless"
    rules: str = _ENDLESS

    @property
    def command(self) -> str:
        """The command that plays the match."""
        games = "-n 400 --hash 8 --most-plies 1000 --grace 1 --seed 13 --json"
        return f"tablut match alphabeta@movetime=0.1 {self.text} -v {self.rules} {games}"


OPPONENTS: Final = (
    Opponent("mcts-heuristic", "mcts-heuristic@movetime=0.1"),
    Opponent("payoff", "payoff@movetime=0.1"),
    Opponent("heuristic", "heuristic@nodes=1"),
    Opponent("minimax3", "minimax3@movetime=0.1", "berkeley", "berkeley"),
)
"""The sources' strongest players. Each plays 400 games at 0.1 s per move, without a move limit."""


def own_matches() -> dict[str, dict[str, Any]]:
    """Return the stored matches, keyed by the opponent's name, in the order of `OPPONENTS`."""
    return {one.name: read_stored(_MATCHES, f"ours-{one.name}", StoredMatch, _check_own) for one in OPPONENTS}


def _check_own(stored: StoredMatch, name: str) -> None:
    """Check that a match belongs to its opponent and is internally consistent."""
    one = next(one for one in OPPONENTS if name == f"ours-{one.name}")
    check_match(stored, one.variant, ("alphabeta@movetime=0.1", one.text), one.command)


# -- the paper's tables -----------------------------------------------------------------------------

LEVEL: Final = 0.01
"""Significance level: a published result with a smaller p-value counts as incompatible with ours."""
PER_CELL: Final = 200
"""Number of games that we play for each published result."""
_MOVE_LIMIT: Final = 100
_FIFTH: Final = 0.2
_BUDGET: Final = "-v mcgill --opening 0 -n 400 --nodes 1000000000 --json"


class PublishedGames(NamedTuple):
    """A cell in a published table: the first player's results, and the mean number of moves in decided games."""

    wins: int
    losses: int
    draws: int
    moves: int

    @property
    def games(self) -> int:
        """Total number of games."""
        return self.wins + self.losses + self.draws


class PublishedPair(NamedTuple):
    """A pairing of two players in one of the paper's tables, with the published results for both colours."""

    table: str
    name: str
    first: str
    second: str
    black: PublishedGames
    white: PublishedGames
    options: str = _BUDGET
    reasons: dict[str, str] | None = None
    """Reasons why a published result differs from ours, by the first player's colour."""

    @property
    def command(self) -> str:
        """The command that plays the match."""
        return f"tablut match {self.first} {self.second} {self.options}"


PAIRINGS: Final = tuple(
    PublishedPair(**one | {side: PublishedGames(*one[side]) for side in ("black", "white")})
    for one in quoted("pairings", FOLDER)
)
"""The paper's ten pairings, each with both colours."""

_SELF_PLAY: Final = ("heuristic", "mcts", "mcts-heuristic")
"""Players whose self-play under mcgill shows how often they move back and forth."""

CLOCK: Final = PAIRINGS[2]._replace(
    name="table-3-clock", first="mcts", options="-v mcgill --opening 0 -n 40 --movetime 2 --json"
)
"""Table III again, with two seconds per move as in the paper."""


class ComparedCell(NamedTuple):
    """A cell in a published table, and our results for the same pairing."""

    pairing: PublishedPair
    side: str
    published: PublishedGames
    wins: int
    losses: int
    draws: int
    plies: float | None
    intervals: tuple[tuple[float, float], ...]
    p: float

    @property
    def compatible(self) -> bool:
        """Whether the published result is statistically compatible with ours."""
        return self.p >= LEVEL

    @property
    def near(self) -> bool:
        """Whether our mean length differs from the published length by at most a fifth."""
        return self.plies is not None and abs(self.plies / self.published.moves - 1) <= _FIFTH

    @property
    def longer(self) -> bool:
        """Whether our games are longer on average than the published ones."""
        return self.plies is not None and self.plies > self.published.moves

    @property
    def reason(self) -> str:
        """Reason why the published result differs from ours. It is defined only for incompatible cells."""
        return (self.pairing.reasons or {})[self.side]


def results() -> dict[str, dict[str, Any]]:
    """Return the stored matches by name, in the paper's order. All of them must exist."""
    return {one.name: read_stored(_MATCHES, one.name, StoredMatch, _check) for one in (*PAIRINGS, CLOCK)}


def _check(stored: StoredMatch, name: str) -> None:
    """Check that a match belongs to its pairing and is internally consistent."""
    pairing = next(one for one in (*PAIRINGS, CLOCK) if one.name == name)
    check_match(stored, "mcgill", (pairing.first, pairing.second), pairing.command)
    _check_plies(stored)


def _check_plies(stored: StoredMatch) -> None:
    """Check the mean length of all games against that of the decided games.

    All draws are due to the move limit, so every drawn game has exactly that length.
    """
    if stored.termination.get("move_limit", 0) != stored.draws:
        raise ValueError("termination: games are drawn only by the move limit")
    total = float(_MOVE_LIMIT * stored.draws)
    for colour, mean in stored.decisive_plies.items():
        decided = stored.by_colour[colour]["wins"] + stored.by_colour[colour]["losses"]
        if (mean is None) != (decided == 0) or (mean is not None and not 1 <= mean <= _MOVE_LIMIT):
            raise ValueError(f"decisive_plies: {mean} for {decided} games")
        total += decided * (mean or 0.0)
    hold(abs(total / stored.games - stored.plies) <= 0.011, "plies: is not the mean of the games")


def cells(found: dict[str, dict[str, Any]], pairings: tuple[PublishedPair, ...] = PAIRINGS) -> list[ComparedCell]:
    """Return the published cells and the stored matches' results."""
    return [_cell(pairing, side, found[pairing.name]) for pairing in pairings for side in ("black", "white")]


def _cell(pairing: PublishedPair, side: str, match: dict[str, Any]) -> ComparedCell:
    published = pairing.black if side == "black" else pairing.white
    counts = match["by_colour"][f"a_{side}"]
    ours = (counts["wins"], counts["losses"], counts["draws"])
    return ComparedCell(
        pairing,
        side,
        published,
        *ours,
        plies=match["decisive_plies"][f"a_{side}"],
        intervals=tuple(wilson(count, sum(ours)) for count in ours),
        p=same_chances(published[:3], ours),
    )


def noticed(games: int, theirs: float, ours: float) -> float:
    """Return the probability that the published result of `games` games is found to be incompatible with ours.

    Each game is won or lost. The probability of a win is `theirs` in the published games and `ours` in our own. The
    result is the power of the test: the chance that a real difference is noticed.
    """
    own, places = PER_CELL, np.arange(games + 1)
    chance = 0.0
    for wins in range(games + own + 1):  # in both samples together
        likely = hypergeom.pmf(places, games + own, wins, games)
        p = np.array([likely[likely <= one * (1 + 1e-7)].sum() for one in likely])
        both = binom.pmf(places, games, theirs) * binom.pmf(wins - places, own, ours)
        chance += float(both[p < LEVEL].sum())
    return chance


def artefacts() -> list[Artefact]:
    """Return the files for the page on the McGill paper's players."""
    found = results()
    tables = cells(found)
    games = {name: stored for (name, game), stored in measured().items() if game == "mcgill"}
    return [
        page(
            "players.md",
            "players.md.j2",
            "studies/players",
            cells=tables,
            clock=cells(found, (CLOCK,)),
            found=found,
            level=LEVEL,
            per_cell=PER_CELL,
            least_share=LEVEL ** (1 / 10),
            power={games: [(share, noticed(games, share, 0.5)) for share in (0.7, 0.8, 0.9)] for games in (10, 20)},
            patterns={one["id"]: one["solution"] for one in solved()["puzzles"]},
            measured={name: games[name] for name in _SELF_PLAY},
            final={name: found[f"table-6-{name}"] for name in ("random", "greedy", "mcts")},
            heuristic=_pace(found, games["heuristic"]),
            ours=own_matches(),
            wanted=WANTED,
        ),
        figure(
            "figures/players-tables.svg",
            _draw_cells,
            [_bar(cell) for cell in tables],
            "The results of the paper beside ours",
        ),
        Artefact("data/summary.json", lambda: (json.dumps(_summary(tables).model_dump(), indent=1) + "\n").encode()),
    ]


def _summary(tables: list[ComparedCell]) -> PaperSummary:
    return PaperSummary(
        compatible=sum(cell.compatible for cell in tables),
        cells=len(tables),
        games=sum(cell.wins + cell.losses + cell.draws for cell in tables),
        level=LEVEL,
        command=tables[0].pairing.command,
    )


def _pace(found: dict[str, dict[str, Any]], alone: dict[str, Any]) -> dict[str, float]:
    """Return the heuristic player's speed.

    The result contains the seconds per move in self-play, the slowest move of all matches, and the number of games in
    these matches.
    """
    moves = alone["games"] * alone["plies"]["mean"]
    seconds = alone["provenance"]["seconds"] - alone["provenance"]["compile_seconds"]
    seats = [
        (found[one.name]["games"], found[one.name]["slowest"][place])
        for one in PAIRINGS
        for place, player in enumerate((one.first, one.second))
        if player == "heuristic"
    ]
    return {
        "seconds": seconds / moves,
        "slowest": max(slowest for _, slowest in seats),
        "games": sum(number for number, _ in seats),
    }


def _bar(cell: ComparedCell) -> dict[str, Any]:
    first, second = (text.partition("@")[0] for text in (cell.pairing.first, cell.pairing.second))
    colour = "Muscovites" if cell.side == "black" else "Swedes"
    low, high = cell.intervals[0]
    return {
        "label": f"{cell.pairing.table}  {first} ({colour}) v {second}",
        "published": list(cell.published[:3]),
        "ours": [cell.wins, cell.losses, cell.draws],
        "wins": [low, high],
        "compatible": cell.compatible,
    }


def _draw_cells(bars: list[dict[str, Any]]) -> Figure:
    """Draw each cell as shares of wins, draws and losses, with the paper's results above ours.

    A black line marks the Wilson interval of our share of wins.
    """
    figure, axes = axes_of(7.2, 0.42 * len(bars) + 0.9)
    colours = ("#54803c", "#d9cba8", "#a0522d")
    for place, bar in enumerate(bars):
        for offset, kind, alpha in ((-0.19, "published", 0.55), (0.19, "ours", 1.0)):
            won, lost, drawn = bar[kind]
            whole, left = won + lost + drawn, 0.0
            for count, colour in zip((won, drawn, lost), colours, strict=True):
                width = 100 * count / whole
                axes.barh(place + offset, width, left=left, height=0.34, color=colour, alpha=alpha)
                left += width
        low, high = bar["wins"]
        axes.plot([100 * low, 100 * high], [place + 0.19] * 2, color="black", linewidth=1.6, solid_capstyle="butt")
    marked = [bar["label"] + ("" if bar["compatible"] else "  ≠") for bar in bars]
    axes.set_yticks(range(len(bars)), marked)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set(xlim=(0, 100), xlabel="percent won (green), drawn, lost (brown); above the paper, pale; below ours")
    return figure
