"""Commands about the game itself: positions, moves, rule sets, records, perft."""
