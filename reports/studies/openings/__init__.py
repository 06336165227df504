"""Brandubh's openings: the claims that players make about them, and proofs of some of these claims."""
