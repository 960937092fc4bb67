"""The language of a text, the same in every run, thread and process.

``langdetect`` draws random samples of a text; here every detection starts from one fixed seed, and
the language profiles are read in the order of their names.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

SEED = 0
_CODES = (
    "af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml mr "
    "ne nl no pa pl pt ro ru sk sl so sq sv sw ta te th tl tr uk ur vi zh zh-cn zh-tw"
)
CODES = frozenset(_CODES.split())
"""The languages that can be told: ISO 639-1; Chinese also by script."""

LONGEST = 20_000
"""Characters that are looked at; the detector itself uses at most 10,000."""

_LOADING = Lock()


def language_of(text: str) -> str | None:
    """Return the code of the language, None where the text has nothing to tell it by."""
    with _LOADING:
        factory, failure = _factory()
    detector = factory.create()
    try:
        detector.append(text[:LONGEST])
        code = str(detector.detect())
    except failure:
        return None
    return None if code == "unknown" else code


@lru_cache(maxsize=1)
def _factory() -> tuple[Any, type[Exception]]:
    from langdetect import LangDetectException
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    factory: Any = DetectorFactory()
    factory.set_seed(SEED)
    profiles = sorted(Path(PROFILES_DIRECTORY).iterdir())
    factory.load_json_profile([path.read_text(encoding="utf-8") for path in profiles])
    return factory, LangDetectException
