"""The solver: tiers as a graph, passes over one tier, tablebases built, what a start reaches.

The door is `retrograde`; `tests.twins.solver` is the twin in plain Python.
"""
