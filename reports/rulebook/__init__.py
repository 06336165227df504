"""The rules of a game in words and pictures, generated from its rule fields for the documentation and the explorer.

`reports.rulebook.points` reads the texts and scenes of each rule field from ``rulebook.toml``;
`reports.rulebook.playing` plays the scenes with the engine, under the rules of any game; `reports.rulebook.deciding`
finds the rules on which the solution of a puzzle depends.
"""
