"""The players described in the source papers: their published results repeated, and the size of their games."""
