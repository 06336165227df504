"""The compiled proof of one tier."""
