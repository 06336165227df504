"""Studies: pieces of research, each with its README, code and data. They are not part of the installed package."""
