"""Compiled parts of the tablebase: batch probing, and the proof of one tier."""
