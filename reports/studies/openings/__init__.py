"""Brandubh's openings: what players say of them, proved or not."""
