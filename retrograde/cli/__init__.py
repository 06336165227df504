"""The commands that solve, each a module: what a user types, and how the answer is shown."""
