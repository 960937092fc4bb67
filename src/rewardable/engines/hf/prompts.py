"""Token ids of prompts: chat template or raw text, one begin token, openings in their context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardable.errors import ConfigError, DataError
from rewardable.records import Prompt, digest

RAW = "raw"


@dataclass(frozen=True, kw_only=True)
class PromptEncoder:
    """Turns prompts into ids, the same ids for sampling and for scoring.

    template: the chat template's text, or ``""`` for raw prompts.
    """

    tokenizer: Any
    template: str

    @classmethod
    def choose(cls, tokenizer: Any, template: str, prompt_format: str) -> PromptEncoder:
        """Apply ``prompt_format``; ConfigError when ``chat`` finds no template."""
        if prompt_format == "chat" and not template:
            raise ConfigError(
                "prompt_format='chat' needs a chat template and this policy has none; "
                "use 'raw', or name a source that has one with template_from."
            )
        return cls(tokenizer=tokenizer, template="" if prompt_format == RAW else template)

    @property
    def template_key(self) -> str:
        """``"raw"`` or the digest of the chat template."""
        return digest("template", self.template) if self.template else RAW

    def ids(self, prompt: Prompt) -> list[int]:
        """Return the prompt's ids; DataError when there are none."""
        return self._encode(self._text(prompt))

    def with_opening(self, prompt: Prompt, opening: str) -> tuple[list[int], list[int]]:
        """Return (prompt ids, opening ids).

        The opening is tokenised behind the prompt. Where that would merge the prompt's last
        token with it, the opening is tokenised alone, so that the prompt's ids stay what they are.
        """
        text = self._text(prompt)
        ids = self._encode(text)
        if not opening:
            return ids, []
        together = self._encode(text + opening)
        if together[: len(ids)] == ids:
            return ids, together[len(ids) :]
        return ids, self.tokenizer(opening, add_special_tokens=False)["input_ids"]

    def _text(self, prompt: Prompt) -> str:
        if not self.template:
            return prompt.text
        turns = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
        return self.tokenizer.apply_chat_template(
            turns, chat_template=self.template, tokenize=False, add_generation_prompt=True
        )

    def _encode(self, text: str) -> list[int]:
        plain = list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        # a chat template writes every special token itself
        ids = plain if self.template else self._with_begin(text, plain)
        if not ids:
            raise DataError("the prompt has no tokens: its text is empty.")
        return ids

    def _with_begin(self, text: str, plain: list[int]) -> list[int]:
        """Add the tokenizer's begin tokens once, and no end token behind the prompt."""
        full = list(self.tokenizer(text, add_special_tokens=True)["input_ids"])
        before = _prefix_before(full, plain)
        if before and plain[: len(before)] == before:
            return plain
        return before + plain


def _prefix_before(full: Sequence[int], plain: Sequence[int]) -> list[int]:
    """Return what stands in ``full`` before ``plain``."""
    for start in range(len(full) - len(plain) + 1):
        if list(full[start : start + len(plain)]) == list(plain):
            return list(full[:start])
    return []
