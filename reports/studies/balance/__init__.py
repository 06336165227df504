"""The balance of the tafl games, and the effect of single rules on it: self-play of equal players, with intervals."""
