"""The solver's compiled passes; they see arrays and tables, neither files nor names.

A board has ranks and files, which are its *lines*. The index of a tier has *rows*, each a king and row soldiers, and
within each row *columns*, the choices of cells for column soldiers. The letters of records are in docs/architecture.md;
`c`, `h` and `j` are a workspace's `cursor`, `hops` and what is `judged`.
"""
