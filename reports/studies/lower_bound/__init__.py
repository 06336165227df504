"""A proved lower bound of the number of reachable positions of ashton, without samples; see README.md."""
