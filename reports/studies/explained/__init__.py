"""Why unreachable positions of the reduced boards are out of reach, for every one of them; see README.md."""
