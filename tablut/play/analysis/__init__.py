"""Games analysed: each ply searched, probed and proved; errors named; the record annotated and drawn."""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from tablut.play.analysis.game import AnalysedPly, Analyst, GameAnalysis, Insight, analyse
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["AnalysedPly", "Analyst", "GameAnalysis", "Insight", "analyse"]
