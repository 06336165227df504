"""What the tasks of a process share: a tier's tables and the store; and what each thread keeps to itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from retrograde.solver.slices.plan import SlicedTier
from retrograde.tablebase.store import open_store

if TYPE_CHECKING:
    from retrograde.solver.kernels.workspace import Desk
    from retrograde.tablebase.store import Store

__all__ = ["forget_tier", "share_tier", "shared_tier", "workspace_of"]

_lock = threading.Lock()
_tiers: dict[tuple[str, tuple[int, int], str], tuple[Store, SlicedTier]] = {}
_own = threading.local()


def shared_tier(root: str, material: tuple[int, int], plan: str) -> tuple[Store, SlicedTier]:
    """Return a store and one of its tiers, ready to be solved; the last one asked for is kept."""
    key = (root, material, plan)
    with _lock:
        if key not in _tiers:
            _tiers.clear()
            store = open_store(root)
            _tiers[key] = (store, SlicedTier(store.variant, material))
        return _tiers[key]


def share_tier(root: str, plan: str, store: Store, tier: SlicedTier) -> None:
    """Have the tasks of this process use a tier whose tables are there."""
    with _lock:
        _tiers.clear()
        _tiers[root, tier.material, plan] = (store, tier)


def forget_tier() -> None:
    """Forget the tier that the tasks of this process have shared."""
    with _lock:
        _tiers.clear()


def workspace_of(tier: SlicedTier) -> Desk:
    """Return this thread's desk for a tier."""
    held: tuple[SlicedTier, Desk] | None = getattr(_own, "desk", None)
    if held is None or held[0] is not tier:
        held = (tier, tier.solver.solving_desk(tier.material))
        _own.desk = held
    return held[1]
