"""The players of the source papers: their published results repeated, and the size of the games as they play."""
