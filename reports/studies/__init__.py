"""Studies: pieces of research, each with its README, code and data; they are not part of the installed package."""
