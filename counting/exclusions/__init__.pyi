from .counts import count_exclusions as count_exclusions
