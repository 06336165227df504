"""Commands for solving: their options, and how their results are shown."""
