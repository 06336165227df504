"""Fault injection: damaged stores, killed commands, and rule sets under guard pages.

By default each property tries a few cases. ``pytest -m fuzz tests/faults`` tries many from a new seed, which
``--hypothesis-seed`` sets. Commands run in this process where they cannot end it, else in processes of their own.
"""
