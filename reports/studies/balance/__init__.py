"""The balance of the tafl games, and what single rules do to it: equal players against themselves, with intervals."""
