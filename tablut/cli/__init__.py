"""The ``tablut`` command."""
