"""Creation of new puzzles for the shipped collection; see README.md."""
