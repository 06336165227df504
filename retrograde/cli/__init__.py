"""Commands for solving: their options, and how their answers are shown."""
