"""Token ids of prompts and of finished answers, as the trainer's own sampling would see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardable.records import Prompt

MARK = "rewardable-mark"


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoder:
    """Tokenises for training: the chat template where the tokenizer has one, raw text elsewhere.

    end_id: the token that ends an answer (see :func:`end_token`).
    """

    tokenizer: Any
    end_id: int

    def prompt(self, prompt: Prompt) -> list[int]:
        """Return the ids behind which a completion is sampled."""
        if self.tokenizer.chat_template is None:
            return list(self.tokenizer(prompt.text)["input_ids"])
        turns = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
        ids = self.tokenizer.apply_chat_template(
            turns, tokenize=True, add_generation_prompt=True, return_dict=True
        )["input_ids"]
        return list(ids)

    def completion(self, text: str, *, ended: bool = True) -> list[int]:
        """Return the ids of an answer, tokenised alone; its end token once where it ended."""
        ids = list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        return [*ids, self.end_id] if ended and ids[-1:] != [self.end_id] else ids


def encoder(tokenizer: Any, ends: Sequence[int]) -> Encoder:
    """Build the encoder of a policy whose completions end at the ids ``ends``."""
    return Encoder(tokenizer=tokenizer, end_id=end_token(tokenizer, ends))


def end_token(tokenizer: Any, ends: Sequence[int]) -> int:
    """Return the id that an answer should end with.

    The one that the chat template writes behind an answer, if sampling stops there; otherwise the
    tokenizer's end token. An answer taught with another end would never stop.
    """
    if tokenizer.chat_template is None:
        return int(tokenizer.eos_token_id)
    turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": MARK}]
    text = tokenizer.apply_chat_template(turns, tokenize=False)
    behind = tokenizer(text.rpartition(MARK)[2].strip(), add_special_tokens=False)["input_ids"]
    if behind and behind[0] in ends:
        return int(behind[0])
    return int(tokenizer.eos_token_id)
