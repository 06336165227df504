"""The balance of the tafl games, and how single rules affect it, measured in games between equal players."""
