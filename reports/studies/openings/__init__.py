"""Brandubh's openings: claims of players, and which of them are proved."""
