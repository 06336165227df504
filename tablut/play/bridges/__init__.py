"""External programs and Python objects as players, and third-party protocols for the toolkit's engine.

`factory` creates a player from its name.
"""
