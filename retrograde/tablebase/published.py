"""The digests of the tables that the docs speak of, so that anyone's can be compared with ours.

``published.json`` holds, by the digest of a game, its name and a digest of the decoded values
of each tier (`retrograde.tablebase.schema.digest_of`). It is made from stores:
``python -m retrograde.tablebase.published STORE... > published.json``.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tablut.variants import Variant

Standing = Literal["same", "unknown", "different"]

_FORMAT: Final = "tablut-published-tables"
_VERSION: Final = 1


@cache
def _published() -> dict[str, Any]:
    text = (resources.files("retrograde.tablebase") / "published.json").read_text(encoding="utf-8")
    body: dict[str, Any] = json.loads(text)
    return body


def standing_of(variant: Variant, material: tuple[int, int], digest: str) -> Standing:
    """Return how a tier's values stand to the published ones."""
    game = _published()["games"].get(variant.digest)
    expected = None if game is None else game["tiers"].get(f"{material[0]}v{material[1]}")
    if expected is None:
        return "unknown"
    return "same" if expected == digest else "different"


def published_text(stores: Iterable[Path | str]) -> str:
    """Return what is to be published of some stores, every file of them checked."""
    from retrograde.tablebase.schema import digest_of
    from retrograde.tablebase.store import open_store, tier_name

    games: dict[str, dict[str, Any]] = {}
    for path in stores:
        store = open_store(path)
        game = games.setdefault(store.variant.digest, {"variant": store.variant.name, "tiers": {}})
        for material in store.planned:
            tier = store.tier(*material)
            for damage in tier.check_contents():
                raise damage
            game["tiers"][tier_name(material)] = digest_of(tier.values())
    body = {"format": _FORMAT, "version": _VERSION, "games": games}
    return json.dumps(body, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(published_text(sys.argv[1:]))
