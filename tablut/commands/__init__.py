"""The commands of the game itself."""

from tablut.cli.spec import command_table

__all__ = ["COMMANDS"]

COMMANDS = command_table("""
perft      count:4 tablut.commands.perft        Count move sequences; check a corpus of known counts.
    tablut perft -d 4
    tablut perft -v bologna -d 2 --divide
rank       count:5 tablut.commands.positions    The number of an undecided placement.
    tablut rank -p "9/9/9/4w4/2K6/9/9/9/4b4 b"
unrank     count:6 tablut.commands.positions    The undecided placement of a number.
    tablut unrank 123456789
symmetry   count:7 tablut.automorphisms.cli:app Verify the symmetry reduction, or draw an orbit.
    tablut symmetry verify
    tablut symmetry show -p "9/9/9/4w4/2K6/9/9/9/4b4 b"
status     reach:2 tablut.commands.positions    Say why a position is impossible.
    tablut status
play       play:1  tablut.play.cli              A game in the terminal, or on a competition server.
    tablut play --side black -v brandubh --movetime 5
    tablut play --side none --player random -v brandubh
bestmove   play:2  tablut.play.cli              One move by a player, with score and line.
    tablut bestmove --movetime 2
    tablut bestmove -v brandubh --nodes 20000
analyse    play:3  tablut.play.analysis         A game's errors, ply by ply.
    tablut analyse game.txt
match      play:4  tablut.play.arena.cli        Two players compared: score, Elo, intervals.
    tablut match alphabeta@nodes=4000 alphabeta@nodes=500 -v brandubh --games 20
tournament play:5  tablut.play.arena.cli        Every two of some players, rated.
    tablut tournament alphabeta@nodes=500 greedy random -v brandubh --games 10
measure    play:6  tablut.play.arena.cli        Branching, length and balance of a game.
    tablut measure random -v brandubh --games 20 --nodes 1
engine     play:7  tablut.play.cli              A line protocol for programs, like UCI.
    tablut engine --line "go nodes 500"
referee    play:8  tablut.play.competition.cli  A server for the Bologna competition.
    tablut referee --timeout 10 --black alphabeta
show       look:2  tablut.commands.positions    Draw a position.
    tablut show -v edge.toml --svg edge.svg
    tablut show -p start.txt
variants   look:3  tablut.commands.variants:app List the rule sets, draw one, or compare two.
    tablut variants
    tablut variants bologna
    tablut variants diff ashton bologna --samples 500
moves      look:4  tablut.commands.positions    List the legal moves of a position.
    tablut moves -v bologna
apply      look:5  tablut.commands.positions    Make moves and show where they lead.
    tablut apply e4-f4
replay     look:6  tablut.commands.records      Check a game record and step through it.
    tablut replay game.txt
convert    look:7  tablut.commands.records      Write a position or moves in another format.
    tablut convert --to opentafl -v brandubh
    tablut convert --to berkeley -v brandubh d2-e2
warmup     check:2 tablut.commands.warmup       Compile every kernel, so that nothing waits later.
    tablut warmup
""")
