"""The compiled proof search."""
