"""Search for the best move, players, matches between players, and the client and server of the competition."""
