"""The balance of the tafl games, and the effect of single rules on it, measured in games between equal players."""
