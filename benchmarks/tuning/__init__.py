"""Tuning of the evaluation's weights by self-play of the search: ``python -m benchmarks.tuning FILE``.

Run it from the root of a checkout. It created `tablut/play/search/data/weights.json`. Installed packages do not
import it.
"""
