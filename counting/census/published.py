"""The digests of the censuses that we have counted, to compare others with.

``published.json`` holds for each game (`Variant.digest`) the digests of its plies, as
``tablut census --json`` prints them. A digest is of game, counts and positions, and
of the plies before: two programs that agree on the last agree on everything.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

__all__ = ["published_digests"]


@cache
def _all() -> dict[str, list[str]]:
    text = (resources.files("counting.census") / "published.json").read_text(encoding="utf-8")
    return {census["game"]: census["plies"] for census in json.loads(text)["censuses"]}


def published_digests(game: str) -> list[str]:
    """Return the digests of the plies of a game from ply 0 on; none if nothing is published.

    Parameters
    ----------
    game : str
        `Variant.digest`.

    Returns
    -------
    list of str
        64 hexadecimal digits each.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> len(published_digests(load_variant("ashton-5-4v0").digest))
    17
    >>> published_digests("0" * 64)
    []
    """
    return list(_all().get(game, []))
