"""Tuning of the evaluation's weights by self-play of the search: ``python -m benchmarks.tuning FILE``.

Run the command from the root of a checkout. The shipped `tablut/play/search/data/weights.json` was created with it, but
no shipped package imports this package.
"""
