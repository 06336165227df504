"""The compiled parts of the players of the sources: random play, victory paths, scores, playouts, minimax.

Importing a module of this package imports numba; importing the package does not.
"""
