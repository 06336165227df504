from .report import CensusReport as CensusReport, census as census
from .search import Resources as Resources
