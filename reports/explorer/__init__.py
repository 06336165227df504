"""The explorer: boards, tables, puzzles and games in the browser, and the JSON API, served by one process.

`reports.explorer.app.create_app` makes the application, `reports.explorer.server.serve` runs it. Nothing in a request
names a file: rule sets come as names of those that ship or as text, tablebases are those that the person who started
the server named.
"""
