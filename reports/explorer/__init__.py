"""The explorer: boards, tables, puzzles and games in the browser, plus the JSON API, served by one process.

`reports.explorer.app.create_app` creates the application and `reports.explorer.server.serve` runs it. A request can
never name a file. A request gives a rule set as text or by a built-in rule set's name, and the person who starts the
server chooses the tablebases.
"""
