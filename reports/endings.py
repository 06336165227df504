"""Page on the endings with few men: the longest wins under best play, and mutual zugzwangs.

The page is rendered from the summaries written by `reports/studies/sources.py`, in ``reports/data/endings``, and the
output of `tablut tablebase verify --json`, in ``reports/data/verified``. Before anything is drawn, every line of play
is replayed, the positions and classes are counted again, and the tables' digests are compared with the published ones.
"""

from __future__ import annotations

import csv
import io
from typing import Any, Final

from counting.spaces import classes_by_material, spaces
from reports.rendering import Artefact, check_line, drawing, hold, page, read_stored_all
from retrograde.answers import LongestResult, TablebaseSummary, ZugzwangResult
from retrograde.solver.tier_graph import tier_graph
from retrograde.verification.verifying import Verification, standing_of
from tablut import svg
from tablut.board import Board
from tablut.position import Move, Position
from tablut.strip import draw_sheet, draw_strip
from tablut.variants import load_variant, variant_names

_PIXELS: Final = 300
_STRIP_PIXELS: Final = 150
_DRAWN: Final = 2
"""Number of mutual zugzwangs of each kind that are drawn per game."""
_PRINTED: Final = 6
"""Number of mutual zugzwangs of each kind that the page lists. The CSV file contains all of them."""


def results() -> dict[str, dict[str, Any]]:
    """Return the stored summaries by game, in page order. Games without stored data are left out."""
    return read_stored_all("endings", variant_names(), TablebaseSummary, _check)


def verified() -> dict[str, dict[str, Any]]:
    """Return the stored verifications by game. Games without stored data are left out."""
    return read_stored_all("verified", variant_names(), Verification, _check_verified)


# -- the page ------------------------------------------------------------------------------


def artefacts() -> list[Artefact]:
    """Return the files for the page on endings."""
    found, proved = results(), verified()
    games = [
        {
            **summary,
            "deepest": _deepest(summary),
            "outcomes": {kind: sum(tier[kind] for tier in summary["tiers"]) for kind in ("win", "draw", "loss")},
            "neither": sum(tier["draw"] + tier["unresolved"] for tier in summary["tiers"]),
            "verified": _whole(summary, proved.get(name)),
            "printed": _first(summary, _PRINTED),
        }
        for name, summary in found.items()
    ]
    files = [page("endings.md", "endings.md.j2", games=games)]
    for game in games:
        files += _drawings(game)
    return [*files, Artefact("data/zugzwangs.csv", lambda: _csv(found).encode())]


def _whole(summary: dict[str, Any], proof: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the verification of a game's tables if it is complete and found no difference; otherwise None."""
    if proof is None or proof["failures"] or set(proof["published"]["same"]) != set(summary["digests"]):
        return None
    # Positions that an earlier, interrupted run verified are also counted.
    return proof if proof["positions_checked"] + sum(proof["verified_before"].values()) == summary["classes"] else None


def _deepest(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each side's longest win across all tiers."""
    sides = ("white", "black")
    won = {side: [win for win in summary["longest"] if win["winner"] == side] for side in sides}
    return {side: max(won[side], key=lambda win: win["dtm"]) for side in sides if won[side]}


def _first(summary: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """Return the first ``most`` mutual zugzwangs of each kind, full ones first.

    In a full zugzwang, whichever side is to move loses. In a half zugzwang, having to move costs one side a draw.
    """
    listed = summary["zugzwangs"]["listed"]
    full = [zugzwang for zugzwang in listed if zugzwang["white"]["wdl"] == zugzwang["black"]["wdl"]]
    half = [zugzwang for zugzwang in listed if zugzwang["white"]["wdl"] != zugzwang["black"]["wdl"]]
    return full[:most] + half[:most]


def _drawings(game: dict[str, Any]) -> list[Artefact]:
    """Draw each side's longest win, some mutual zugzwangs, and the longest win of all as a strip."""
    name = game["variant"]
    variant = load_variant(name)
    boards = [
        svg.board(
            variant,
            Position.parse(win["position"], variant.size),
            arrows=[Move.parse(move, variant.size) for move in win["line"][:1]],
            caption=f"{side} wins in {win['dtm']}",
            turn=True,
            pixels=_PIXELS,
        )
        for side, win in game["deepest"].items()
    ]
    files = [_sheet(f"ending-{name}-longest", boards, f"The longest wins of {name}")]
    longest = max(game["deepest"].values(), key=lambda win: win["dtm"])
    moves = [Move.parse(move, variant.size) for move in longest["line"]]
    position = Position.parse(longest["position"], variant.size)
    strip = draw_strip(variant, position, moves, columns=6, pixels=_STRIP_PIXELS)
    files.append(drawing(f"figures/ending-{name}-strip.svg", strip))
    boards = [
        svg.board(
            variant,
            Position.parse(zugzwang["position"], variant.size),
            caption="; ".join(f"{side} to move: {_words(zugzwang[side])}" for side in ("white", "black")),
            pixels=_PIXELS,
        )
        for zugzwang in _first(game, _DRAWN)
    ]
    if boards:
        files.append(_sheet(f"ending-{name}-zugzwang", boards, f"Mutual zugzwangs of {name}"))
    return files


def _sheet(name: str, boards: list[str], title: str) -> Artefact:
    return drawing(f"figures/{name}.svg", draw_sheet(boards, 2, _PIXELS, title))


def _words(verdict: dict[str, Any]) -> str:
    return str(verdict["wdl"]) if verdict["dtm"] is None else f"{verdict['wdl']} in {verdict['dtm']}"


def _csv(found: dict[str, dict[str, Any]]) -> str:
    """Return all mutual zugzwangs of all games as CSV. Each row contains a placement without a side to move."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("variant", "placement", "white_wdl", "white_dtm", "black_wdl", "black_dtm"))
    for name, summary in found.items():
        for zugzwang in summary["zugzwangs"]["listed"]:
            verdicts = [zugzwang[side][field] for side in ("white", "black") for field in ("wdl", "dtm")]
            placement = zugzwang["position"].split()[0]
            writer.writerow([name, placement, *("" if value is None else value for value in verdicts)])
    return text.getvalue()


# -- checks --------------------------------------------------------------------------------


def _check(stored: TablebaseSummary, name: str) -> None:
    """Check a summary, compare it with exact counts and published digests, and replay its lines of play."""
    hold(stored.variant == name and not stored.missing, f"variant or missing: does not describe all of {name!r}")
    _check_tiers(stored)
    variant = load_variant(name)
    materials = {f"{tier.attackers}v{tier.defenders}": (tier.attackers, tier.defenders) for tier in stored.tiers}
    hold(stored.digests.keys() == materials.keys(), "digests: do not match its tiers")
    for tier, digest in stored.digests.items():
        hold(standing_of(variant, materials[tier], digest) != "different", f"digests.{tier}: is not the published one")
    deepest = dict.fromkeys(materials, 0)
    for win in stored.longest:
        tier = _check_longest(name, win)
        hold(tier in deepest, f"longest: {win.position!r} does not belong to any of its tiers")
        deepest[tier] = max(deepest[tier], win.dtm)
    if any(deepest[f"{tier.attackers}v{tier.defenders}"] != tier.max_dtm for tier in stored.tiers):
        raise ValueError("longest: does not have the length given by its tiers")
    listed = stored.zugzwangs.listed
    hold(stored.zugzwangs.full + stored.zugzwangs.half == len(listed), "zugzwangs: does not list all of them")
    if sum(_check_zugzwang(name, zugzwang) for zugzwang in listed) != stored.zugzwangs.full:
        raise ValueError("zugzwangs.full: is not the number of listed ones")


def _check_tiers(stored: TablebaseSummary) -> None:
    graph = tier_graph(load_variant(stored.variant), stored.max_men)
    there = {(tier.attackers, tier.defenders): tier.positions for tier in stored.tiers}
    if there != {material: graph.nodes[material]["positions"] for material in graph}:
        raise ValueError("tiers: do not have the positions of the index")
    # The classes are counted with Burnside's lemma, independently of the solver's index, which enumerates them.
    orbits = classes_by_material(spaces(stored.variant)["no_end"])
    for tier in stored.tiers:
        name = f"{tier.attackers}v{tier.defenders}"
        if tier.classes != 2 * orbits[tier.attackers, tier.defenders]:
            raise ValueError(f"tiers: {name} does not have the counted number of classes")
        if tier.win + tier.draw + tier.unresolved + tier.loss != tier.classes:
            raise ValueError(f"tiers: {name} is not the sum of its values")
    for unit in ("positions", "classes", "bytes"):
        if getattr(stored, unit) != sum(getattr(tier, unit) for tier in stored.tiers):
            raise ValueError(f"{unit}: is not the sum of its tiers")


def _check_longest(name: str, win: LongestResult) -> str:
    """Replay a longest win, and return the tier of its position."""
    check_line(name, win.position, win.line)
    variant = load_variant(name)
    position = Position.parse(win.position, variant.size)
    board = Board(variant, position)
    for move in win.line:
        hold(board.outcome() is None, f"longest: the game from {win.position!r} ends before its line")
        board.push_text(move)
    outcome = board.outcome()
    if len(win.line) != win.dtm or outcome is None or outcome.winner != win.winner:
        raise ValueError(f"longest: {win.position!r} is not won by {win.winner} in {win.dtm}")
    return "{}v{}".format(*position.material)


def _check_zugzwang(name: str, zugzwang: ZugzwangResult) -> bool:
    """Return whether a mutual zugzwang is full, that is, whether whichever side is to move loses.

    Raise `ValueError` if the position is not a mutual zugzwang.
    """
    variant = load_variant(name)
    position = Position.parse(zugzwang.position, variant.size)
    # A side without a legal move has already lost, so the distance is 0.
    over = Board(variant, position).outcome() is not None
    if position.side != "w" or over != (zugzwang.white.dtm == 0):
        raise ValueError(f"zugzwangs: {zugzwang.position!r} is decided, or black's move")
    worth = {"win": 1, "draw": 0, "unresolved": 0, "loss": -1}
    verdicts = zugzwang.white.wdl, zugzwang.black.wdl
    if not {*verdicts} <= worth.keys() or sum(worth[wdl] for wdl in verdicts) >= 0:
        raise ValueError(f"zugzwangs: {zugzwang.position!r} is not a zugzwang")
    sides = (zugzwang.white, zugzwang.black)
    if any((side.wdl in ("win", "loss")) != (side.dtm is not None) for side in sides):
        raise ValueError(f"zugzwangs: {zugzwang.position!r} has a distance for a draw, or none for a win or loss")
    return zugzwang.white.wdl == zugzwang.black.wdl == "loss"


def _check_verified(stored: Verification, name: str) -> None:
    """Check a verification report for internal consistency."""
    hold(stored.variant == name and not stored.quick, f"variant or quick: does not show whether {name!r} was verified")
    if len(stored.failed) > stored.failures or bool(stored.failed) != bool(stored.failures):
        raise ValueError("failed: does not match the number of failures")
    hold(sum(stored.samples.values()) == sum(stored.played.values()), "samples: are not the played ones")
    tiers = [tier for some in stored.published.values() for tier in some]
    if stored.published.keys() != {"same", "unknown", "different"} or len(set(tiers)) != len(tiers):
        raise ValueError("published: does not compare every tier with the published one")
    hold(stored.files_checked >= len(tiers) > 0, "files_checked: is smaller than the number of tiers")
