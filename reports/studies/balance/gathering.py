"""Statistics of a cell's games: shares with Wilson intervals, length, branching, tree size, first moves, and tests.

The results are stored in game order. Games with the same number begin with the same random plies in every cell where
these plies are legal. Cells can therefore be compared game by game with a sign test, which is valid whether or not two
games with the same number have anything else in common.

References
----------
A. Agresti and Y. Min, "Simple improved confidence intervals for comparing matched proportions", Statistics in
Medicine 24 (2005).
Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57
(1995).
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from pydantic import Field
from scipy import stats

from reports.rendering import check_numbers
from reports.studies.balance.cells import HASH, OPENINGS, all_cells, shipped_cell
from tablut import __version__
from tablut.board import Board
from tablut.errors import InputError
from tablut.play.arena import measure
from tablut.play.arena.statistics import wilson
from tablut.play.players import PlayerOptions
from tablut.play.players.simple import AlphaBetaPlayer
from tablut.play.search.limits import EVALUATION_LIMIT, MATE, PROVEN, SearchLimits
from tablut.position import Move
from tablut.provenance import Provenance, commit
from tablut.results import Result
from tablut.work.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from reports.studies.balance.cells import Cell
    from tablut.play.arena import MatchPlan, MatchReport
    from tablut.variants import Variant

_LETTERS: Final = {"white": "w", "black": "b", "draw": "d"}
_POINTS: Final = {"w": 1.0, "b": 0.0, "d": 0.5}
_SHUFFLES: Final = 9_999
_KINDS: Final = ("proven", "repeated", "better")


class Row(Result):
    """One cell's statistics at one strength, as a row in the CSV file.

    ``repeated`` counts the games that ended by repetition, and the next two fields count those that white and black
    won. ``capped`` counts the games that reached the maximum number of plies. ``rest_white`` and its interval are
    white's share of the decided games that did not end by repetition. ``alike`` counts the games that begin with the
    same random plies as the game with the same number under the unchanged rule set.
    """

    cell: str
    game: str
    change: str
    nodes: int
    games: Annotated[int, Field(ge=2)]
    white: int
    black: int
    draws: int
    white_share: float
    white_low: float
    white_high: float
    black_share: float
    black_low: float
    black_high: float
    draw_share: float
    draw_low: float
    draw_high: float
    decided_white: float
    decided_low: float
    decided_high: float
    ends: str
    plies: float
    plies_low: float
    plies_high: float
    branching: float
    branching_low: float
    branching_high: float
    log10_tree: float
    log10_tree_low: float
    log10_tree_high: float
    openings: int
    first_moves: int
    first_seen: int
    first_p: float
    seconds: float
    repeated: int
    repeated_white: int
    repeated_black: int
    capped: int
    rest_white: float
    rest_low: float
    rest_high: float
    alike: int

    @property
    def rest(self) -> tuple[int, int]:
        """Numbers of games that white and black won other than by repetition."""
        return self.white - self.repeated_white, self.black - self.repeated_black


class Alternatives(Result):
    """Better moves of the sides that lost by repetition, according to searches with a number of nodes.

    The first three fields count the games by the best alternative to the side's last move. In ``proven`` games this
    move loses by force, or there is none. In ``repeated`` games it leads to another repetition that loses. In
    ``better`` games it does neither. ``left`` contains, for each game, the number of plies from the last position with
    such a better move to the end of the game, or 0 if there was no such position.
    """

    nodes: int
    proven: int
    repeated: int
    better: int
    left: tuple[int, ...]


class Played(Result):
    """A cell's games at one strength: digest of the plan, engine, results (w, b, d), and first moves up to symmetry.

    ``alternatives`` is None in data that was gathered before these were counted.
    """

    digest: str
    engine: str
    results: Annotated[str, Field(pattern=r"^[wbd]+$")]
    first: str
    alternatives: Alternatives | None = None

    @property
    def first_moves(self) -> list[str]:
        """The first move of each game."""
        return self.first.split()


class Atlas(Result):
    """The atlas's games in short form, their provenance, and the signature that `tablut bench` prints.

    ``replaced`` contains games of an earlier engine that have been played again.
    """

    provenance: Provenance
    signature: str
    played: dict[str, dict[int, Played]]
    replaced: dict[str, dict[int, Played]]
    left_out: dict[str, dict[str, str]]


def share(won: int, games: int) -> tuple[float, float, float]:
    """Return a share with its 95 % Wilson interval. If there are no games, return 0.5 with the interval from 0 to 1."""
    low, high = wilson(won, games) if games else (0.0, 1.0)
    return round(won / games if games else 0.5, 4), round(low, 4), round(high, 4)


@cache
def this_engine() -> str:
    """Return the version and the commit of the running engine, which must be the one that played the games."""
    known = commit() or "unknown"
    changes = " with uncommitted changes" if known.endswith("+") else ""
    return f"version {__version__}, commit {known[:9]}{changes}"


def added(
    rows: Iterable[Row], atlas: Atlas, before: tuple[Mapping[tuple[str, int], Row], Atlas]
) -> tuple[list[Row], Atlas]:
    """Return data with the given cells added.

    Games of another engine that they replace are kept in ``replaced``, unless the results and first moves are the same.
    """
    known, earlier = before
    played = {name: dict(found) for name, found in earlier.played.items()}
    replaced = {name: dict(found) for name, found in earlier.replaced.items()}
    for name, found in atlas.played.items():
        for nodes, new in found.items():
            old = played.setdefault(name, {}).get(nodes)
            if old is not None and old.engine != new.engine and (old.results, old.first) != (new.results, new.first):
                replaced.setdefault(name, {})[nodes] = old
            played[name][nodes] = new
    order = [cell.name for cell in all_cells()]
    merged = {**known, **{(row.cell, row.nodes): row for row in rows}}
    ordered = sorted(merged.values(), key=lambda row: (order.index(row.cell), row.nodes))
    return ordered, atlas.model_copy(update={"played": played, "replaced": replaced})


def short(report: MatchReport, plan: MatchPlan) -> Played:
    """Return a summary of the games in a report."""
    return Played(
        digest=plan.digest,
        engine=this_engine(),
        results="".join(_LETTERS[one.game.winner] for one in report.played),
        first=" ".join(first_move(plan.variant, one.game.moves[0]) for one in report.played),
        alternatives=alternatives(report, plan),
    )


def alternatives(report: MatchReport, plan: MatchPlan) -> Alternatives:
    """Search for better moves of the sides that lost by repetition, backwards from the end of each game.

    The searches have ten times as many nodes as those in the games.
    """
    limits = SearchLimits(nodes=10 * (plan.first.limits.nodes or 1))
    last, left = Counter[str](), []
    for game in (one.game for one in report.played):
        if game.termination != "repetition" or game.winner == "draw":
            continue
        board = Board(plan.variant)
        for move in game.moves:
            board.push(move)
        found: list[str] = []
        while board.ply > 0 and "better" not in found:
            chosen = board.pop()
            if board.turn != game.winner:
                score = -MATE
                if others := [move for move in board.legal_moves if move != chosen]:
                    # A used transposition table would change what the search finds, so each search needs a new player.
                    player = AlphaBetaPlayer(plan.variant, PlayerOptions(hash_mib=HASH))
                    score = player.search(board, limits, moves=others).score or 0
                found.append("proven" if score <= -PROVEN else "repeated" if score < -EVALUATION_LIMIT else "better")
        last[found[0]] += 1
        left.append(len(game.moves) - board.ply if "better" in found else 0)
    return Alternatives(nodes=limits.nodes or 0, **{kind: last[kind] for kind in _KINDS}, left=tuple(left))


def first_move(variant: Variant, move: Move) -> str:
    """Return a first move's name. All symmetric images of a move have the same name."""
    tables = [symmetry.table for symmetry in variant.start_symmetries]
    return str(Move(*min((table[move.start], table[move.target]) for table in tables), variant.size))


def row_of(cell: Cell, nodes: int, report: MatchReport, played: Played) -> Row:
    """Return a cell's statistics at one strength."""
    found = measure(cell.variant, report)
    shares = [value for won in (found.white, found.black, found.draws) for value in (won, *share(won, found.games))]
    ends = Counter(one.game.termination for one in report.played)
    repeated = Counter(one.game.winner for one in report.played if one.game.termination == "repetition")
    rest = found.white - repeated["white"], found.black - repeated["black"]
    unchanged = shipped_cell(cell.game).variant
    begun = [OPENINGS.of_pair(unchanged, number) for number in range(found.games)]
    possible = {first_move(cell.variant, move) for move in Board(cell.variant).legal_moves}
    estimated = [
        value for one in (found.plies, found.branching, found.log10_tree) for value in (one.mean, one.low, one.high)
    ]
    values = [
        *(cell.name, cell.game, cell.words, nodes, found.games, *shares[::4]),
        *(value for place, value in enumerate(shares) if place % 4),
        *share(found.white, found.white + found.black),
        "; ".join(f"{name} {count}" for name, count in ends.most_common()),
        *estimated,
        len({one.game.moves[:4] for one in report.played}),
        *(len(possible), len(set(played.first_moves)), first_move_matters(played)),
        round(sum(sum(one.game.seconds) for one in report.played), 1),
        *(repeated.total(), repeated["white"], repeated["black"], ends["ply_cap"]),
        *share(rest[0], sum(rest)),
        sum(one.game.moves[: len(first)] == first for one, first in zip(report.played, begun, strict=True)),
    ]
    return Row.model_validate(dict(zip(Row.model_fields, values, strict=True)))


def first_move_matters(played: Played) -> float:
    """Return the p-value of a permutation test of whether white's points depend on the first move."""
    points = np.array([_POINTS[letter] for letter in played.results])
    moves, place = np.unique(played.first_moves, return_inverse=True)
    member = np.eye(len(moves))[:, place]
    random = np.random.default_rng(1)
    shuffled = np.array([points, *(random.permutation(points) for _ in range(_SHUFFLES))])
    spread = ((shuffled @ member.T) ** 2 / member.sum(axis=1)).sum(axis=1)
    return round(float((spread >= spread[0] - 1e-9).mean()), 4)


def compared(first: str, second: str) -> tuple[int, int, float]:
    """Compare two cells game by game.

    Return the number of games where white did better in the second cell, the number where white did worse, and the
    p-value of the sign test.
    """
    pairs = [_POINTS[after] - _POINTS[before] for before, after in zip(first, second, strict=False)]
    better, worse = sum(pair > 0 for pair in pairs), sum(pair < 0 for pair in pairs)
    p = float(stats.binomtest(better, better + worse).pvalue) if better + worse else 1.0
    return better, worse, p


def difference(first: str, second: str) -> tuple[float, float, float]:
    """Return the increase in white's points per game from the first cell to the second, and its 95 % interval.

    Following Agresti and Min, half a game is added for each possible outcome of a pair, so that the width of the
    interval is not 0 even if no pair differs.
    """
    pairs = np.array([_POINTS[after] - _POINTS[before] for before, after in zip(first, second, strict=False)])
    many = len(pairs) + 2
    centre = pairs.sum() / many
    half = stats.norm.ppf(0.975) * np.sqrt((((pairs**2).sum() + 1) / many - centre**2) / many)
    return float(pairs.mean()), float(centre - half), float(centre + half)


def adjusted(chances: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests by the method of Benjamini and Hochberg."""
    return [float(value) for value in stats.false_discovery_control(chances)] if chances else []


def _ended(row: Row, name: str) -> int:
    """Return the number of a cell's games that ended in a given way."""
    return sum(int(count) for end, count in map(str.split, row.ends.split("; ")) if end == name)


def csv_text(rows: Iterable[Row]) -> str:
    """Return the content of a CSV file with the given rows."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Row.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.model_dump() for row in rows)
    return text.getvalue()


def read_data(folder: Path) -> tuple[dict[tuple[str, int], Row], Atlas]:
    """Return the rows by cell and strength, and the games. Raise an error if the files are inconsistent."""
    where = folder / "atlas.csv"
    table, games = read_text(where, "study data"), read_text(folder / "atlas.json", "study data", 16 << 20)
    try:
        rows = [Row.model_validate(line) for line in csv.DictReader(table.splitlines())]
        atlas = Atlas.model_validate_json(games)
        for row in rows:
            check_numbers(row.model_dump())
            played = atlas.played[row.cell][row.nodes]
            counts = [played.results.count(letter) for letter in "wbd"]
            if [row.white, row.black, row.draws] != counts or row.games != sum(counts) != len(played.first_moves):
                raise ValueError(f"{row.cell} at {row.nodes} nodes: counts differ from atlas.json")
            decided = row.decided_white, row.decided_low, row.decided_high
            rest = row.rest_white, row.rest_low, row.rest_high
            if (decided, rest) != (share(row.white, row.white + row.black), share(row.rest[0], sum(row.rest))):
                raise ValueError(f"{row.cell} at {row.nodes} nodes: shares do not follow from the counts")
            ended = [_ended(row, "repetition"), _ended(row, "ply_cap")]
            if [row.repeated, row.capped] != ended or min(row.rest) < 0:
                raise ValueError(f"{row.cell} at {row.nodes} nodes: repetitions do not follow from the ends")
            if (others := played.alternatives) is not None:
                lost = {others.proven + others.repeated + others.better, len(others.left)}
                if lost != {row.repeated_white + row.repeated_black}:
                    raise ValueError(f"{row.cell} at {row.nodes} nodes: alternatives do not match the repetitions")
    except (KeyError, ValueError) as error:
        raise InputError(
            str(error), subject=f"study data {str(where)!r}", remedy="restore the files or gather them again"
        ) from error
    return {(row.cell, row.nodes): row for row in rows}, atlas
