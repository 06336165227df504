"""Search for the best move, players, matches between them, and the client and server of the competition."""
