"""What is known of one position: estimated by search, exact where a table or a proof has it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

from tablut.play.search.searcher import Searcher
from tablut.prober import find_prober, value_of, verdict_of, within_limit
from tablut.prover import find_prover

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.locations import LocationLike
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move
    from tablut.prober import Prober, Wdl
    from tablut.prover import Prover
    from tablut.variants import Variant

__all__ = ["Analyst", "Insight", "chance_of"]

Source = Literal["rules", "tablebase", "proof", "search"]


class Insight(NamedTuple):
    """What is known of a position, for the side to move.

    Attributes
    ----------
    score : int
        In centi-logits, or a proven end; see `tablut.play.search.scores`.
    wdl : {'win', 'draw', 'loss', 'unresolved'} or None
        None where only an estimate is known.
    dtm : int or None
        Plies to the end under best play, where that is known exactly.
    best : tuple of Move
        The moves that are best: all that attain ``dtm``, or the one that search chose.
    line : tuple of Move
        The play that search expects.
    source : {'rules', 'tablebase', 'proof', 'search'}
        What ``wdl`` rests on; ``search`` also where it is None.
    """

    score: int
    wdl: Wdl | None
    dtm: int | None
    best: tuple[Move, ...]
    line: tuple[Move, ...]
    source: Source

    @property
    def chance(self) -> float:
        """Points that the side to move may expect, between 0 and 1."""
        if self.wdl is not None:
            return {"win": 1.0, "loss": 0.0}.get(self.wdl, 0.5)
        return chance_of(self.score)


def chance_of(score: int) -> float:
    """Return the points that a score promises: 100 centi-logits more, and the odds are e times as high.

    Parameters
    ----------
    score : int
        In centi-logits.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> chance_of(0), round(chance_of(100), 3), round(chance_of(-30000), 3)
    (0.5, 0.731, 0.0)
    """
    return 1 / (1 + math.exp(-max(-3000, min(3000, score)) / 100))


class Analyst:
    """Searches, probes and proves positions of a rule set.

    Parameters
    ----------
    variant : Variant
        The rule set.
    limits : SearchLimits
        Of the search of each position.
    proof_nodes : int
        Moves of the proof search for each position; 0 for none.
    tablebase : Path, Remote or str, optional
        A tablebase to probe; by default what ships.
    hash_mib, table_mib : int
        Memory of the search's table, and of the tablebases that it probes in its tree.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.search import SearchLimits
    >>> board = Board("ashton-5-4v0")
    >>> found = Analyst(board.variant, SearchLimits(nodes=500), hash_mib=1).look(board)
    >>> found.wdl, found.dtm, found.source
    ('win', 3, 'tablebase')
    """

    def __init__(
        self,
        variant: Variant,
        limits: SearchLimits,
        *,
        proof_nodes: int = 100_000,
        tablebase: LocationLike | None = None,
        hash_mib: int = 16,
        table_mib: int = 512,
    ) -> None:
        self.variant = variant
        self._limits = limits.checked()
        self._prober: Prober | None = find_prober(variant, tablebase)
        self._prover: Prover | None = find_prover(variant, proof_nodes) if proof_nodes else None
        self._searcher = Searcher(variant, hash_mib=hash_mib, prober=self._prober, table_mib=table_mib)

    def look(self, board: Board) -> Insight:
        """Return what is known of a position whose game is not over.

        Parameters
        ----------
        board : Board
            With the history of the game; not changed.

        Returns
        -------
        Insight
            A tablebase is asked before the proof search, and that before the search's own proof.

        Raises
        ------
        InputError
            If the game is over.
        """
        found = self._searcher.search(board, self._limits)
        limit = self.variant.rules.move_limit
        left = None if limit is None else limit - board.ply
        wdl: Wdl | None = None
        dtm: int | None = None
        best: tuple[Move, ...] = (found.move,)
        source: Source = "search"
        tabled = self._tabled(board, left)
        if tabled is not None:
            wdl, dtm, source = *tabled, "tablebase"
        elif self._prover is not None and (proved := self._prover.prove(board.position, left)) is not None:
            wdl, dtm, source = proved.wdl, proved.dtm, "proof"
            best = proved.best or best
        elif found.mate is not None:
            # The search's distance may be longer than the shortest, so it is no dtm.
            wdl = "win" if found.mate > 0 else "loss"
        return Insight(found.score, wdl, dtm, best, found.pv, source)

    def _tabled(self, board: Board, left: int | None) -> tuple[Wdl, int | None] | None:
        """Return what a tablebase says, the plies that are left allowed for; None if it does not know."""
        if self._prober is None or not self._prober.covers(*board.position.material):
            return None
        verdict = self._prober.probe(board.position)
        value = within_limit(value_of(verdict), left)
        found = verdict_of(value, unforced="draw" if left is not None else verdict.wdl if not value else "draw")
        return found.wdl, found.dtm
