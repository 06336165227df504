"""The solver's compiled passes. The passes work only on arrays and tables, not on files or names.

A *tier* is the set of all undecided positions with given numbers of attackers and defenders. `tablut.indexing.tiers`
numbers a tier's positions up to symmetry. The following terms are used in all modules of this package:

- *entry*: the number of a position within its tier, for one side to move.
- *row*: the entries with the same king and the same *row soldiers* (the defenders, or the attackers if there are no
  defenders). The other attackers are the *column soldiers*; each way to place them is a *column* of the row.
- *residual group*: the symmetries that preserve a row's king and row soldiers. The group is trivial if it contains only
  the identity. The row then has neither symmetric positions nor aliases.
- *alias*: an entry whose position is also represented by another entry, because a symmetry maps one position to the
  other. Ranking the position yields that other entry.
- *item*: the 16-bit state of an entry (`tablut.indexing.values`). A *decided* item stores the position's value. An
  *open* item counts the quiet moves that are not yet known to lose.
- *quiet move*: a move that captures nothing and therefore leads to a position in the same tier. Captures lead to lower
  tiers.
- *tactical move*: a move that may capture or end the game, as far as this can be seen from its target cell alone.
- *current row*, *current position*: the row and the position that are set up on a thread's board.
- *line*: a rank or a file of the board.
"""
