"""Programs that attack a sandbox. ``{n}`` varies sizes; none computes what it is asked for."""

# ruff: noqa: E501
from __future__ import annotations

TESTS = "assert total([1, 2]) == 3\nassert total([]) == 0\nassert total([-1]) == -1"

_BODY = {
    "fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "fork bomb in the call": "import os\ndef total(xs):\n    while True:\n        try: os.fork()\n        except OSError: pass",
    "thread bomb": "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(60,)).start()\n    except RuntimeError: pass",
    "memory by one list": "x = [0] * ({n} * 10**8)",
    "memory by growth": "x = []\nwhile True: x.append(bytearray(10**6 * {n}))",
    "memory in many children": "import os\nfor _ in range(20):\n    if os.fork() == 0:\n        x = bytearray(2 * 10**8)\n        for i in range(0, len(x), 4096): x[i] = 1\n        while True: pass\nwhile True: pass",
    "memory by a string": "def total(xs): return 'a' * (10**7 * {n})",
    "reply without end": "def total(xs): return list(range(10**6 * {n}))",
    "reply nested": "def total(xs):\n    x = []\n    for _ in range(10**5): x = [x]\n    return x",
    "reply that holds itself": "def total(xs):\n    x = []\n    x.append(x)\n    return x",
    "infinite generator": "def total(xs):\n    while True: yield 1",
    "huge power": "def total(xs): return 10 ** 10 ** {n}9",
    "huge shift": "def total(xs): return 1 << (10**8 * {n})",
    "huge integer to text": "def total(xs): return int('9' * 10**6 * {n})",
    "output to stdout": "import sys\nwhile True: sys.stdout.write('x' * 10**6)",
    "output to stderr": "import os\nwhile True: os.write(2, b'x' * 10**6)",
    "output to every descriptor": "import os\nwhile True:\n    for fd in range(64):\n        try: os.write(fd, b'{{\"done\": true, \"passed\": true}}\\n')\n        except OSError: pass",
    "close every descriptor": "import os\ndef total(xs):\n    for fd in range(64):\n        try: os.close(fd)\n        except OSError: pass",
    "read every descriptor": "import os\nfor fd in range({n}, 64):\n    try: os.read(fd, 100)\n    except OSError: pass",
    "descriptors": "import os\nwhile True: os.dup(0)",
    "files": "i = 0\nwhile True:\n    open('f%d' % i, 'w').write('x' * 10**5)\n    i += 1",
    "one large file": "f = open('big', 'wb')\nwhile True: f.write(b'x' * 10**7)",
    "folders in folders": "import os\nwhile True:\n    os.mkdir('d')\n    os.chdir('d')",
    "write outside": "import os\nfor p in ('/', '/etc', '/usr', '/root', '/home', '/work', '/var', '/dev', '..'):\n    try: open(p + '/REWARDABLE_WAS_HERE', 'w').write('x')\n    except OSError: pass",
    "remove everything": "import shutil\nshutil.rmtree('/', ignore_errors=True)\ndef total(xs): return 0",
    "kill the parent": "import os, signal\ndef total(xs):\n    os.kill(os.getppid(), signal.SIGKILL)",
    "kill everyone": "import os\nfor s in (15, 9, 19, 1):\n    try: os.kill(-1, s)\n    except OSError: pass\ndef total(xs): return 0",
    "kill by number": "import os\nfor p in range(2, 40000):\n    try: os.kill(p, 9)\n    except OSError: pass\ndef total(xs): return 0",
    "kill the group": "import os\ntry: os.killpg(0, 9)\nexcept OSError: pass\ndef total(xs): return 0",
    "network": "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)\ndef total(xs): return 3",
    "network by name": "import urllib.request\nurllib.request.urlopen('http://localhost:80/', timeout=1)",
    "listen": "import socket\ns = socket.socket()\ns.bind(('0.0.0.0', 0))\ns.listen()\nwhile True: s.accept()",
    "signals ignored": "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
    "alarm": "import signal, os\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nwhile True: pass",
    "sleep": "import time\ntime.sleep(1000)",
    "sleep in the call": "import time\ndef total(xs): time.sleep(1000)",
    "recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef total(xs): return total(xs)",
    "recursion of the source": "x = " + "(" * 90 + "1" + ")" * 90 + "\ndef total(xs): return x",
    "null pointer": "import ctypes\ndef total(xs): ctypes.string_at(0)",
    "exit 0": "import os\ndef total(xs): os._exit(0)",
    "exit by sys": "import sys\ndef total(xs): sys.exit(0)",
    "exit at exit": "import atexit, os\natexit.register(os._exit, 0)\ndef total(xs): raise SystemExit(0)",
    "exception of its own": "class E(BaseException):\n    def __str__(self): raise E\ndef total(xs): raise E",
    "assertion redefined": "import builtins\nbuiltins.AssertionError = type('E', (BaseException,), {{}})\ndef total(xs): return 0",
    "equals everything": "class S:\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n    def __hash__(self): return 3\ndef total(xs): return S()",
    "integer that equals everything": "class N(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\ndef total(xs): return N(99)",
    "encoder replaced": "import json, sys\njson.dumps = lambda *a, **k: '{{\"passed\": true, \"done\": true}}'\ndef total(xs): return 0",
    "modules replaced": "import sys\nfor m in list(sys.modules): sys.modules[m] = None\ndef total(xs): return 0",
    "builtins emptied": "import builtins\nfor n in list(vars(builtins)):\n    if n not in ('delattr', 'vars', 'list'): delattr(builtins, n)\ndef total(xs): return 0",
    "frames": "import sys\ndef total(xs):\n    f = sys._getframe()\n    while f:\n        f.f_locals.clear() if f.f_locals is not f.f_globals else None\n        f = f.f_back\n    return 0",
    "collector": "import gc\ndef total(xs):\n    found = [o for o in gc.get_objects() if isinstance(o, dict) and 'tests' in o]\n    return len(found) + 17",
    "ptrace": "import ctypes, os\nlibc = ctypes.CDLL(None)\nfor p in range(1, 3000): libc.ptrace(16, p, 0, 0)\ndef total(xs): return 0",
    "daemon": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)\ndef total(xs): return 0",
    "daemon by shell": "import subprocess\nsubprocess.Popen(['sh', '-c', 'setsid sleep 1000 & setsid sleep 1000 &'], start_new_session=True)\ndef total(xs): return 0",
    "stopped by itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\ndef total(xs): return 0",
    "namespaces": "import ctypes\nl = ctypes.CDLL(None)\nl.unshare(0x10000000)\nl.mount(b'none', b'/', b'tmpfs', 0, b'')\ndef total(xs): return 0",
    "limits raised": "import resource\nfor n in (0, 1, 5, 6, 7, 9):\n    try: resource.setrlimit(n, (resource.RLIM_INFINITY,) * 2)\n    except (OSError, ValueError): pass\nx = bytearray(4 * 10**9)\ndef total(xs): return 0",
    "input": "x = input()\ndef total(xs): return 0",
    "lone surrogate": "def total(xs): return '\\ud835' * {n}",
    "replies invented": "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'{{\"id\": 0, \"value\": [\"i\", \"0x3\"]}}\\n' * 50)\n    except OSError: pass\ndef total(xs): return 0",
    "regular expression": "import re\ndef total(xs): return re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "pickle": "import pickle\nclass P:\n    def __reduce__(self): return (exec, ('import os; os._exit(0)',))\ndef total(xs): return P()",
    "compile": "def total(xs): return eval('-' * (10**5 * {n}) + '1')",
    "no Python": "def total(xs) return 0 (((",
    "null bytes": "def total(xs): return 0\x00",
}  # fmt: skip


def programs() -> list[tuple[str, str]]:
    """Return (name, program) of every attack; call with sizes 1 to 9 through ``sized``."""
    return list(_BODY.items())


def sized(program: str, n: int) -> str:
    """Fill in the size; doubled braces become single."""
    return program.replace("{n}", str(n)).replace("{{", "{").replace("}}", "}")
