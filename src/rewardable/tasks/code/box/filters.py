"""System calls that a solution may not make: a filter that needs no privilege and no namespace."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

_DENIED = (
    "socket", "connect", "bind", "kill", "tkill", "tgkill", "rt_sigqueueinfo",
    "rt_tgsigqueueinfo", "pidfd_open", "pidfd_send_signal", "pidfd_getfd", "ptrace",
    "process_vm_readv", "process_vm_writev", "unshare", "setns", "mount", "umount2", "pivot_root",
    "chroot", "bpf", "add_key", "request_key", "keyctl", "io_uring_setup", "userfaultfd",
    "perf_event_open", "memfd_create", "memfd_secret", "shmget", "shmat", "msgget", "semget",
    "mq_open", "prlimit64", "setpriority", "open_by_handle_at",
)  # fmt: skip
_NUMBERS: dict[str, tuple[int, tuple[int, ...], int, int]] = {
    # machine -> (audit architecture, numbers in the order of _DENIED, clone, clone3)
    "x86_64": (
        0xC000003E,
        (41, 42, 49, 62, 200, 234, 129, 297, 434, 424, 438, 101, 310, 311, 272, 308, 165, 166, 155,
         161, 321, 248, 249, 250, 425, 323, 298, 319, 447, 29, 30, 68, 64, 240, 302, 141,
         304),
        56,
        435,
    ),
    "aarch64": (
        0xC00000B7,
        (198, 203, 200, 129, 130, 131, 138, 240, 434, 424, 438, 117, 270, 271, 97, 268, 40, 39, 41,
         51, 280, 217, 218, 219, 425, 282, 241, 279, 447, 194, 196, 186, 190, 180, 261, 140,
         265),
        220,
        435,
    ),
}  # fmt: skip
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER_MODE = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def close_calls(libc: ctypes.CDLL) -> bool:
    """Install the filter for this process and all its descendants; False where it cannot be."""
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    table = _NUMBERS.get(platform.machine())
    if table is None:
        return False
    code = _program(*table)
    program = _Program(len(code) // 8, code)
    return libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0) == 0


def _program(architecture: int, denied: tuple[int, ...], clone: int, clone3: int) -> bytes:
    """Return the filter: another architecture and the denied calls fail, threads and forks pass."""
    assert len(denied) == len(_DENIED)
    refuse, missing = _REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS
    rows = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, refuse),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, refuse),
        (_EQUAL, 0, 1, clone3),
        (_RETURN, 0, 0, missing),
    ]
    for number in denied:
        rows += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    rows += [
        (_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, 16),
        (_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *row) for row in rows)
