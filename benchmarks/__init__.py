"""Benchmarks of the toolkit, and the tuning of its evaluation; see docs/testing.md."""
