"""Read a list inside one large JSON document, item by item."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from rewardable.errors import DataError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_TAIL = 3
"""A number that goes on may seem to end so many characters before the end of what is held."""
_LONGEST_WORD = 32
"""Of a number or a word such as ``-Infinity``, which may stand cut at the end of what is held."""


class CutError(ValueError):
    """The document ends before its end."""


class JsonStream:
    """Walks over a document that arrives in chunks; holds no more than one value of it."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text = ""
        self._at = 0
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is no space."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            self._more()

    def expect(self, signs: str, *, stay: bool = False) -> str:
        """Pass one of these signs, or stay before it, and return it; DataError for another."""
        got = self.peek()
        if got not in signs:
            raise DataError(f"expected {' or '.join(signs)} in the JSON document, got {got!r}.")
        self._at += not stay
        return got

    def value(self) -> Any:
        """Read one value, whatever its size."""
        self.peek()
        size = 1 << 16
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                self._require_more(error)
                self._need(size)
                size *= 2
                continue
            if end > len(self._text) - _TAIL and not self._ended:
                self._need(1)
                continue
            self._at = end
            return found

    def _require_more(self, error: ValueError | RecursionError) -> None:
        """Raise CutError where the document has ended, DataError where more would not help."""
        where = getattr(error, "pos", len(self._text))
        open_string = "Unterminated" in str(error)
        if isinstance(error, RecursionError) or (
            where < len(self._text) - _LONGEST_WORD and not open_string
        ):
            raise DataError(f"the JSON document is damaged: {error}.") from error
        if self._ended:
            raise CutError(str(error)) from error

    def _need(self, size: int) -> None:
        """Hold so many characters more than now, or all that there are."""
        pieces, held = [self._text[self._at :]], 0
        while held < size and not self._ended:
            chunk = next(self._chunks, None)
            self._ended = chunk is None
            pieces.append(self._decode.decode(chunk or b"", final=chunk is None))
            held += len(pieces[-1])
        self._text, self._at = "".join(pieces), 0

    def _more(self) -> None:
        if self._ended:
            raise CutError("the document ends before its end")
        self._need(1)


def members(chunks: Iterator[bytes], listed: str) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of the members of an object; the items of the list ``listed`` one by one.

    Raises CutError where the document ends too early, DataError where it is no such object.
    """
    stream = JsonStream(chunks)
    stream.expect("{")
    if stream.peek() == "}":
        return
    while True:
        stream.expect('"', stay=True)
        name = stream.value()
        stream.expect(":")
        if name == listed and stream.peek() == "[":
            for item in _items(stream):
                yield name, item
        else:
            yield name, stream.value()
        if stream.expect(",}") == "}":
            return


def _items(stream: JsonStream) -> Iterator[Any]:
    stream.expect("[")
    if stream.peek() == "]":
        stream.expect("]")
        return
    while True:
        yield stream.value()
        if stream.expect(",]") == "]":
            return
