"""The solver's compiled passes; they work on arrays and tables only, not on files or names.

The ranks and files of a board are its *lines*. The index of a tier has *rows*, each a king and row soldiers, and
within each row *columns*, the choices of cells for column soldiers. Variables that hold records have short names,
listed in docs/architecture.md; `c`, `h` and `j` are a workspace's `cursor`, `hops` and `judged`.
"""
