"""Other programs as players of matches, see docs/notes/search-strength.md."""
