"""The solver: the graph of tiers, the passes that solve a tier, tablebase builds, and solutions of whole games.

The public interface is in `retrograde`. `tests.twins.solver` is a second implementation in plain Python.
"""
