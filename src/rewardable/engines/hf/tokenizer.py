"""Loads tokenizer and chat template of a checkpoint; needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from rewardable.engines.hf.checkpoints import Checkpoint, locate
from rewardable.errors import ConfigError

TEMPLATE_SUFFIX = ".jinja"


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """Load the adapter's own tokenizer where it has one, else the base's."""
    if checkpoint.adapter is not None and (checkpoint.adapter / "tokenizer_config.json").is_file():
        return AutoTokenizer.from_pretrained(str(checkpoint.adapter))
    if checkpoint.gguf:
        from rewardable.engines.hf.gguf import gguf_tokenizer

        return gguf_tokenizer(checkpoint.folder / checkpoint.gguf)
    try:
        return AutoTokenizer.from_pretrained(str(checkpoint.folder))
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{checkpoint.source} has no tokenizer that loads: {error}") from error


def load_template(source: str) -> str:
    """Return the chat template of another source or of a ``.jinja`` file; ``""`` if it has none."""
    path = Path(source)
    if path.suffix == TEMPLATE_SUFFIX:
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot read the chat template {source}: {error}") from error
    return template_of(load_tokenizer(locate(source)))


def template_of(tokenizer: Any) -> str:
    """Return a tokenizer's chat template; of several, the one named ``default``."""
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default") or next(iter(template.values()))
    return template or ""
