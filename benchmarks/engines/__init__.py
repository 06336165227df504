"""Other programs that play matches, see docs/search.md."""
