"""What the toolkit costs in time, and how its evaluation is tuned; see docs/testing.md."""
