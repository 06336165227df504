"""Other programs as players of matches, see docs/search.md."""
