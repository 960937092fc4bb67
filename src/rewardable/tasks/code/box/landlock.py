"""A file wall without namespaces (Linux 5.13): few folders can be read, one written."""

from __future__ import annotations

import ctypes
import os

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
_READING = _EXECUTE | _READ | _LIST
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_NO_NEW_PRIVS = 38


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def wall_off_files(calls: ctypes.CDLL, readable: list[str], writable: list[str]) -> bool:
    """Forbid this process all files but these; TCP and signals to others too where known."""
    version = calls.syscall(_CREATE, None, 0, _VERSION)
    if version < 1:
        return False
    bits = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    everything = (1 << bits) - 1
    net = 3 if version >= 4 else 0
    scoped = 3 if version >= 6 else 0
    attributes = (ctypes.c_uint64 * 3)(everything, net, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = calls.syscall(_CREATE, ctypes.byref(attributes), size, 0)
    if rules < 0:
        return False
    try:
        for paths, allowed in ((readable, _READING), (writable, everything)):
            for path in paths:
                _allow(calls, rules, path, allowed & everything)
        calls.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        return calls.syscall(_RESTRICT, rules, 0) == 0
    except OSError:
        return False
    finally:
        os.close(rules)


def _allow(calls: ctypes.CDLL, rules: int, path: str, allowed: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = allowed if os.path.isdir(path) else allowed & _OF_FILES
        rule = _Beneath(allowed, handle)
        if calls.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0) != 0:
            raise OSError(ctypes.get_errno(), f"no rule for {path}")
    finally:
        os.close(handle)
