"""Text that models and users wrote, made safe to show: visible, escaped, never interpreted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from rewardable.results import Table, table_to_json

_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}
_NAMED = (*range(0x80, 0xA0), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CLEAN = {
    **_PICTURES,
    **{code: f"⟨U+{code:04X}⟩" for code in _NAMED},
    **{code: f"⟨U+{code:04X}⟩" for code in (0xFEFF, 0xFFFE, 0xFFFF)},
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_SCRIPT_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def visible(text: str) -> str:
    """Return ``text`` with what cannot be shown made visible.

    Control characters become their pictures, marks that turn the reading direction are named, lone
    surrogates become U+FFFD. Everything else stays as it is.
    """
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text.translate(_CLEAN))


def tables_block(tables: Mapping[str, Table]) -> str:
    """Return the tables as JSON that no HTML parser can leave early.

    ``<``, ``>`` and ``&`` are written as JSON escapes, everything beyond ASCII likewise, so that
    neither a closing tag nor a comment opener nor a line separator occurs in it.
    """
    raw = {name: json.loads(table_to_json(table)) for name, table in tables.items()}
    text = json.dumps(raw, sort_keys=True, separators=(",", ":"), allow_nan=False)
    for character, escape in _SCRIPT_ESCAPES.items():
        text = text.replace(character, escape)
    return text
