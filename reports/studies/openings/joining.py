"""Proofs of positions that together prove the position before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.proofs.proof_tree import CHILD, TASK
from retrograde.proofs.proving import answer_of, below_of, strategy_answer
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retrograde.proofs.proving import ProofRun


def adopt(run: ProofRun, others: Iterable[ProofRun]) -> None:
    """Use other runs as if they were tasks of a run.

    The other runs search for proofs of the same claim from the positions one ply later.
    """
    engine, root = run.engine, run.tree.root
    own = np.frombuffer(root.words, dtype=np.uint64)[None]
    children, proved = engine.expand(own), {other.tree.root.words: other for other in others}
    ends = [OUTCOMES[code] for code in children.outcomes.tolist()]
    if root.mine == run.holds and any(one and one.winner != run.winner for one in ends):
        return  # a reply ends the game without a win for the claim's side, so the other runs cannot prove the claim
    below = below_of(engine, own)
    numbers, strategies = [(1, 1, -1, 0)] * (1 + len(below)), []
    for at, words in enumerate(map(bytes, below), 1):
        if (other := proved.get(words)) is not None:
            found = other.tree.root
            numbers[at] = found.proof, found.disproof, found.plies, other.tree.made
            if other.whole is not None:
                strategies.append(strategy_answer(below[at - 1 : at], other.whole, numbers[at]))
    rows = answer_of(TASK, CHILD, np.concatenate([own, below]), numbers)
    run.add(np.concatenate([rows, *strategies]))
