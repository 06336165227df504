"""The commands that solve."""

from tablut.cli.spec import command_table

COMMANDS = command_table("""
solve     solve:1 retrograde.cli.making        Solve a reduced board completely: who wins.
    tablut solve -v brandubh-5-4v0
puzzle    solve:2 retrograde.cli.puzzle:app    Solve puzzles; prove wins, losses and draws.
    tablut puzzle list --variant mcgill --max-plies 5
    tablut puzzle show brandubh-02 --hint
    tablut puzzle play brandubh-02
    tablut puzzle solve -v brandubh -p "7/7/2bb3/b2Kw1w/6w/7/1b1b3 w" --save-proof proof.jsonl
    tablut puzzle solve collection
    tablut puzzle check proof.jsonl
    tablut puzzle make -v mcgill --count 5 --seed 1 --min-plies 5 --out new.txt
probe     solve:3 retrograde.cli.tablebase     Look a position up in a tablebase.
    tablut probe -p "9/9/9/4w4/2K6/9/9/9/4b4 b"
tablebase solve:4 retrograde.cli.tablebase:app Build, describe and verify endgame tablebases.
    tablut tablebase build --men 4 --store endings
    tablut tablebase info endings
    tablut tablebase verify endings
    tablut tablebase query endings --zugzwang any
""")
