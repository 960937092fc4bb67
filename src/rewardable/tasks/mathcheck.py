"""Math-Verify, kept to short stated answers. The only file that imports it.

Its time limits are alarms of the main thread, so they are switched off here. Instead an answer
that could be costly is refused before it is parsed: long ones, powers and factorials.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from rewardable.errors import BoundaryError

MAX_LENGTH = 120
_COSTLY = re.compile(r"\^|\*\*|!|[0-9]{16}|\\(?:sum|int|prod|lim|binom)|[eE][+-]?[0-9]{3}")


def is_costly(answer: str) -> bool:
    """Tell whether a stated answer is refused: too long, or holds a power or a factorial."""
    return len(answer) > MAX_LENGTH or _COSTLY.search(answer) is not None


def same_value(gold: str, answer: str) -> bool:
    """Tell whether Math-Verify finds a stated answer equal to the reference.

    Both are the bare mathematics, without box or dollar signs. A list never equals a number.

    Raises
    ------
    BoundaryError: Math-Verify itself failed.
    """
    from math_verify import parse, verify

    for name in ("math_verify.parser", "math_verify.grader"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        no_alarm: Any = None
        left, right = (parse(f"${text}$", parsing_timeout=no_alarm) for text in (gold, answer))
        return bool(left and right) and verify(left, right, timeout_seconds=None)
    except Exception as error:
        raise BoundaryError("Math-Verify", f"{type(error).__name__}: {error}") from error
