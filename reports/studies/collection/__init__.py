"""New puzzles for the collection that ships; see README.md."""
