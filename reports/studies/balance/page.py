"""The page on the atlas and its figure, rendered from the study's stored data."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from math import inf
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Literal

from scipy import stats

from reports.rendering import STUDIES, Artefact, axes_of, figure, page
from reports.studies.balance.cells import CHANGED, HASH, MOST_PLIES, SHIPPED, STRENGTHS, all_cells
from reports.studies.balance.gathering import adjusted, compared, difference, read_data, share
from reports.studies.balance.points import Checks, draw_reliability
from tablut.play.search.expectation import shipped_tables
from tablut.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reports.studies.balance.gathering import Atlas, Row

FOLDER: Final = STUDIES / "balance"
DATA: Final = FOLDER / "data"
CHECKS: Final = DATA / "points.json"
WANTED: Final = 200
"""Target number of games for each cell and strength."""
_SURE: Final = 0.05
_WEAK, _STRONG = STRENGTHS
_HUMAN: Final = "people (quoted)"
_COLOURS: Final = {f"{_WEAK:,} nodes a move": "#2f6f8f", f"{_STRONG:,} nodes a move": "#d39a16", _HUMAN: "#444444"}


class Quoted(Result):
    """Human players' results and their source."""

    game: str
    white: int
    black: int
    kind: Literal["ratio", "counts"]
    what: str
    source: str


def quoted() -> list[Quoted]:
    """Return the quoted results of human players."""
    return [
        Quoted.model_validate(one)
        for one in tomllib.loads((FOLDER / "humans.toml").read_text(encoding="utf-8"))["figures"]
    ]


def favours(row: Row, *, rest: bool = False) -> str:
    """Return the side that a cell favours according to the interval for its decided games, or ``neither``.

    With ``rest``, games that ended by repetition are left out.
    """
    low, high = (row.rest_low, row.rest_high) if rest else (row.decided_low, row.decided_high)
    return "white" if low > 0.5 else "black" if high < 0.5 else "neither"


def strengths(rows: dict[tuple[str, int], Row], atlas: Atlas) -> list[dict[str, Any]]:
    """Return the cells that were played at both strengths, compared game by game."""
    found: list[dict[str, Any]] = []
    for name in [name for name, nodes in rows if nodes == _STRONG and (name, _WEAK) in rows]:
        weak, strong = rows[name, _WEAK], rows[name, _STRONG]
        pair = [atlas.played[name][nodes].results for nodes in STRENGTHS]
        better, worse, p = compared(*pair)
        found.append(
            {"weak": weak, "strong": strong, "better": better, "worse": worse, "p": p, "shift": difference(*pair)}
        )
    for one, sure in zip(found, adjusted([one["p"] for one in found]), strict=True):
        one["adjusted"] = sure
        sides = [favours(one["weak"]), favours(one["strong"])]
        one["turned"] = set(sides) == {"white", "black"}
        one["verdict"] = (
            f"turns from {sides[0]} to {sides[1]}"
            if one["turned"]
            else f"holds: {sides[0]} at both"
            if sides[0] == sides[1] != "neither"
            else "no side shown at either"
            if sides == ["neither", "neither"]
            else f"{sides[0]}, then {sides[1]}"
        )
    return found


def changes(rows: dict[tuple[str, int], Row], atlas: Atlas) -> list[dict[str, Any]]:
    """Return the changed games at the lower strength, each compared game by game with the shipped game."""
    found: list[dict[str, Any]] = []
    for row in rows.values():
        if row.cell != row.game and row.nodes == _WEAK and (row.game, _WEAK) in rows:
            pair = [atlas.played[name][_WEAK].results for name in (row.game, row.cell)]
            better, worse, p = compared(*pair)
            found.append({"row": row, "better": better, "worse": worse, "p": p, "shift": difference(*pair)})
    for one, sure in zip(found, adjusted([one["p"] for one in found]), strict=True):
        one["adjusted"] = sure
        one["verdict"] = "none shown" if sure >= _SURE else "white" if one["better"] > one["worse"] else "black"
    return found


def people(rows: dict[tuple[str, int], Row]) -> list[dict[str, Any]]:
    """Return human players' results next to the atlas's at each strength, with p-values.

    Each result is compared twice: with all decided games, and with those that did not end by repetition (``rest``).
    """
    found: list[dict[str, Any]] = []
    for one in quoted():
        for row in (rows[key] for key in ((one.game, nodes) for nodes in STRENGTHS) if key in rows):
            told = one.white / (one.white + one.black)
            both = [_chance(one, counts) for counts in ((row.white, row.black), row.rest)]
            found.append({"quoted": one, "row": row, "share": told, "p": both})
    for at, which in enumerate(("all", "rest")):
        for entry, sure in zip(found, adjusted([entry["p"][at] for entry in found]), strict=True):
            entry[which] = {"adjusted": sure, "verdict": "differ" if sure < _SURE else "no difference shown"}
    return found


def _chance(one: Quoted, counts: tuple[int, int]) -> float:
    """Return the p-value of a test whether numbers of wins by white and black agree with human players' results."""
    if one.kind == "counts":
        return float(stats.fisher_exact([counts, [one.white, one.black]])[1])
    return float(stats.binomtest(counts[0], sum(counts), one.white / (one.white + one.black)).pvalue)


def missing_hours(rows: dict[tuple[str, int], Row]) -> dict[int, float]:
    """Return the estimated hours needed at each strength to play the games that are missing."""
    each = {key: row.seconds / row.games for key, row in rows.items()}
    both = [name for name, nodes in rows if nodes == _STRONG and (name, _WEAK) in rows]
    ratios = [each[name, _STRONG] / each[name, _WEAK] for name in both]
    # For a cell without games, assume the time for the unchanged rule set. If that is unknown, assume the median time.
    ratio = median(ratios) if ratios else _STRONG / _WEAK
    usual = median(value for (_, nodes), value in each.items() if nodes == _WEAK)
    hours = dict.fromkeys(STRENGTHS, 0.0)
    for cell in all_cells():
        weak = each.get((cell.name, _WEAK), each.get((cell.game, _WEAK), usual))
        for nodes, guess in ((_WEAK, weak), (_STRONG, ratio * weak)):
            found = rows.get((cell.name, nodes))
            lacking = WANTED - (found.games if found else 0)
            hours[nodes] += max(0, lacking) * each.get((cell.name, nodes), guess) / 3600
    return hours


def _placements() -> dict[str, int]:
    """Return the exact bounds from the rendered report, keyed by game."""
    text = (STUDIES.parent / "rendered" / "data" / "bounds.json").read_text(encoding="utf-8")
    return {one["variant"]: int(one["tightened"]["distinct"]) for one in json.loads(text)["bounds"]}


def artefacts() -> list[Artefact]:
    """Return the page and its figure."""
    rows, atlas = read_data(DATA)
    cells = all_cells()
    shipped = [row for row in rows.values() if row.cell == row.game]
    first = [row for row in shipped if row.nodes == _WEAK]
    lines = []
    for game in SHIPPED:
        for cell in (cell for cell in cells if cell.game == game):
            marks = {
                f"{nodes:,} nodes a move": [row.decided_white, row.decided_low, row.decided_high, row.rest_white]
                for nodes in STRENGTHS
                if (row := rows.get((cell.name, nodes)))
            }
            told = [one.white / (one.white + one.black) for one in quoted() if one.game == cell.name]
            if marks:
                drawn = [rows[cell.name, nodes].draw_share for nodes in STRENGTHS if (cell.name, nodes) in rows]
                lines.append(
                    {
                        "name": cell.words if cell.change else f"{game} {cell.variant.size}×{cell.variant.size}",
                        "shipped": not cell.change,
                        "marks": marks,
                        "people": [round(value, 4) for value in told],
                        "draws": drawn,
                    }
                )
    return [
        page(
            "page.md",
            "page.md.j2",
            "studies/balance",
            atlas=atlas,
            shipped=shipped,
            weak=_WEAK,
            strong=_STRONG,
            wanted=WANTED,
            favours=favours,
            rows=list(rows.values()),
            most_plies=MOST_PLIES,
            rules={cell.name: cell.variant.rules.repetition.result for cell in cells},
            shipped_rules=[cell.variant.rules.repetition.result for cell in cells if not cell.change],
            engines=_engines(atlas),
            again=again(rows, atlas),
            forced=forced(rows, atlas),
            strengths=strengths(rows, atlas),
            changes=changes(rows, atlas),
            people=people(rows),
            quoted=quoted(),
            first=list(zip(first, adjusted([row.first_p for row in first]), strict=True)),
            placements=_placements(),
            hours=missing_hours(rows),
            games={nodes: sum(row.games for row in rows.values() if row.nodes == nodes) for nodes in STRENGTHS},
            counts={nodes: sorted({row.games for row in rows.values() if row.nodes == nodes}) for nodes in STRENGTHS},
            cells={nodes: sum(row.nodes == nodes for row in rows.values()) for nodes in STRENGTHS},
            missing={nodes: [cell.name for cell in cells if (cell.name, nodes) not in rows] for nodes in STRENGTHS},
            all_cells=len(cells),
            changed=CHANGED,
            changed_names=[cell.name for cell in cells if cell.change],
            hash=HASH,
            distinct=min(row.openings / row.games for row in rows.values()),
        ),
        figure(
            "figures/balance.svg",
            _draw,
            {"lines": lines, "engines": list(_engines(atlas))},
            "Share of white's wins among the decided games of each rule set",
        ),
        *_points(),
    ]


def _points() -> list[Artefact]:
    """Return the page on expected points, and its reliability diagrams."""
    content = Checks.model_validate_json(CHECKS.read_text(encoding="utf-8"))
    checks = content.checks
    drawn = [{"variant": one.variant, "bins": one.bins} for one in checks]
    return [
        page("points.md", "points.md.j2", "studies/balance", content=content, tables=shipped_tables()),
        figure("figures/points.svg", draw_reliability, drawn, "Expected points and points scored"),
    ]


def _engines(atlas: Atlas) -> dict[str, str]:
    """Return a list in words of the cells that each engine played, beginning with the engine that played most of them.

    If one engine played all cells of a game, the game's name stands for them.
    """
    engines = {
        (name, nodes): one.engine for name, played in atlas.played.items() for nodes, one in sorted(played.items())
    }
    found: dict[str, list[str]] = {engine: [] for engine, _ in Counter(engines.values()).most_common()}
    partly: dict[tuple[str, int], list[str]] = {}
    for game in SHIPPED:
        played = {cell: engine for cell, engine in engines.items() if cell[0].split("+")[0] == game}
        if len(set(played.values())) == 1:
            found[next(iter(played.values()))].append(game)
        else:
            for (name, nodes), engine in played.items():
                partly.setdefault((engine, nodes), []).append(name)
    for (engine, nodes), names in partly.items():
        found[engine].append(f"{_listed(names)} at {nodes:,} nodes")
    return {engine: _listed(played) for engine, played in found.items()}


def _listed(names: list[str]) -> str:
    """Join names with commas, and the last two with "and"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def again(rows: dict[tuple[str, int], Row], atlas: Atlas) -> list[dict[str, Any]]:
    """Return the cells that an earlier engine had played, each compared game by game with the games of that engine."""
    found: list[dict[str, Any]] = []
    for name, nodes in rows:
        if (old := atlas.replaced.get(name, {}).get(nodes)) is not None:
            pair = old.results, atlas.played[name][nodes].results
            better, worse, p = compared(*pair)
            counts = [old.results.count(letter) for letter in "wbd"]
            found.append(
                {
                    "row": rows[name, nodes],
                    "old": counts,
                    "share": share(counts[0], sum(counts[:2])),
                    "engine": old.engine,
                    "better": better,
                    "worse": worse,
                    "p": p,
                    "shift": difference(*pair),
                }
            )
    for one, sure in zip(found, adjusted([one["p"] for one in found]), strict=True):
        one["adjusted"] = sure
    return found


def forced(rows: dict[tuple[str, int], Row], atlas: Atlas) -> list[dict[str, Any]]:
    """Return the cells that contain games lost by repetition, if better moves have been searched for."""
    known = [(row, atlas.played[name][nodes].alternatives) for (name, nodes), row in rows.items()]
    return [
        {"row": row, "lost": len(found.left), "last": found, "median": median(plies or inf for plies in found.left)}
        for row, found in known
        if found is not None and found.left
    ]


def _draw(data: dict[str, Any]) -> Figure:
    """Draw one row for each rule set, with white's share of the decided games at each strength and its interval."""
    lines = data["lines"]
    figure, axes = axes_of(8.2, 0.2 * len(lines) + 1.6)
    axes.axvline(50, color="#222222", linewidth=1)
    for place, line in enumerate(lines):
        if line["shipped"]:
            axes.axhspan(place - 0.5, place + 0.5, color="#e9e6dc", linewidth=0, zorder=0)
        for shift, (name, (middle, low, high, rest)) in zip((-0.17, 0.17), line["marks"].items(), strict=False):
            at = place + (shift if len(line["marks"]) > 1 else 0)
            axes.plot([100 * low, 100 * high], [at, at], color=_COLOURS[name], linewidth=1.6, solid_capstyle="butt")
            axes.plot(100 * middle, at, "o", color=_COLOURS[name], markersize=4.5, clip_on=False)
            axes.plot(100 * rest, at, "|", color=_COLOURS[name], markersize=6, clip_on=False)
        for value in line["people"]:
            axes.plot(100 * value, place, "D", color=_COLOURS[_HUMAN], markersize=5, fillstyle="none")
        drawn = ", ".join(f"{100 * value:.0f}" for value in line["draws"])
        axes.text(101.5, place, drawn, fontsize=7, va="center", color="#444444")
    labels = axes.set_yticks(range(len(lines)), [line["name"] for line in lines])
    for tick, line in zip(labels, lines, strict=True):
        tick.label1.set_fontweight("bold" if line["shipped"] else "normal")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_xticks(range(0, 101, 25), ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(axis="x", top=True, labeltop=True)
    axes.spines[["left"]].set_visible(False)
    axes.grid(axis="x", color="#cccccc", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("white's share of the decided games, with its interval of 95 %")
    top = axes.transAxes
    far = 1 + 0.32 / (0.2 * len(lines) + 0.6)
    axes.text(0, far, "← black wins more", transform=top, fontsize=9, fontweight="bold")
    axes.text(1, far, "white wins more →", transform=top, fontsize=9, fontweight="bold", ha="right")
    axes.text(1.015, far, "draws, %", transform=top, fontsize=7, color="#444444")
    engines = "\n".join(f"engine: {engine}" for engine in data["engines"])
    axes.text(0.5, far, engines, transform=top, fontsize=6, color="#444444", ha="center")
    for name, colour in _COLOURS.items():
        people = name == _HUMAN
        axes.plot([], [], "D" if people else "o-", color=colour, fillstyle="none" if people else "full", label=name)
    axes.plot([], [], "|", color="#444444", label="without repetitions")
    axes.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.4, -0.6 / (0.2 * len(lines) + 0.6)))
    return figure
