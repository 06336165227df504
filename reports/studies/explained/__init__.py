"""Why positions of the reduced boards are out of reach, all of them; see README.md."""
