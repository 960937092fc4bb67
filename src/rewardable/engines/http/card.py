"""What a server says of the model that it serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewardable.engines.http.source import ServerSource
from rewardable.errors import ConfigError, unknown_name

EXTENDED = ("vllm", "rewardable")
"""Owners of servers that speak vLLM's extensions; the second is our own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A served model. root: where the server has it from; base: the same of an adapter's base.

    context: most tokens, None where the server does not say. vllm: it speaks vLLM's extensions.
    """

    model: str
    root: str = ""
    base: str = ""
    context: int | None = None
    vllm: bool = False


def read_card(listing: Any, source: ServerSource) -> Card:
    """Find the source's model in the server's list (None: it keeps no list)."""
    if listing is None:
        if source.model:
            return Card(model=source.model)
        raise ConfigError(f"{source.url} lists no models: name one, {source.url}#MODEL.")
    served = {one["id"]: one for one in _entries(listing)}
    name = source.model or (next(iter(served)) if len(served) == 1 else "")
    if not name:
        raise ConfigError(
            f"{source.url} serves {len(served)} models ({', '.join(sorted(served))}): name one, "
            f"{source.url}#MODEL."
        )
    if name not in served:
        raise unknown_name(f"model of {source.url}:", name, served)
    one = served[name]
    parent = served.get(str(one.get("parent")), {})
    length = one.get("max_model_len") or parent.get("max_model_len")
    return Card(
        model=name,
        root=str(one.get("root") or ""),
        base=str(parent.get("root") or ""),
        context=length if isinstance(length, int) else None,
        vllm=(parent or one).get("owned_by") in EXTENDED,
    )


def _entries(listing: Any) -> list[dict[str, Any]]:
    data = listing.get("data") if isinstance(listing, dict) else None
    if not isinstance(data, list):
        return []
    return [one for one in data if isinstance(one, dict) and isinstance(one.get("id"), str)]
