"""Walls around a process, each tried on its own: namespaces, a small root, limits, a call filter.

Nothing here needs root or a container; a wall that the system refuses is left out, and what was
built is returned by name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import sys
import sysconfig
from typing import NamedTuple

from rewardable.tasks.code.box.filters import close_calls
from rewardable.tasks.code.box.landlock import wall_off_files
from rewardable.tasks.code.box.processes import count_of_user

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER = 0x20000, 0x04000000, 0x08000000, 0x10000000
_NEWPID, _NEWNET = 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_MNT_DETACH, _AT_FDCWD, _AT_RECURSIVE = 2, -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_MOUNT_SETATTR = 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_PDEATHSIG, _KEEPCAPS, _SUBREAPER = 1, 8, 36
_DAC_READ_SEARCH = 1 << 2
_MB = 1 << 20
_OPEN_FILES = 64
_DEVICES = ("null", "zero", "random", "urandom")


class Limits(NamedTuple):
    """What a solution may use; ``wall_s`` counts from the moment at which its code starts."""

    wall_s: float = 5.0
    memory_mb: int = 512
    processes: int = 32
    file_mb: int = 8
    disk_mb: int = 32


def libc() -> ctypes.CDLL:
    """Return the C library with ``errno``."""
    return ctypes.CDLL(None, use_errno=True)


def become_supervisor(death_signal: int) -> None:
    """Inherit orphaned descendants; get ``death_signal`` when the parent dies (Linux)."""
    if sys.platform == "linux":
        libc().prctl(_PDEATHSIG, death_signal, 0, 0, 0)
        libc().prctl(_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Be killed when the parent dies (Linux)."""
    if sys.platform == "linux":
        libc().prctl(_PDEATHSIG, 9, 0, 0, 0)


WORK = "/box"
"""Where a solution stands inside its own root."""


def enter_namespaces() -> list[str]:
    """Give this process's next children own process numbers, network and IPC; name what works.

    Root does it directly; others need user namespaces, which some systems switch off.
    """
    if sys.platform != "linux":
        return []
    calls, flags = libc(), _NEWPID | _NEWNET | _NEWIPC | _NEWUTS
    got = ["processes", "network", "ipc"]
    if os.geteuid() == 0 and calls.unshare(flags) == 0:
        return got
    uid, gid = os.geteuid(), os.getegid()
    if calls.unshare(flags | _NEWUSER) != 0:
        return []
    maps = {"setgroups": "deny", "uid_map": f"1000 {uid} 1", "gid_map": f"1000 {gid} 1"}
    for name, text in maps.items():
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return ["user", *got]


def build_root(folder: str, limits: Limits, readable: tuple[str, ...]) -> bool:
    """Make a small file system the only one: the interpreter read-only, an own /box, no /proc.

    The solution works in /box and not in /tmp, where the interpreter itself may lie.
    """
    calls = libc()
    try:
        _require(calls.unshare(_NEWNS))
        _mount(calls, "none", "/", "", _MS_REC | _MS_PRIVATE)
        size = f"size={limits.disk_mb}m,nr_inodes=4096,mode=0755"
        _mount(calls, "tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, size)
        for path in _readable(readable):
            _show(calls, path, folder)
        for device in _DEVICES:
            _bind(calls, f"/dev/{device}", f"{folder}/dev/{device}")
        for name in (WORK, "/tmp"):
            os.makedirs(f"{folder}{name}", exist_ok=True)
            os.chmod(f"{folder}{name}", 0o1777)
        os.chdir(folder)
        _require(calls.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
        _require(calls.umount2(b".", _MNT_DETACH))
        os.chdir(WORK)
    except (OSError, KeyError):
        calls.umount2(folder.encode(), _MNT_DETACH)
        return False
    return True


def set_limit(name: int, value: int) -> None:
    """Set a resource limit for good; never above the one that stands."""
    hard = resource.getrlimit(name)[1]
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(name, (least, least))


def limit(limits: Limits, own_count: bool) -> None:
    """Set the resource limits. ``own_count``: only the solution's processes count towards its."""
    cpu = int(limits.wall_s) + 2
    others = 0 if own_count else count_of_user(os.getuid())
    for name, value in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_AS, limits.memory_mb * _MB),
        (resource.RLIMIT_FSIZE, limits.file_mb * _MB),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, others + limits.processes),
    ):
        set_limit(name, value)


def restrict_files(folder: str, readable: tuple[str, ...]) -> bool:
    """Allow the interpreter's folders for reading and ``folder`` for writing, nothing else."""
    devices = [f"/dev/{device}" for device in _DEVICES]
    return sys.platform == "linux" and wall_off_files(
        libc(), _readable(readable), [folder, *devices]
    )


def drop_privileges(uid: int, *, reads_all: bool) -> bool:
    """Become the user ``uid`` if root, and give all capabilities up; True with an own user.

    reads_all: root keeps the one to read what file permissions hide from others, for interpreters
    in root's home; sensible only where another wall says which files exist.
    """
    own = False
    if os.geteuid() == 0:
        if sys.platform == "linux":
            libc().prctl(_KEEPCAPS, int(reads_all), 0, 0, 0)
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            own = True
        except OSError:
            own = False
    if sys.platform == "linux":
        kept = _DAC_READ_SEARCH if own and reads_all else 0
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        libc().capset(header, (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0))
    return own


def filter_calls() -> bool:
    """Close the network and the calls that reach other processes; False where that fails."""
    return sys.platform == "linux" and close_calls(libc())


def _readable(more: tuple[str, ...]) -> list[str]:
    """Return the folders that the interpreter needs, those inside another one left out."""
    stdlib = sysconfig.get_paths()["stdlib"]
    wanted = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", sys.base_prefix, stdlib, *more]
    kept: list[str] = []
    for path in sorted({os.path.abspath(path) for path in wanted if os.path.exists(path)}):
        if not any(path.startswith(f"{other}/") for other in kept if not os.path.islink(other)):
            kept.append(path)
    return kept


def _show(calls: ctypes.CDLL, path: str, folder: str) -> None:
    """Make ``path`` visible under ``folder``, read-only; a link at the top stays a link."""
    if os.path.islink(path):
        os.symlink(os.readlink(path), f"{folder}{path}")
        return
    _bind(calls, path, f"{folder}{path}")
    attributes = (ctypes.c_uint64 * 4)(_ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0)
    target = f"{folder}{path}".encode()
    _require(
        calls.syscall(
            _MOUNT_SETATTR, _AT_FDCWD, target, _AT_RECURSIVE, ctypes.byref(attributes), 32
        )
    )


def _bind(calls: ctypes.CDLL, source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    _mount(calls, source, target, "", _MS_BIND | _MS_REC)


def _mount(
    calls: ctypes.CDLL, source: str, target: str, kind: str, flags: int, data: str = ""
) -> None:
    _require(
        calls.mount(
            source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()
        )
    )


def _require(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno() or errno.EPERM
        raise OSError(code, os.strerror(code))
