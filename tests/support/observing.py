"""An observer that remembers what it was told."""

from tablut.work.progress import Observer


class Heard(Observer):
    """Remembers the notes, and of the steps together how much there was to do and how much was done."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.announced: list[str] = []
        self.done = self.total = 0

    def begin(self, step: str, total: int | None = None) -> None:
        self.notes.append(step)
        self.total += total or 0

    def advance(self, count: int = 1) -> None:
        self.done += count

    def note(self, text: str) -> None:
        self.notes.append(text)

    def announce(self, text: str, seconds: float) -> None:
        self.announced.append(text)
