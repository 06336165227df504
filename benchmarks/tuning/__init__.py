"""Weights of the evaluation, from games of the search against itself: ``python -m benchmarks.tuning FILE``.

Run it from the root of a checkout. It makes `tablut/play/search/data/weights.json`; nothing that ships imports it.
"""
