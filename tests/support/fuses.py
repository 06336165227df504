"""A scheduler that dies after some tasks, as a process that is killed between two of them."""

from pathlib import Path
from typing import Any

from tablut.work.run import LocalScheduler


class KilledError(Exception):
    """The process ends here."""


class Fuse(LocalScheduler):
    """A scheduler that dies after some new tasks, and says which they were."""

    def __init__(self, tasks: int) -> None:
        super().__init__(1)
        self.left = tasks
        self.made: list[str] = []

    def run(self, function: Any, tasks: Any, done: Any) -> list[dict[str, Any]]:
        def burning(task: Any) -> dict[str, Any]:
            if not Path(task.target).exists():
                if self.left == 0:
                    raise KilledError
                self.left -= 1
                self.made.append(Path(task.target).name)
            answer: dict[str, Any] = function(task)
            return answer

        return super().run(burning, tasks, done)
