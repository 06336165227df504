"""The balance of the tafl games and the effect of single rules on it, measured by self-play of equal players."""
