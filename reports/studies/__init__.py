"""Studies: pieces of research, each with its README, code and data; no part of what is installed."""
