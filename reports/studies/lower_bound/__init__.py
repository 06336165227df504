"""A proved lower bound on the number of reachable positions of ashton, without sampling; see README.md."""
