r"""A stated formula made plain: one spelling for what reads the same on paper.

Dollar signs, spacing and sizing commands, emphasis and a closing full stop go; typographic signs,
``\dfrac``, ``\textbf`` and degrees take their plain form. Nothing that changes a value is touched.
"""

from __future__ import annotations

import re

_SIGNS = {
    **dict.fromkeys("\u2212\u2013\u2014\ufe63\uff0d", "-"),
    "\u00d7": r"\times ",
    "\u00b7": r"\cdot ",
    "\u22c5": r"\cdot ",
    "\u00f7": r"\div ",
    "\u03c0": r"\pi ",
    "\u03b8": r"\theta ",
    "\u221e": r"\infty ",
    "\u2264": r"\le ",
    "\u2265": r"\ge ",
    "\u2260": r"\ne ",
    "\u2248": r"\approx ",
    "\u222a": r"\cup ",
    "\u2208": r"\in ",
    "\u00b1": r"\pm ",
    "\u00b0": "",
    "\u00b2": "^2",
    "\u00b3": "^3",
    "\u00a0": " ",
    "\u202f": " ",
    "\u2009": " ",
}
_TABLE = str.maketrans(_SIGNS)

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"\u221a\s*\(([^()]*)\)|\u221a\s*([0-9A-Za-z.]+)", r"\\sqrt{\1\2}"),
        (r"\\\\\[[^\[\]]{0,12}\]", r"\\\\ "),
        (r"(?<!\\)\\[()\[\]]|\\?\$|\u20ac|\u00a3", " "),
        (r"(?<=[0-9])(?:\{,\}|,\\!|\\,|\\!|\{ \})\s*(?=[0-9]{3}(?![0-9]))", ""),
        (r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits)(?![a-zA-Z])\.?", ""),
        (r",?\s*\\q?quad\s*\\text\s*\{\s*(?:and|or)\s*\}\s*\\q?quad(?![a-zA-Z])", "; "),
        (r"\\q?quad(?![a-zA-Z])", ", "),
        (r"(?<!\\)\\[!,;:> ]|~|[\t\r\n\f\v]|\\(?:hspace|vspace)\{[^{}]*\}", " "),
        (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
        (r"\\(?:leqslant|leq)(?![a-zA-Z])", r"\\le "),
        (r"\\(?:geqslant|geq)(?![a-zA-Z])", r"\\ge "),
        (r"\\neq(?![a-zA-Z])", r"\\ne "),
        (r"\\(?:mbox|textbf|textit|textrm|textnormal|texttt|textsf|emph)(?![a-zA-Z])", r"\\text"),
        (r"\\(?:mathrm|mathbf|mathit|mathsf|operatorname\*?|rm|bf)\s*\{\s*([A-Za-z])\s*\}", r"\1"),
        (r"\\(?:mathrm|mathbf|mathit|mathsf)(?![a-zA-Z])", r"\\text"),
        (r"\\(?:boxed|fbox|framebox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1"),
        (r"\^\s*(?:\{\s*\\(?:circ|degree)\s*\}|\\circ(?![a-zA-Z]))|\\degree(?![a-zA-Z])", ""),
        (r"\\%|\\text\s*\{\s*(?:percent|pct|%)\s*\}|(?<=[0-9])\s*(?:percent|pct)(?![a-z])", "%"),
        (r"\\(?:textbackslash|text)\s*\{\s*\}", " "),
        (r"(?<![*])\*\*(?![*])(?=\s*[-(0-9a-z])(?<=[0-9a-z)]\*\*)", "^"),
        (r"\\frac\s*([0-9])\s*([0-9])", r"\\frac{\1}{\2}"),
        (r"\\frac\s*(\{[^{}]*\})\s*([0-9])", r"\\frac\1{\2}"),
        (r"\\frac\s*([0-9])\s*(\{)", r"\\frac{\1}\2"),
        (r"\\frac\s*(\{[^{}]*\})\s+\{", r"\\frac\1{"),
        (r"([_^])\s*\{\s*([0-9A-Za-z])\s*\}", r"\1\2"),
        (r"\s+", " "),
    )
)
_SPACES = re.compile(
    r"(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])|(?<=[0-9])\s+(?=[A-Za-z])|(?<=[A-Za-z])\s+(?=[0-9])"
)
_STRICT = {r"\lt": "<", r"\gt": ">"}


def tidy(text: str) -> str:
    """Return a stated answer in its plain form; linear in its length."""
    if "\\begin" not in text:
        text = re.sub(r"\\{2,}(?=[a-zA-Z]{2})", r"\\", text)
    for name, sign in _STRICT.items():
        text = re.sub(rf"\\{name[1:]}(?![a-zA-Z])", sign, text)
    text = text.translate(_TABLE)
    for pattern, new in _RULES:
        text = pattern.sub(new, text)
    return trim(text)


def trim(text: str) -> str:
    """Drop emphasis, closing punctuation and separators from the ends of a plain form."""
    return re.sub(r"(?:\s|[.,;:*_`]|\\(?![a-zA-Z{}%]))+$", "", text).lstrip(" ,;:*`").strip()


def squeeze(text: str) -> str:
    """Return a plain form without spaces, but for those between two letters or two digits."""
    return _SPACES.sub("", text)


def split_top(text: str, separator: re.Pattern[str]) -> list[str]:
    r"""Split where ``separator`` matches outside all brackets and braces; empty parts are dropped.

    Brackets may close unlike they opened, as ``(3,4]`` does.
    """
    parts: list[str] = []
    depth, start, at = 0, 0, 0
    for at, char in enumerate(text):
        if at < start:
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth = max(0, depth - 1)
        elif depth == 0 and (match := separator.match(text, at)):
            parts.append(text[start:at])
            start = match.end()
    parts.append(text[start:])
    return [part for part in map(trim, parts) if part]
