"""The rules of a game in words and in pictures, made from its rule fields: for documentation and explorer.

`reports.rulebook.points` reads what ``rulebook.toml`` says of each rule field; `reports.rulebook.playing` has the
engine play its scenes, under the rules of any game; `reports.rulebook.deciding` finds the rules that decide a puzzle.
"""
