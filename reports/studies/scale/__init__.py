"""What it would take to solve brandubh whole, by a model; see README.md."""
