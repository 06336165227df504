"""Which counted positions can be reached: lemmas, proof games, certificates and estimates."""
