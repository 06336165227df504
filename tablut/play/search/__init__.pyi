from .limits import MATE as MATE, PROVEN as PROVEN, SearchLimits as SearchLimits, mate_in as mate_in
from .searcher import Searcher as Searcher
