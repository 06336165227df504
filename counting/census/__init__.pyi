from .report import CensusReport as CensusReport, census as census
