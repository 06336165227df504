"""On-disk cache of compiled kernels, one file per kernel.

A file is checked when it is read, and rebuilt if necessary.

numba's own cache unpickles whatever it finds. A truncated file raises an UnpicklingError, a file with a flipped bit can
crash the process, and both kinds of file remain until someone deletes them. Here, a file begins with a magic line, the
digest of everything that the kernel was compiled from, and the payload's length. A second digest follows, which
covers the first digest, the length and the payload. The payload comes last. A file that does not match is ignored: the
kernel is compiled again and the file replaced. Files are written under a temporary name and then renamed, so that
concurrent or killed writers never leave a partial file. A process that compiles a kernel holds a lock. Another process
that needs the same kernel waits for the file, because compiling the kernel again would take just as long and would keep
a second core busy.

The digest detects damage, not tampering: a compiled kernel is code, and anyone who can write to the folder can make the
program run other code. The folder is chosen by numba: ``NUMBA_CACHE_DIR`` if that is set, otherwise ``__pycache__``
next to the source, or the user's cache folder if ``__pycache__`` is not writable. In the last case, kernels that the
owner of the installation has compiled are loaded from ``__pycache__``. If no folder is writable, kernels are only
loaded.

A wheel for one platform includes compiled kernels, so that its users need not wait for the compiler. They are
compiled for a baseline processor, and are used only where that baseline, the versions of Python, numba and llvmlite,
and all sources agree. Otherwise the kernels are compiled as usual.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import platform
import re
import secrets
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import llvmlite
import llvmlite.binding
import numba
import numba.core.config
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

from tablut.engine.kernel_parts import PartContext
from tablut.errors import TablutError
from tablut.work import clocks
from tablut.work.files import ABANDONED, read_bytes, remove_temporaries, write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from filelock import FileLock

_config: Any = numba.core.config

_MAGIC: Final = b"tablut kernel 1\n"
_DIGEST: Final = 32
_LENGTH: Final = 8
_HEAD: Final = len(_MAGIC) + _DIGEST + _LENGTH + _DIGEST
_MOST: Final = 1 << 28
"""Maximum size of a file in bytes, about a hundred times the size of the largest kernel."""
_PATIENCE: Final = 120.0
"""Time in seconds to wait for another process that is compiling the same kernel. The largest kernel takes a tenth of
this time.
"""


SHIPPED: Final = Path(__file__).with_name("compiled")
"""Folder of the kernels that come with a wheel for one platform. A checkout does not have it."""
_X86_64_V3: Final = frozenset(
    [
        "avx",
        "avx2",
        "bmi",
        "bmi2",
        "cx16",
        "f16c",
        "fma",
        "lzcnt",
        "movbe",
        "popcnt",
        "sahf",
        "sse4.1",
        "sse4.2",
        "ssse3",
    ]
)
_BASELINES: Final = {
    "x86_64": ("x86-64-v3", _X86_64_V3),
    "amd64": ("x86-64-v3", _X86_64_V3),
    "aarch64": ("generic", frozenset[str]()),
    "arm64": ("generic", frozenset[str]()),
}
"""For each kind of processor, LLVM's name of the baseline for shipped kernels, and the features that it requires."""


@cache
def baseline() -> str | None:
    """Return LLVM's name of the baseline processor for shipped kernels, or None if this processor lacks a feature."""
    name, required = _BASELINES.get(platform.machine().lower(), ("", frozenset[str]()))
    present = {feature for feature, has in llvmlite.binding.get_host_cpu_features().items() if has}
    return name if name and required <= present else None


def seal(key: bytes, payload: bytes) -> bytes:
    """Return the content of a cache file for a payload."""
    length = len(payload).to_bytes(_LENGTH, "little")
    return _MAGIC + key + length + hashlib.sha256(key + length + payload).digest() + payload


def unseal(key: bytes, content: bytes) -> bytes | None:
    """Return a cache file's payload, or None if the file is damaged or has another key."""
    payload = content[_HEAD:]
    return payload if content == seal(key, payload) else None


def _payload(path: Path, key: bytes) -> bytes | None:
    try:
        content = read_bytes(path, "compiled kernel", _MOST)
    except TablutError:
        return None  # missing or unreadable
    return unseal(key, content)


def _types(sig: Any) -> tuple[str, ...]:
    return tuple(repr(argument) for argument in _arguments(sig))


def _arguments(sig: Any) -> tuple[Any, ...]:
    return sig if isinstance(sig, tuple) else tuple(sig.args)


_IMPORT: Final = re.compile(r"^(?:from ([\w.]+) )?import (\([^)]*\)|[^\n#]*)", re.MULTILINE)
"""Pattern that matches the imports at the top level of a module. Imports for type checkers are indented and do not
match.
"""
_COMPILER: Final = "tablut.engine.kernel_parts"
_OWN: Final = ("symmetry", "tablut", "counting", "retrograde", "reports")


_stamps: Final[dict[str, tuple[int, ...]]] = {}
"""Stamp of each module's source file, taken after the module was imported."""


def _stamp(module: str) -> tuple[int, ...]:
    """Return the timestamps, size and inode number of a module's source file.

    At least one of these values changes whenever the file changes.
    """
    found = _path_of(module).stat()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@cache
def _stamp_sources(module: str) -> None:
    """Record the source stamps of a module and of all the project's modules imported before it."""
    for name in list(sys.modules):
        if (name == module or name.partition(".")[0] in _OWN) and name not in _stamps and _path_of(name).is_file():
            _stamps[name] = _stamp(name)


@cache
def source_digest(module: str, path: Path) -> str:
    """Return the SHA-256 digest, in hexadecimal, of all sources that a module's kernels may depend on.

    It covers the module and the project's modules that it imports, directly or indirectly. If a file has changed since
    this process imported it, the digest is random, so that no other process uses the compiled kernel.
    """
    digest, found = hashlib.sha256(), imported_sources(module, path)
    for name, source in sorted(found.items()):
        digest.update(f"{name} {len(source)}\n".encode() + source)
    if any(_stamp(name) != _stamps[name] for name in _stamps.keys() & found.keys()):
        digest.update(secrets.token_bytes(_DIGEST))
    return digest.hexdigest()


def imported_sources(module: str, path: Path) -> dict[str, bytes]:
    """Return the sources of a module and of the project's modules that it imports, even indirectly, keyed by name."""
    sources = {module: path.read_bytes()}
    waiting = imported_modules(sources[module].decode())
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources[name] = _path_of(name).read_bytes()
            waiting += imported_modules(sources[name].decode())
    return sources


def imported_modules(source: str) -> list[str]:
    """Return the project's modules that a module's source imports directly when it runs.

    A name re-exported by a package's ``__init__`` counts as imported from the module that defines it.
    """
    found = []
    for package, listed in _IMPORT.findall(source):
        names = [name.split(" as ")[0].strip() for name in re.sub(r"#[^\n]*|[()]", "", listed).split(",")]
        for name in filter(None, names):
            target = f"{package}.{name}" if package else name
            # A matching line whose module has no source file is part of a docstring, not an import.
            if target.split(".")[0] in _OWN and _path_of(home := _home(target)).name:
                found.append(home)
    return found


@cache
def _home(name: str) -> str:
    """Return the module that defines an imported name, even if a package re-exports it."""
    if _path_of(name).name:
        return name
    package, _, attribute = name.rpartition(".")
    if (door := _path_of(package)).name == "__init__.py":
        stub = door.with_suffix(".pyi")  # the imports for a package that loads its names lazily
        source = (stub if stub.exists() else door).read_text(encoding="utf-8")
        reexport = re.search(rf"^from ([\w.]+) import (?:\([^)]*\b{attribute}\b|[^\n(]*\b{attribute}\b)", source, re.M)
        if reexport is not None:
            return _home(f"{package * reexport[1].startswith('.')}{reexport[1]}.{attribute}")
    return package


@cache
def _path_of(module: str) -> Path:
    """Return the source file of a module, or an empty path if there is no module with that name."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        return Path(loaded.__file__ or "")
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # the name before the dot is not a package
        return Path()
    return Path((found and found.origin) or "")


class _ReadOnly:
    """A locator, in numba's sense, of the files next to a source. It is used if no folder is writable."""

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self.get_cache_path = lambda: str(Path(source).with_name("__pycache__"))
        self.get_disambiguator = lambda: str(function.__code__.co_firstlineno)
        self.get_source_stamp = lambda: None

    @classmethod
    def from_function(cls, function: Callable[..., Any], source: str) -> _ReadOnly:
        return cls(function, source)


# For a user without a home, numba would create a folder named ~ in the current folder.
_HOMELESS: Final = "XDG_CACHE_HOME" not in os.environ and os.path.expanduser("~") == "~"  # noqa: PTH111
_LOCATORS: Final[list[Any]] = [
    *(one for one in CompileResultCacheImpl._locator_classes if not (_HOMELESS and "UserWide" in one.__name__)),
    _ReadOnly,
]


class _Implementation(CompileResultCacheImpl):
    _locator_classes = _LOCATORS


class KernelCache(FunctionCache):
    """A numba cache of one function that checks its files and whose key covers all sources."""

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any], *, whole: bool) -> None:
        super().__init__(function)
        self._whole = whole
        self._source = function.__module__, Path(function.__code__.co_filename)
        self._locks: dict[tuple[str, ...], FileLock] = {}

    def path(self, sig: Any, codegen: Any) -> Path:
        """Return the cache path of one compiled version, which depends on argument types, machine and compiler."""
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
        text = (self.path(sig, codegen).name, machine, code, self._sources())
        return hashlib.sha256(repr(text).encode()).digest()

    def ship(self, sig: Any, codegen: Any, folder: Path) -> dict[str, bytes]:
        """Copy a version, which must be in the cache, to a folder of kernels for a wheel, and return its sources."""
        payload = self.payload(sig, codegen)
        if payload is None:
            raise TablutError("it is not in the cache", subject=self.path(sig, codegen).name)
        name, key = self._shipped(sig, codegen)
        write_bytes(folder / name, seal(key, payload))
        return imported_sources(*self._source) | imported_sources(_COMPILER, _path_of(_COMPILER))

    def _shipped(self, sig: Any, codegen: Any) -> tuple[str, bytes]:
        """Return the file name and key of a shipped version, which depend on the baseline and not on this processor."""
        versions = (numba.__version__, llvmlite.__version__, sys.version_info[:2])
        text = repr((_types(sig), codegen.magic_tuple()[0], baseline(), versions))
        name = f"{self._impl.filename_base}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.kernel"
        whole = repr((name, text, self._index_key(sig, codegen)[2], self._sources()))
        return name, hashlib.sha256(whole.encode()).digest()

    def _sources(self) -> tuple[str, str]:
        """Return the digests of all sources that a compiled version depends on."""
        # The module need not import `tablut.engine.kernel_parts`, but is compiled by it.
        return source_digest(*self._source), source_digest(_COMPILER, _path_of(_COMPILER))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled version for the given argument types, or None if the caller has to compile it."""
        found = self._found(sig, target_context)
        if found is None:
            self._lock(sig, target_context.codegen())
            found = self._found(sig, target_context)
            if found is not None:
                self.unlock(sig)
        return found

    def _found(self, sig: Any, target_context: Any) -> Any:
        """Load a version from its file, or return None if it cannot be loaded. The loading time is recorded."""
        clocks.begin(loads=True)
        found = None
        try:
            found = super().load_overload(sig, target_context)
        finally:
            clocks.end(clocks.described(self._py_func, _arguments(sig)), done=found is not None, loads=True)
        return found

    def _lock(self, sig: Any, codegen: Any) -> None:
        """Acquire a version's lock if possible, waiting for other processes that are compiling it."""
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
            return  # the other process hangs, or the folder does not support locks; compiling twice does no harm
        finally:
            clocks.end("", done=False)
        self._locks[_types(sig)] = lock

    def unlock(self, sig: Any) -> None:
        """Release a version's lock after the version has been saved or its compilation has failed."""
        lock = self._locks.pop(_types(sig), None)
        if lock is not None:
            with suppress(OSError):
                # Processes that are already waiting have the lock file open, and find the kernel when they acquire the
                # lock. Later processes create a new lock file.
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled version. If saving fails, print a warning, but only once per process."""
        clocks.begin(loads=True)
        try:
            super().save_overload(sig, data)
        finally:
            clocks.end("", done=False, loads=True)
            self.unlock(sig)

    def payload(self, sig: Any, codegen: Any) -> bytes | None:
        """Return the payload of a version's file, or None if there is no intact and current file.

        If the cache has no such file, a file next to the source is used, unless the user has chosen another folder.
        Otherwise, a shipped one is used.
        """
        path, key = self.path(sig, codegen), self.key(sig, codegen)
        payload = _payload(path, key)
        if payload is None and not _config.CACHE_DIR:
            payload = _payload(self._source[1].with_name("__pycache__") / path.name, key)
        chosen = _config.CPU_NAME is not None or _config.CPU_FEATURES is not None
        if payload is None and self._whole and SHIPPED.is_dir() and baseline() and not chosen:
            name, key = self._shipped(sig, codegen)
            payload = _payload(SHIPPED / name, key)
        return payload

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
            _warn_uncached(str(error))


# -- parallel compilation in another process, because numba compiles one function per process at a time --


_requested: Final[set[tuple[Any, ...]]] = set()
_companions: Final[list[subprocess.Popen[bytes]]] = []
"""The process that compiles in parallel with this one. The list is empty until the process is first needed."""


def compile_beside(dispatcher: Any, arguments: tuple[Any, ...]) -> None:
    """Ask another process to compile a kernel for the given argument types, unless it is already compiled or cached.

    Meanwhile this process can compile other kernels. If the other process fails, this process compiles the kernel
    itself.
    """
    cache = dispatcher._cache
    keeps = isinstance(cache, KernelCache) and not isinstance(cache._impl.locator, _ReadOnly)
    if (dispatcher, arguments) in _requested or not keeps:
        return
    _requested.add((dispatcher, arguments))
    if arguments in dispatcher.overloads or cache.payload(arguments, dispatcher.targetctx.codegen()):
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
        # -P keeps the current folder off the module path, so that unrelated modules there are not imported.
        [sys.executable, "-P", "-c", "from tablut.engine import kernel_cache; kernel_cache.compile_requests()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(_end, process)
    return process


def compile_requests() -> None:
    """Compile and cache the kernels that are requested on standard input, until the input ends."""
    with suppress(EOFError):
        while True:
            module, name, arguments = pickle.load(sys.stdin.buffer)
            getattr(import_module(module), name).compile(arguments)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def attach_cache(dispatcher: Any, function: Callable[..., Any], *, whole: bool) -> None:
    """Attach a cache to a kernel or a part. If no folder is writable, print a warning, but only once per process."""
    _stamp_sources(function.__module__)
    try:
        dispatcher._cache = KernelCache(function, whole=whole)
    except (RuntimeError, OSError) as error:
        # numba has found no writable folder.
        _warn_uncached(str(error))


@cache
def _sweep(folder: Path) -> None:
    """Remove the temporary files and locks that killed processes have left behind, once per process."""
    remove_temporaries(folder, r"\..+\.kernel\.(\w+\.tmp|lock)", ABANDONED)


_warnings: list[str] = []


def _warn_uncached(reason: str) -> None:
    """Print a warning, once per process, that compiled kernels cannot be cached, and suggest a remedy."""
    if not _warnings:
        _warnings.append(reason)
        print(  # noqa: T201
            f"tablut: compiled kernels cannot be cached ({reason}), so each run compiles them again; "
            "set NUMBA_CACHE_DIR to a writable folder",
            file=sys.stderr,
        )
