"""The search for the best move, the players, matches between them, and the competition client and server."""
