"""The commands of the game itself."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (
    CommandSpec(
        "variants",
        "tablut.commands.variants:variants_command",
        "List the rule sets, or draw one with all its fields.",
        20,
    ),
    CommandSpec("show", "tablut.commands.positions:show_command", "Draw a position.", 21),
    CommandSpec("moves", "tablut.commands.positions:moves_command", "List the legal moves of a position.", 22),
    CommandSpec("apply", "tablut.commands.positions:apply_command", "Make moves and show where they lead.", 23),
    CommandSpec("status", "tablut.commands.positions:status_command", "Say why a position is impossible.", 24),
    CommandSpec(
        "convert", "tablut.commands.records:convert_command", "Write a position or moves in another format.", 25
    ),
    CommandSpec("replay", "tablut.commands.records:replay_command", "Check a game record and step through it.", 26),
    CommandSpec("rank", "tablut.commands.indexing:rank_command", "The number of an undecided placement.", 27),
    CommandSpec("unrank", "tablut.commands.indexing:unrank_command", "The undecided placement of a number.", 28),
    CommandSpec(
        "perft", "tablut.commands.perft:perft_command", "Count move sequences; check a corpus of known counts.", 30
    ),
    CommandSpec("symmetry", "tablut.automorphisms.cli:app", "Verify the symmetry reduction, or draw an orbit.", 40),
    CommandSpec("bestmove", "tablut.play.cli:bestmove_command", "One move by a player, with score and line.", 60),
    CommandSpec("match", "tablut.play.arena.cli:match_command", "Two players compared: score, Elo, intervals.", 61),
    CommandSpec("tournament", "tablut.play.arena.cli:tournament_command", "Every two of some players, rated.", 62),
    CommandSpec("measure", "tablut.play.arena.cli:measure_command", "Branching, length and balance of a game.", 63),
    CommandSpec("analyse", "tablut.play.analysis.cli:analyse_command", "A game's errors, ply by ply.", 64),
    CommandSpec("play", "tablut.play.playing:play_command", "A game in the terminal, or on a competition server.", 65),
    CommandSpec("engine", "tablut.play.protocol.cli:engine_command", "A line protocol for programs, like UCI.", 66),
    CommandSpec("referee", "tablut.play.competition.cli:referee_command", "A server for the Bologna competition.", 67),
    CommandSpec(
        "warmup", "tablut.commands.warmup:warmup_command", "Compile every kernel, so that nothing waits later.", 79
    ),
    CommandSpec(
        "bench", "tablut.commands.bench:bench_command", "The behaviour fingerprint, and this machine's speeds.", 80
    ),
)
