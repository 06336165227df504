"""The solver: the graph of tiers, the passes over one tier, tablebase builds, the positions reachable from a start.

The public interface is in `retrograde`. `tests.twins.solver` is a second implementation in plain Python.
"""
