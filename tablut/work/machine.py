"""Resources of the machine: threads, memory, address space, and network ports."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import socket
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from tablut.errors import InputError, MachineError
from tablut.work.files import excerpt


def physical_memory() -> int | None:
    """Return the machine's memory in bytes, or None if the system does not report it."""
    try:
        page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    # POSIX returns -1 for an unknown value.
    return page * pages if page > 0 and pages > 0 else None


def peak_memory() -> int | None:
    """Return this process's peak memory in bytes, or None if the system does not report it."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def check_address_space(mib: int) -> None:
    """Raise `MachineError` if the limit on the address space (``ulimit -v``) leaves less than ``mib`` MiB.

    With less memory, OpenBLAS would exit with code 1, and LLVM would abort or hang.
    """
    if sys.platform != "linux":
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    if limit != resource.RLIM_INFINITY and limit - used < mib << 20:
        left = f"this needs {mib} MiB of address space, but the limit leaves only {max(0, limit - used) >> 20} MiB"
        raise MachineError(left, remedy="raise the limit (ulimit -v)")


def return_memory() -> None:
    """Return freed memory to the system, which glibc would keep for later use."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], object] | None:
    """Return glibc's function ``malloc_trim``, or None if the C library is not glibc."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None


def check_memory(parameter: str, mib: int, value: int | None = None) -> None:
    """Raise `InputError` if a parameter requires more memory than the machine has."""
    has = physical_memory()
    if has is not None and mib > has >> 20:
        needed = "" if value is None else f"needs {mib:,} MiB, and "
        shown = mib if value is None else value
        why = f"{needed}this machine has only {has >> 20:,} MiB of memory"
        raise InputError(why, parameter=parameter, value=shown, remedy="use less")


_HOST: Final = re.compile(r"[\w.-]{1,255}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[\w.-]{1,30})?")
"""A name, an IPv4 address or an IPv6 address."""


def check_host(host: str, parameter: str) -> None:
    """Raise `InputError` if a text is not the name or the address of a host. It must not contain a port."""
    if not _HOST.fullmatch(host):
        port = host.rpartition(":")[2] if ":" in host else ""
        problem = f"expected a host name or an address{f', without the port {excerpt(port)}' if port else ''}"
        raise InputError(problem, parameter=parameter, value=excerpt(host))


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket for asyncio. Port 0 selects any free port."""
    check_host(host, "host")
    shown = f"port {port} on {host}"
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise InputError("is not an address of this machine", parameter="host", value=repr(host)) from error
    # asyncio disables Nagle's algorithm only for sockets with an explicit protocol. With the algorithm, the end of a
    # response would wait 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise InputError("is not an address of this machine", parameter="host", value=repr(host)) from error
        if isinstance(error, PermissionError):
            raise MachineError("needs root privileges", subject=shown, remedy="use port 1024 or higher") from error
        way = "choose another port, or 0 for any free port"
        raise MachineError(f"cannot be opened for listening ({error.strerror})", subject=shown, remedy=way) from error
    return listener
