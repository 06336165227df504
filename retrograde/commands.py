"""The commands that solve."""

from tablut.cli.spec import CommandSpec

COMMANDS = (
    CommandSpec(
        "solve",
        "retrograde.cli.making:solve_command",
        "Solve a reduced board completely: who wins.",
        50,
        examples=("tablut solve -v brandubh-5-4v0",),
    ),
    CommandSpec(
        "tablebase",
        "retrograde.cli.tablebase:app",
        "Build, describe and verify endgame tablebases.",
        52,
        examples=(
            "tablut tablebase build --men 4 --store endings",
            "tablut tablebase info endings",
            "tablut tablebase verify endings",
            "tablut tablebase query endings --zugzwang any",
        ),
    ),
    CommandSpec(
        "probe",
        "retrograde.cli.tablebase:probe_command",
        "Look a position up in a tablebase.",
        54,
        examples=('tablut probe -p "9/9/9/4w4/2K6/9/9/9/4b4 b"',),
    ),
    CommandSpec(
        "puzzle",
        "retrograde.cli.puzzle:app",
        "Solve puzzles; prove wins, losses and draws.",
        55,
        examples=(
            "tablut puzzle list --variant mcgill --max-plies 5",
            "tablut puzzle show brandubh-02 --hint",
            "tablut puzzle play brandubh-02",
            'tablut puzzle solve -v brandubh -p "7/7/2bb3/b2Kw1w/6w/7/1b1b3 w" --save-proof proof.jsonl',
            "tablut puzzle solve collection",
            "tablut puzzle check proof.jsonl",
            "tablut puzzle make -v mcgill --count 5 --seed 1 --min-plies 5 --out new.txt",
        ),
    ),
)
