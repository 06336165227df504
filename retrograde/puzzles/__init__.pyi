from .puzzle_file import Puzzle as Puzzle
