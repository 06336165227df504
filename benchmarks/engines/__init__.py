"""Other programs that play matches; see docs/notes/search-strength.md."""
