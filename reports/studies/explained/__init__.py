"""The explanation of every unreachable position of the reduced boards; see README.md."""
