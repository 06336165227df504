"""Small reference stores, each with the questions that it can be asked and the known right answers.

They are made by the commands that a user gives, once a session. An answer is right if it
is that of the sound store, or of an earlier state of it that is sound as well: a store
that was rolled back as a whole says nothing wrong.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.faults.running import here, run
from tests.faults.verdict import Verdict, judge, normal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.running import Run


ENOUGH: Final = 200.0
"""Seconds that making one store may take, compilation included."""
_PLACES: Final = ("5/2b2/2K2/5/5 w", "5/2b2/2K2/5/5 b", "2b2/5/1wK2/5/5 b", "2b2/1b3/3K1/5/5 w", "5/5/1bK2/5/5 b")


@dataclass(frozen=True)
class Question:
    """A command about a store, and what it may answer.

    Attributes
    ----------
    args : tuple of str
        Of `tablut`; ``STORE`` stands for the store's folder.
    answers : frozenset of str
        The right ones, as `tests.faults.verdict.normal` gives them.
    writes : bool
        Whether it may change the store.
    whole : bool
        Whether the answer is about all of the store, so that afterwards all of it must be there.
    """

    args: tuple[str, ...]
    answers: frozenset[str]
    writes: bool = False
    whole: bool = False

    @property
    def proves(self) -> bool:
        """Whether the answer says that the whole store is as it was written."""
        return "verify" in self.args

    def given(self, store: Path | str) -> list[str]:
        """Return the arguments for a store."""
        return [str(store) if word == "STORE" else word for word in self.args]


@dataclass
class Specimen:
    """A sound store.

    Attributes
    ----------
    name : str
        What tables call its kind.
    folder : Path
        Where it is; it must not be changed.
    donors : list of Path
        Folders of other stores and of other states of this one.
    questions : list of Question
        What it can be asked.
    """

    name: str
    folder: Path
    donors: list[Path] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def ask(
        self, args: Sequence[str], states: Sequence[Path] = (), *, writes: bool = False, whole: bool = False
    ) -> None:
        """Add a question; its right answers are those about the store and about its earlier states.

        Raises
        ------
        RuntimeError
            If the sound store is not answered for, or not twice alike.
        """
        answers: list[str] = []
        for number, folder in enumerate([self.folder, self.folder, *states]):
            # A copy under the store's own name: answers show it.
            place = self.folder.parent / "asked" / str(number) / self.folder.name
            shutil.rmtree(place.parent, ignore_errors=True)
            shutil.copytree(folder, place)
            given = Question(tuple(args), frozenset()).given(place.name)
            here(given, place.parent)
            shutil.rmtree(place)
            shutil.copytree(folder, place)
            ended = run(given, place.parent, limit=ENOUGH)
            answer = normal(ended.out, place.parent)
            if ended.code == 0 and answer is not None:
                answers.append(answer)
            elif number < 2:
                raise RuntimeError(f"{self.name}: {' '.join(args)} ends with {ended.code}: {ended.err}")
        if answers[0] != answers[1]:
            raise RuntimeError(f"{self.name}: {' '.join(args)} is answered in two ways")
        self.questions.append(Question(tuple(args), frozenset(answers), writes, whole))

    def put(self, question: Question, folder: Path) -> Run:
        """Ask a question about a copy of the store, in its parent folder."""
        return run(question.given(folder.name), folder.parent)

    def judged(self, ended: Run, question: Question, folder: Path) -> tuple[Verdict, str]:
        """Return the verdict on an answer, and what to say about it."""
        inside = {path.name for path in folder.rglob("*") if len(path.name) > 2}
        verdict, detail = judge(ended, folder.parent, question.answers, self.names() | inside)
        if verdict is Verdict.WRONG and missing_is_said(normal(ended.out, folder.parent)):
            return Verdict.NAMED, ""
        if verdict is Verdict.RIGHT and question.proves and (altered := _unproved(folder, self.folder)):
            return Verdict.WRONG, f"said to be sound, with {', '.join(altered[:3])} altered"
        if verdict is Verdict.RIGHT and question.whole:
            lost = [name for name in touched(folder, self.folder) if not (folder / name).exists()]
            if lost:
                return Verdict.WRONG, f"answers as if it were sound, without {', '.join(lost[:3])}"
        return verdict, detail

    def names(self) -> set[str]:
        """Return what a refusal may name: the store, its files and its folders."""
        inside = {path.name for path in self.folder.rglob("*")}
        return {self.folder.name} | {name for name in inside if len(name) > 2}


def has_command(*names: str) -> bool:
    """Return whether `tablut` lists a command, such as ``census verify``."""
    ended = run([*names[:-1], "--help"], Path.cwd())
    return any(line.split()[:1] == [names[-1]] for line in ended.out.splitlines() if line.startswith("  "))


def _make(folder: Path, *args: str) -> None:
    """Run a command that makes a store, in this process, so that its kernels stay."""
    if (code := here(args, folder)) != 0:
        raise RuntimeError(f"tablut {' '.join(args)}: exit code {code}")


# -- census --------------------------------------------------------------------------------


def census_specimens(root: Path, *, quick: bool = False) -> list[Specimen]:
    """Make censuses: complete ones of two games, unfinished ones, one without symmetry, one of a full board."""
    root.mkdir(parents=True)
    verified = has_command("census", "verify")

    def made(name: str, variant: str, *options: str, states: Sequence[str] = ()) -> Specimen:
        folder = root / name
        for state in states:
            _make(root, "census", "-v", variant, "--plies", state, "--store", f"{name}-ply-{state}", *options[1:])
        _make(root, "census", "-v", variant, *options, "--store", str(folder))
        return Specimen(name, folder)

    # The first option says how far, the others hold for every state.
    every = [
        made("census-to-ply-6", "ashton-5-4v0", "--plies=6", states=["3"]),
        made("census-brandubh", "brandubh-5-4v0", "--plies=5" if quick else "--all", states=["3"]),
    ]
    if not quick:
        every += [
            made("census-complete", "ashton-5-4v0", "--all", states=["0", "5", "6", "9"]),
            made("census-full", "ashton-5-4v0", "--plies=5", "--full", states=["3"]),
            made("census-9x9", "ashton", "--plies=2", states=["1"]),
        ]
    stale = sorted(root.glob("*-ply-*"))
    asked = {
        "census-complete": ["ashton-5-4v0", "--all"],
        "census-brandubh": ["brandubh-5-4v0", "--all"],
        "census-to-ply-6": ["ashton-5-4v0", "--all"],
        "census-full": ["ashton-5-4v0", "--plies", "6", "--full"],
        "census-9x9": ["ashton", "--plies", "3"],
    }
    tried = every[:1] if quick else every
    for specimen in tried:
        variant, *far = asked[specimen.name]
        specimen.donors = [donor.folder for donor in every if donor is not specimen] + stale
        states = [path for path in stale if path.name.startswith(f"{specimen.name}-ply-")]
        question = ["census", "-v", variant, *far, "--store", "STORE", "--resume", "--json"]
        specimen.ask(question, states, writes=True, whole=True)
        short = far[:-1] if far[0] == "--all" else far[2:]
        question = ["census", "-v", variant, "--plies", "1", *short, "--store", "STORE", "--resume", "--json"]
        specimen.ask(question, states, writes=True)
        if verified:
            specimen.ask(["census", "verify", "STORE", "--json"], _shorter(specimen.folder))
    return tried


def _shorter(folder: Path) -> list[Path]:
    """Return copies of a census from which the records of the last plies are gone, as many as there can be."""
    made = []
    plies = max(int(path.stem[4:]) for path in folder.glob("*/ply-*.json"))
    for last in range(plies):
        place = folder.parent / "shorter" / str(last) / folder.name
        shutil.copytree(folder, place)
        for path in place.glob("*/ply-*"):
            if int(path.stem[4:]) > last:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        made.append(place)
    return made


# -- tablebases and solutions --------------------------------------------------------------


def tablebase_specimens(root: Path, *, quick: bool = False) -> list[Specimen]:
    """Make tablebases of two games, and earlier states of them with fewer men."""
    root.mkdir(parents=True)

    def built(name: str, variant: str, men: int) -> Path:
        _make(root, "tablebase", "build", "-v", variant, "--men", str(men), "--store", name)
        return root / name

    folders = {"tablebase-3-men": built("tablebase-3-men", "ashton-5-4v2", 3)}
    others = [built("ashton-2-men", "ashton-5-4v2", 2), built("ashton-of-bare-king", "ashton-5-4v0", 3)]
    states = {"tablebase-3-men": [others[0]]}
    if not quick:
        folders["tablebase-4-men"] = built("tablebase-4-men", "brandubh-5-4v4", 4)
        others += [built("brandubh-3-men", "brandubh-5-4v4", 3), built("ashton-7x7", "ashton-7-4v1", 2)]
        states["tablebase-4-men"] = [others[2]]
    specimens = []
    for name, folder in folders.items():
        specimen = Specimen(name, folder, [other for other in [*folders.values(), *others] if other != folder])
        variant, men = ("ashton-5-4v2", "3") if name == "tablebase-3-men" else ("brandubh-5-4v4", "4")
        earlier = states[name]
        specimen.ask(["tablebase", "verify", "STORE", "--json"], earlier)
        specimen.ask(["tablebase", "verify", "STORE", "--quick", "--json"], earlier)
        specimen.ask(["tablebase", "info", "STORE", "--json"], earlier)
        _ask_places(specimen, earlier)
        build = ["tablebase", "build", "-v", variant, "--men", men, "--store", "STORE", "--json"]
        specimen.ask(build, earlier, writes=True)
        place = ["-v", variant, "-p", _PLACES[0], "--tablebase", "STORE", "--json"]
        specimen.ask(["puzzle", "solve", *place], earlier)
        specimens.append(specimen)
    return specimens


def solution_specimens(root: Path) -> list[Specimen]:
    """Make the solution of a small game, with that of another one beside it."""
    root.mkdir(parents=True)
    for name, variant in (("solution", "ashton-5-4v0"), ("solution-brandubh", "brandubh-5-4v0")):
        _make(root, "solve", "-v", variant, "--store", name)
    specimen = Specimen("solution", root / "solution", [root / "solution-brandubh"])
    specimen.ask(["tablebase", "verify", "STORE", "--json"])
    specimen.ask(["tablebase", "info", "STORE", "--json"])
    _ask_places(specimen, [])
    return [specimen]


def tree_specimens(root: Path) -> list[Specimen]:
    """Make the proof tree of a small game, with those of other searches beside it."""
    root.mkdir(parents=True)
    searches = {
        "tree": ("brandubh", "2b4/2K4/2bb3/7/1b5/7/7 b"),
        "tree-other": ("brandubh", "2b4/2Kb3/2b4/7/1b5/7/7 w"),
    }
    asked = {}
    for name, (variant, position) in searches.items():
        asked[name] = ["prove", "-v", variant, "-p", position, "--claim", "white", "--nodes", "300", "--memory", "1"]
        _make(root, *asked[name], "--store", name)
    specimen = Specimen("tree of a proof", root / "tree", [root / "tree-other"])
    specimen.ask([*asked["tree"], "--store", "STORE", "--json"], writes=True)
    return [specimen]


def _ask_places(specimen: Specimen, states: Sequence[Path]) -> None:
    """Ask for the value of the start and of positions with few men, those that the store can have."""
    for place in [None, *_PLACES]:
        args = ["probe", "STORE", *([] if place is None else ["-p", place]), "--json"]
        try:
            specimen.ask(args, states)
        except RuntimeError:
            # More men than the store has: a question that even a sound store refuses.
            continue
    probes = [question for question in specimen.questions if question.args[0] == "probe"]
    if len(probes) < 2:
        raise RuntimeError(f"{specimen.name}: fewer than two positions can be probed")


def _essence(path: Path, content: bytes) -> object:
    """Return what a file says but for processor seconds, which differ between stores of the same positions."""
    if path.suffix == ".json":

        def timeless(value: object) -> object:
            if isinstance(value, dict):
                seal = "sha256" if "content" in value else "cpu"
                return {key: timeless(item) for key, item in value.items() if key not in ("cpu", seal)}
            return [timeless(item) for item in value] if isinstance(value, list) else value

        return timeless(json.loads(content))
    if path.suffix == ".rows":
        # The tail: magic, version, length, seconds (8 bytes), digest, checksum (4 bytes).
        return content[:-44] + content[-36:-4]
    return content


def touched(folder: Path, sound: Path) -> list[str]:
    """Return the files of a sound store that a folder has not, or has otherwise; JSON may be laid out differently.

    What says when and where a store was made is not part of it.
    """
    found = []
    for path in sorted(sound.rglob("*")):
        name = path.relative_to(sound).as_posix()
        if path.is_dir() or path.name == "lock" or "provenance" in name:
            continue
        try:
            theirs, ours = path.read_bytes(), (folder / name).read_bytes() if (folder / name).is_file() else b""
            if _essence(path, ours) != _essence(path, theirs):
                found.append(name)
        except (OSError, ValueError):
            found.append(name)
    return found


def _unproved(folder: Path, sound: Path) -> list[str]:
    """Return the altered files of a store that is neither the one that was made nor a shorter one."""
    altered = touched(folder, sound)
    found = [re.search(r"ply-(\d{3})\.json$", name) for name in altered]
    lost = [int(match[1]) for match, name in zip(found, altered, strict=True) if match and not (folder / name).exists()]
    if not lost:
        return altered
    # Without a record, its ply and those after it are no part of the census.
    return [name for name in altered if not (ply := re.search(r"ply-(\d{3})", name)) or int(ply[1]) < min(lost)]


def missing_is_said(answer: str | None) -> bool:
    """Return whether an answer says itself that files are not there.

    `tablebase info` lists missing tiers; `census verify` says how far the count without symmetry goes.
    """
    said = {} if answer is None else json.loads(answer)
    return bool(said.get("missing")) or said.get("without_symmetry", said.get("plies")) != said.get("plies")
