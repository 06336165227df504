from .record import count_exclusions as count_exclusions
