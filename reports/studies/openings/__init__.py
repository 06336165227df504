"""Brandubh's openings: players' claims about them, and which of the claims are proved."""
