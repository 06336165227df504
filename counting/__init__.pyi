from .complexity import BoundsReport as BoundsReport, bounds as bounds
