"""Page on the size of the games as played in practice, and on which side they favour.

It is rendered from the stored output of ``tablut measure --json`` in ``data/measures``. The players are a random
player, the McGill paper's heuristic player, and this toolkit's search. A test repeats the measurement for small games.

References
----------
L. V. Allis, "Searching for Solutions in Games and Artificial Intelligence", thesis, Maastricht, 1994, chapter 6.
H. Matsubara, H. Iida, R. Grimbergen, "Natural developments in game research", ICCA Journal 19 (1996).
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from reports.rendering import STUDIES, Artefact, Figure, axes_of, figure, hold, page, quoted, read_stored
from tablut.play.arena.statistics import elo_of, wilson
from tablut.play.arena.tournament import GameMeasures
from tablut.provenance import Provenance
from tablut.variants import load_variant

_FOLDER: Final = STUDIES / "players"

GAMES: Final = ("ashton", "bologna", "mcgill", "leiden", "berkeley", "brandubh")
"""The full games, in page order."""


class SelfPlayer(NamedTuple):
    """A player that plays against itself, and the number of games that are measured."""

    name: str
    text: str
    games: int
    nodes: int
    variants: tuple[str, ...] = GAMES

    def command(self, variant: str) -> str:
        """Return the command that measures a variant."""
        return f"tablut measure {self.text} -v {variant} -n {self.games} --nodes {self.nodes} --json"


PLAYERS: Final = (
    SelfPlayer("random", "random", 400, 1),
    SelfPlayer("heuristic", "heuristic", 400, 1),
    SelfPlayer("alphabeta", "alphabeta", 200, 5000),
)
"""The players on the page, from the weakest to the strongest."""

_OTHERS: Final = (
    SelfPlayer("mcts", "mcts@playouts=1000", 100, 1_000_000_000, ("mcgill",)),
    SelfPlayer("mcts-heuristic", "mcts-heuristic@playouts=1000", 100, 1_000_000_000, ("mcgill",)),
)
_CLOSE: Final = 2e-6
_MOST_CUT: Final = 0.05
"""Maximum share of games that the ply limit cuts off.

Above this share, the lengths and tree sizes reflect the limit rather than the game.
"""


class KnownGame(NamedTuple):
    """A game from the literature: its name, mean branching factor, mean length, log10 of the tree size, and source."""

    name: str
    branching: str
    plies: str
    log10_tree: float
    source: str


KNOWN: Final = tuple(KnownGame(**one) for one in quoted("games", _FOLDER))
"""Values quoted from the literature, each with its source."""


def results() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the stored measurements by player and variant, in page order. All of them must exist."""
    return {
        (player.name, game): read_stored(_FOLDER / "data" / "measures", f"{player.name}-{game}", _Stored, _check)
        for player in (*PLAYERS, *_OTHERS)
        for game in player.variants
    }


class _Stored(GameMeasures):
    provenance: Provenance


def _check(stored: _Stored, name: str) -> None:
    """Check that measurements match their file name and are internally consistent."""
    player = next(one for one in (*PLAYERS, *_OTHERS) if name in {f"{one.name}-{game}" for game in one.variants})
    variant = name.removeprefix(f"{player.name}-")
    if (stored.variant, stored.player, stored.games) != (variant, player.text, player.games):
        raise ValueError(f"variant, player, games: do not match {name}")
    hold(stored.provenance.command == player.command(variant), "provenance.command: does not match these measures")
    if stored.white + stored.black + stored.draws != stored.games or stored.capped > stored.draws:
        raise ValueError("white, black, draws: do not add up to the games")
    points = stored.white + stored.draws / 2
    again = [points / stored.games, *wilson(points, stored.games)]
    given = [stored.white_score, *stored.white_score_interval]
    if len(again) != len(given) or any(abs(x - y) > _CLOSE for x, y in zip(given, again, strict=True)):
        raise ValueError("white_score: does not follow from the games")
    elo = elo_of(stored.white_score)
    if (stored.white_elo is None) != (elo is None) or abs((stored.white_elo or 0) - (elo or 0)) > 0.06:
        raise ValueError("white_elo: does not follow from the score")
    for part in ("branching", "plies", "log10_tree", "repeated"):
        found = getattr(stored, part)
        hold(found.low <= found.mean <= found.high, f"{part}: the mean is not within its interval")
        if found.low and abs(found.high + found.low - 2 * found.mean) > 3e-4:
            raise ValueError(f"{part}: the interval is not symmetric about its mean")
    hold(stored.branching.low >= 1 and stored.repeated.mean <= stored.plies.mean, "branching, repeated: are impossible")
    power = stored.plies.mean * math.log10(stored.branching.mean)
    hold(abs(stored.log10_power - power) <= 1e-2, "log10_power: does not follow from length and branching factor")


def artefacts() -> list[Artefact]:
    """Return the files for the page on the size of the games."""
    found = results()
    rows = [found[player.name, game] for player in PLAYERS for game in player.variants if (player.name, game) in found]
    return [
        page(
            "measures.md",
            "measures.md.j2",
            "studies/players",
            players=[(one, [row for row in rows if row["player"] == one.text]) for one in PLAYERS],
            balance=[(game, [(one, found.get((one.name, game))) for one in PLAYERS]) for game in GAMES],
            first={game: load_variant(game).rules.first for game in GAMES},
            verdict=_verdict,
            known=KNOWN,
            cut=[row for row in rows if _is_cut(row)],
            trees=_places([row for row in rows if row["player"] == PLAYERS[-1].text and not _is_cut(row)]),
        ),
        figure(
            "figures/measures.svg",
            _draw,
            [_point(row) for row in rows],
            "White's score and the length of games, by rule set and player",
        ),
    ]


def _is_cut(row: dict[str, Any]) -> bool:
    return bool(row["capped"] > _MOST_CUT * row["games"])


def _verdict(row: dict[str, Any]) -> str:
    """Return in words which side the games favour, and by how much, if the difference is significant."""
    low, high = row["white_score_interval"]
    if low <= 0.5 <= high:
        return "neither, as far as this shows"
    side, elo = ("white", row["white_elo"]) if low > 0.5 else ("black", row["white_elo"])
    return f"{side}, by {abs(elo):.0f} Elo" if elo is not None else f"{side}, in every game"


def _places(rows: list[dict[str, Any]]) -> list[KnownGame]:
    """Return the measured games and those from the literature, sorted by the size of their trees."""
    ours = [
        KnownGame(
            row["variant"],
            f"{row['branching']['mean']:.1f}",
            f"{row['plies']['mean']:.1f}",
            row["log10_power"],
            row["provenance"]["command"],
        )
        for row in rows
    ]
    return sorted([*ours, *KNOWN], key=lambda game: game.log10_tree)


def _point(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "game": row["variant"],
        "player": row["player"],
        "score": row["white_score"],
        "interval": row["white_score_interval"],
        "plies": row["plies"],
        "draws": row["draws"] / row["games"],
    }


def _draw(points: list[dict[str, Any]]) -> Figure:
    """Draw white's score and the length of games for each variant, with one colour per player and 95 % intervals."""
    figure, (left, right) = axes_of(7.2, 3.6, 1, 2, sharey=True)
    games = list(dict.fromkeys(point["game"] for point in points))
    players = list(dict.fromkeys(point["player"] for point in points))
    for number, (player, colour) in enumerate(zip(players, ["#b59a5b", "#2f6f8f", "#a0522d"], strict=False)):
        own = [point for point in points if point["player"] == player]
        places = [games.index(point["game"]) + 0.22 * (number - 1) for point in own]
        score = [100 * point["score"] for point in own]
        ends = [
            [abs(100 * end - at) for point, at in zip(own, score, strict=True) for end in [point["interval"][k]]]
            for k in (0, 1)
        ]
        left.errorbar(score, places, xerr=ends, fmt="o", color=colour, markersize=4, capsize=2, label=player)
        plies = [point["plies"]["mean"] for point in own]
        spread = [point["plies"]["high"] - point["plies"]["mean"] for point in own]
        right.errorbar(plies, places, xerr=spread, fmt="o", color=colour, markersize=4, capsize=2, label=player)
    left.axvline(50, color="#999999", linewidth=0.8, zorder=0)
    left.set_yticks(range(len(games)), games)
    left.invert_yaxis()
    left.set(xlim=(0, 100), xlabel="white's score, percent")
    right.set(xlim=(0, None), xlabel="plies of a game")
    figure.legend(
        *left.get_legend_handles_labels(), frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.9), ncols=3
    )
    figure.subplots_adjust(wspace=0.12)
    return figure
