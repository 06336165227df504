"""Programs that play matches against the current engine; see docs/notes/search-strength.md."""
