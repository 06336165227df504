"""A model of the resources needed to solve brandubh completely; see README.md."""
