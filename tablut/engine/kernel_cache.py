"""Compiled kernels on disk: a sealed file for each, checked before use, and rebuilt if it is damaged or stale.

numba's own cache unpickles whatever it finds: a file cut short is an UnpicklingError,
one with a flipped bit can crash the process, and either stays until someone deletes it.
Here a file begins with a magic line, the digest of what it was made from, the length of
the rest and the digest of all of it. A file that does not match is ignored: the kernel is
compiled again and the file replaced. A file is written under a temporary name and
renamed, so that processes that write at once, or are killed, leave whole files. A process
that compiles a kernel holds a lock: another one that needs the same kernel waits for the
file, because compiling it as well takes as long and keeps a second core busy.

The digest finds damage, not malice: a compiled kernel is code, and whoever can write to
the folder can make it run other code. The folder is numba's: ``NUMBA_CACHE_DIR`` if that
is set, else ``__pycache__`` beside the source, else, if that cannot be written, the user's
cache folder. Where nothing can be written, everything works without a cache.
"""

from __future__ import annotations

import atexit
import hashlib
import pickle
import re
import secrets
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import llvmlite
import numba
import numba.core.config
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from tablut.engine.parts import PartContext
from tablut.errors import TablutError
from tablut.running import clocks
from tablut.store.files import read_bytes, write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from filelock import FileLock

_config: Any = numba.core.config

_MAGIC: Final = b"tablut kernel 1\n"
_DIGEST: Final = 32
_LENGTH: Final = 8
_HEAD: Final = len(_MAGIC) + _DIGEST + _LENGTH + _DIGEST
_MOST: Final = 1 << 28
"""Most bytes of a file: a hundred times the largest kernel."""
_ABANDONED: Final = 3600
"""Seconds after which a temporary file or a lock is one that a killed process left."""
_PATIENCE: Final = 120.0
"""Seconds that a process waits for another that compiles the same kernel; the largest takes a tenth of that."""


def seal(key: bytes, payload: bytes) -> bytes:
    """Return the content of a cache file."""
    length = len(payload).to_bytes(_LENGTH, "little")
    return _MAGIC + key + length + hashlib.sha256(key + length + payload).digest() + payload


def unseal(key: bytes, content: bytes) -> bytes | None:
    """Return the payload of a cache file."""
    payload = content[_HEAD:]
    return payload if content == seal(key, payload) else None


def _types(sig: Any) -> tuple[str, ...]:
    return tuple(repr(argument) for argument in _arguments(sig))


def _arguments(sig: Any) -> tuple[Any, ...]:
    return sig if isinstance(sig, tuple) else tuple(sig.args)


_IMPORT: Final = re.compile(r"^(?:from ([\w.]+) )?import (\([^)]*\)|[^\n#]*)", re.MULTILINE)
"""What a module imports when it is imported itself: such lines are not indented, those for checkers are."""
_COMPILER: Final = "tablut.engine.parts"
_OWN: Final = ("symmetry", "tablut", "counting", "retrograde", "reports")


_stamps: Final[dict[str, tuple[int, ...]]] = {}
"""What the source file of each module was when it had been imported."""


def _stamp(module: str) -> tuple[int, ...]:
    """Return what changes with a source file; whether a date lies before or after now says nothing on other clocks."""
    found = _path_of(module).stat()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@cache
def _stamp_sources(module: str) -> None:
    """Note, when the first kernel of a module is made, what its source is and those of all that was imported before."""
    for name in list(sys.modules):
        if (name == module or name.partition(".")[0] in _OWN) and name not in _stamps and _path_of(name).is_file():
            _stamps[name] = _stamp(name)


@cache
def source_digest(module: str, path: Path) -> str:
    """Return the SHA-256, in hexadecimal, of all sources that a module's kernels can be made of.

    These are the module and what it imports of the packages, directly or not: a kernel inlines functions and
    freezes constants from anywhere among them. If one was changed since this process imported it, what runs may be
    what stood there before: then the digest is one that no other process has.
    """
    digest, found = hashlib.sha256(), imported_sources(module, path)
    for name, source in sorted(found.items()):
        digest.update(f"{name} {len(source)}\n".encode() + source)
    if any(_stamp(name) != _stamps[name] for name in _stamps.keys() & found.keys()):
        digest.update(secrets.token_bytes(_DIGEST))
    return digest.hexdigest()


def imported_sources(module: str, path: Path) -> dict[str, bytes]:
    """Return a module's source, and those of the packages' modules that it imports, directly or not, by name."""
    sources = {module: path.read_bytes()}
    waiting = imported_modules(sources[module].decode())
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources[name] = _path_of(name).read_bytes()
            waiting += imported_modules(sources[name].decode())
    return sources


def imported_modules(source: str) -> list[str]:
    """Return the packages' modules that a module's source imports when it runs, without what those import.

    A name that a package's door gives on comes from the module where the door finds it.
    """
    found = []
    for package, listed in _IMPORT.findall(source):
        names = [name.split(" as ")[0].strip() for name in re.sub(r"#[^\n]*|[()]", "", listed).split(",")]
        for name in filter(None, names):
            target = f"{package}.{name}" if package else name
            # What has no file stands in a text, not among the imports.
            if target.split(".")[0] in _OWN and _path_of(home := _home(target)).name:
                found.append(home)
    return found


@cache
def _home(name: str) -> str:
    """Return the module in which an imported name is at home: itself, the module before the dot, or beyond a door."""
    if _path_of(name).name:
        return name
    package, _, attribute = name.rpartition(".")
    if (door := _path_of(package)).name == "__init__.py":
        stub = door.with_suffix(".pyi")  # a door that loads what it gives on when that is asked for
        source = (stub if stub.exists() else door).read_text(encoding="utf-8")
        given_on = re.search(rf"^from ([\w.]+) import (?:\([^)]*\b{attribute}\b|[^\n(]*\b{attribute}\b)", source, re.M)
        if given_on is not None:
            return _home(f"{package * given_on[1].startswith('.')}{given_on[1]}.{attribute}")
    return package


@cache
def _path_of(module: str) -> Path:
    """Return the source file of a module, an empty path if there is none of that name."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        return Path(loaded.__file__ or "")
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # what stands before the dot is no package
        return Path()
    return Path((found and found.origin) or "")


class KernelCache(FunctionCache):
    """numba's cache of one function, with sealed files in place of its own, and all sources in the key."""

    def __init__(self, function: Callable[..., Any], *, whole: bool) -> None:
        super().__init__(function)
        self._whole = whole
        self._source = function.__module__, Path(function.__code__.co_filename)
        self._locks: dict[tuple[str, ...], FileLock] = {}

    def path(self, sig: Any, codegen: Any) -> Path:
        """Return the file of one version of the function: for argument types, a machine and a compiler."""
        versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version_info[:3])
        settings = (str(_config.OPT), _config.LOOP_VECTORIZE, _config.SLP_VECTORIZE)
        text = repr((_types(sig), codegen.magic_tuple(), versions, settings))
        return (
            Path(self._cache_path)
            / f"{self._impl.filename_base}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.kernel"
        )

    def key(self, sig: Any, codegen: Any) -> bytes:
        """Return the digest of everything that a compiled version depends on."""
        _, machine, code = self._index_key(sig, codegen)
        # Every kernel is compiled by the parts' compiler, which its module does not import itself.
        sources = source_digest(*self._source), source_digest(_COMPILER, _path_of(_COMPILER))
        text = (self.path(sig, codegen).name, machine, code, sources)
        return hashlib.sha256(repr(text).encode()).digest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled version for argument types; if there is none, lock it until it has been compiled."""
        found = self._found(sig, target_context)
        if found is None:
            self._lock(sig, target_context.codegen())
            found = self._found(sig, target_context)
            if found is not None:
                self.unlock(sig)
        return found

    def _found(self, sig: Any, target_context: Any) -> Any:
        """Return what the file of a version holds, or None."""
        clocks.begin(loads=True)
        found = None
        try:
            found = super().load_overload(sig, target_context)
        finally:
            clocks.end(clocks.described(self._py_func, _arguments(sig)), done=found is not None, loads=True)
        return found

    def _lock(self, sig: Any, codegen: Any) -> None:
        """Wait until no other process compiles a version, and keep others from it; without a lock if that fails."""
        from filelock import FileLock, Timeout

        path = self.path(sig, codegen)
        if _types(sig) in self._locks:
            return
        lock = FileLock(path.with_name(f".{path.name}.lock"), thread_local=False)
        clocks.begin()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=_PATIENCE)
        except (Timeout, OSError, NotImplementedError):
            return  # the other process hangs, or the folder takes no locks: compiling twice is only slower
        finally:
            clocks.end("", done=False)
        self._locks[_types(sig)] = lock

    def unlock(self, sig: Any) -> None:
        """Let other processes have a version: it is kept, or could not be compiled."""
        lock = self._locks.pop(_types(sig), None)
        if lock is not None:
            with suppress(OSError):
                # Who waits has the file open, and finds the kernel; who comes later makes a new one.
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled version; if it cannot be kept, print a warning once."""
        clocks.begin(loads=True)
        try:
            super().save_overload(sig, data)
        finally:
            clocks.end("", done=False, loads=True)
            self.unlock(sig)

    def payload(self, sig: Any, codegen: Any) -> bytes | None:
        """Return what the file of a version holds, None if it has none that is whole and current."""
        try:
            content = read_bytes(self.path(sig, codegen), "compiled kernel", _MOST)
        except TablutError:
            return None  # missing or unreadable
        return unseal(self.key(sig, codegen), content)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        payload = self.payload(sig, target_context.codegen())
        if payload is None:
            return None
        context = target_context if self._whole else PartContext(target_context)
        return self._impl.rebuild(context, pickle.loads(payload))._replace(target_context=target_context)

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data):
            return
        path = self.path(sig, data.codegen)
        payload = self._cache_file._dump(self._impl.reduce(data))
        try:
            write_bytes(path, seal(self.key(sig, data.codegen), payload))
            _sweep(path.parent)
        except (TablutError, OSError) as error:
            _say_uncached(str(error))


# -- compiled side by side: numba compiles one function of a process at a time -------------


_asked: Final[set[tuple[Any, ...]]] = set()
_companions: Final[list[subprocess.Popen[bytes]]] = []
"""The process that compiles beside this one, if there is one yet."""


def compile_beside(dispatcher: Any, arguments: tuple[Any, ...]) -> None:
    """Have another process compile a kernel for argument types, unless it is kept; this one compiles others meanwhile.

    Who needs a kernel or a part that is being compiled waits for its lock. A process that fails costs only its time.
    """
    if (dispatcher, arguments) in _asked or not isinstance(dispatcher._cache, KernelCache):
        return
    _asked.add((dispatcher, arguments))
    if arguments in dispatcher.overloads or dispatcher._cache.payload(arguments, dispatcher.targetctx.codegen()):
        return
    if not _companions:
        _companions.append(_start())
    pipe = _companions[0].stdin
    assert pipe is not None
    with suppress(OSError):
        pipe.write(dumps((dispatcher.py_func.__module__, dispatcher.py_func.__name__, arguments)))
        pipe.flush()


def _start() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        # Without the current folder among the places of modules: what lies there is not ours.
        [sys.executable, "-P", "-c", "from tablut.engine import kernel_cache; kernel_cache.compile_as_told()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(_end, process)
    return process


def compile_as_told() -> None:
    """Compile and keep each kernel that standard input names, with its argument types, until it ends."""
    with suppress(EOFError):
        while True:
            module, name, arguments = pickle.load(sys.stdin.buffer)
            getattr(import_module(module), name).compile(arguments)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def attach_cache(dispatcher: Any, function: Callable[..., Any], *, whole: bool) -> None:
    """Give a kernel or a part its cache; print a warning once if there is no folder for one."""
    _stamp_sources(function.__module__)
    try:
        dispatcher._cache = KernelCache(function, whole=whole)
    except (RuntimeError, OSError) as error:
        # numba found no folder that can be written.
        _say_uncached(str(error))


@cache
def _sweep(folder: Path) -> None:
    """Remove, once in a process, the temporary files and locks of killed processes."""
    for path in [*folder.glob(".*.kernel.*.tmp"), *folder.glob(".*.kernel.lock")]:
        try:
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()
        except FileNotFoundError:
            continue  # another process was faster


_said: list[str] = []


def _say_uncached(reason: str) -> None:
    """Print once that compiled kernels are not kept, and what to do."""
    if not _said:
        _said.append(reason)
        print(  # noqa: T201
            f"tablut: compiled kernels cannot be kept ({reason}), so each run compiles them anew; "
            "set NUMBA_CACHE_DIR to a folder that you can write to",
            file=sys.stderr,
        )
