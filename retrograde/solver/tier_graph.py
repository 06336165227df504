"""The tiers of a game as a graph: captures lead strictly downwards, so it has no circles."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import networkx as nx

from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.variants import Variant, VariantLike

Material = tuple[int, int]
"""Attackers and defenders."""

_MOST_CAPTURED = 3
"""Soldiers that a ply captures at most: one on each side of its target but that it came from."""


def tier_graph(
    variant: VariantLike, men: int | None = None, materials: Sequence[Material] = ()
) -> nx.DiGraph[Material]:
    """Return the tiers and what a capture leads from each to."""
    variant = as_variant(variant)
    if not materials:
        return _tier_graph(variant, men)
    whole = _tier_graph(variant, None)
    wanted = set() if men is None else set(_tier_graph(variant, men))
    for material in materials:
        if material not in whole:
            raise InputError(
                f"--material {material[0]}v{material[1]}: {variant.name} has no tier of it; its tiers have 1 to "
                f"{variant.attackers} attackers and at most {variant.defenders} defenders"
            )
        wanted |= {material, *nx.descendants(whole, material)}
    return whole.subgraph(wanted)


@lru_cache(maxsize=64)
def _tier_graph(variant: Variant, men: int | None) -> nx.DiGraph[Material]:
    most = 1 + variant.attackers + variant.defenders if men is None else men
    if most < 2:
        raise InputError(f"--men {most}: an undecided position has two men or more, a king and an attacker")
    graph: nx.DiGraph[Material] = nx.DiGraph()
    sizes = PlacementIndex(variant).tiers
    for material, tier in sizes.items():
        if sum(material) < most:
            graph.add_node(material, positions=2 * tier.size)
    for attackers, defenders in list(graph):
        for captured in range(1, _MOST_CAPTURED + 1):
            for below in ((attackers - captured, defenders), (attackers, defenders - captured)):
                if below in graph:
                    graph.add_edge((attackers, defenders), below)
    return graph


def generations(graph: nx.DiGraph[Material]) -> list[list[Material]]:
    """Return the tiers in an order in which they can be solved; those of one list do not need each other."""
    return [sorted(tiers) for tiers in nx.topological_generations(graph.reverse(copy=False))]
