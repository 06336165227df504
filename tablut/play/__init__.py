"""Play: the search for the best move, and the players that choose moves."""
