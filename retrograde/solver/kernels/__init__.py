"""The solver's compiled passes. They work only on arrays and tables, not on files or names.

The ranks and files of a board are its *lines*. The index of a tier has *rows*, one for each king and choice of row
soldiers; each row has *columns*, the choices of cells for the column soldiers. Variables that hold records have short
names, listed in docs/architecture.md; `c`, `h` and `j` are a workspace's `cursor`, `hops` and `judged`.
"""
