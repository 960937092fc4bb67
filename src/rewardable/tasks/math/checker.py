"""Math-Verify in a process of its own. The only file that imports it; ``helper`` starts it.

One request a line, one reply a line, JSON. The limits are the system's: an alarm that ends the
process even inside a big-integer routine, and a ceiling on its memory.
"""

from __future__ import annotations

import json
import logging
import resource
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from math_verify import LatexExtractionConfig, parse, verify
from sympy import Float, nan, oo, zoo

MEMORY_BYTES = 512 * 2**20
"""Address space beyond what the process holds once Math-Verify is loaded."""

GRACE_S = 1.0
"""How long after the caller's limit the alarm ends the process, if the caller has not."""

_DIGITS = 15
_CLOSE = 1e-9
_CLOSE_FLOAT = 1e-4


def main() -> None:
    """Answer requests ``[reference, answer, seconds]`` until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    logging.disable(logging.CRITICAL)
    _reply({"ready": same("1", "1")})
    _limit_memory()
    for line in sys.stdin:
        gold, answer, seconds = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_S)
        _reply(_judged(gold, answer))
        signal.setitimer(signal.ITIMER_REAL, 0)


def same(gold: str, answer: str) -> bool:
    """Tell whether two formulas are equal; one that cannot be read equals nothing.

    Only the formula as a whole is read: no search for a number inside it, no units dropped.
    """
    left, right = _read(gold), _read(answer)
    if left is None or right is None or any(left.has(x) or right.has(x) for x in (nan, zoo)):
        return False
    no_alarm: Any = None
    found = verify(left, right, timeout_seconds=no_alarm, raise_on_error=True)
    return found and _near(left, right)


def _read(text: str) -> Any:
    units = LatexExtractionConfig().normalization_config
    config = LatexExtractionConfig(normalization_config=replace(units, units=False))
    no_alarm: Any = None
    found = parse(
        f"${text}$",
        extraction_config=[config],
        fallback_mode="no_fallback",
        parsing_timeout=no_alarm,
    )
    return found[0] if found and hasattr(found[0], "has") else None


def _near(left: Any, right: Any) -> bool:
    """Refuse constants that are equal only because both are small against an absolute bound."""
    if not all(getattr(side, "is_number", False) for side in (left, right)):
        return True
    if left.has(oo) or right.has(oo):
        return True
    a, b = (complex(side.evalf(_DIGITS)) for side in (left, right))
    bound = _CLOSE_FLOAT if left.has(Float) or right.has(Float) else _CLOSE
    return abs(a - b) <= bound * max(abs(a), abs(b))


def _judged(gold: str, answer: str) -> dict[str, Any]:
    try:
        return {"same": same(gold, answer)}
    except MemoryError:
        return {"failed": "out of memory"}
    except Exception as error:  # noqa: BLE001 - the named boundary: Math-Verify
        return {"failed": type(error).__name__}


def _limit_memory() -> None:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return
    held = int(statm.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY_BYTES, held + MEMORY_BYTES))


def _reply(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
