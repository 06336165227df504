"""The digests of the censuses that we have counted, to compare others with.

``published.json`` holds for each game (`Variant.digest`) the digests of its plies, as
``tablut census --json`` prints them. A digest is of game, counts and positions, and
of the plies before: two programs that agree on the last agree on everything. Under ``counted``
stand those of plies that were counted and not stored.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def _all() -> dict[str, dict[str, Any]]:
    text = (resources.files("counting.census") / "published.json").read_text(encoding="utf-8")
    return {census["game"]: census for census in json.loads(text)["censuses"]}


def published_digests(game: str) -> list[str]:
    """Return the digests of the plies of a game from ply 0 on; none if nothing is published."""
    return list(_all().get(game, {}).get("plies", []))


def published_counts(game: str) -> dict[int, str]:
    """Return the digests of the plies of a game that were counted and not stored."""
    return {int(ply): digest for ply, digest in _all().get(game, {}).get("counted", {}).items()}
