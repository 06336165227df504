"""The explanation of every unreachable position on the reduced boards; see README.md."""
