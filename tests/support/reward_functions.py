"""Reward functions and verifiers as users write them, good and bad."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks.divisible.config import Divisible


def trl_first_word(completions, answer, **kwargs):
    """TRL's signature: the first line must be the word."""
    lines = [text.strip().split("\n")[0] for text in completions]
    return [float(line == gold) for line, gold in zip(lines, answer, strict=True)]


def trl_chat(prompts, completions, answer, **kwargs):
    """TRL's signature on conversations."""
    assert prompts[0][-1]["role"] == "user"
    return [
        float(turns[0]["content"] == gold) for turns, gold in zip(completions, answer, strict=True)
    ]


def trl_substring(completions, answer, **kwargs):
    """The old mistake: the answer anywhere in the text."""
    return [float(gold in text) for text, gold in zip(completions, answer, strict=True)]


def trl_none(completions, **kwargs):
    return [None for _ in completions]


def verl_score(data_source, solution_str, ground_truth, extra_info=None):
    """verl's signature, with a mapping."""
    right = solution_str.strip() == ground_truth
    return {"score": 1.0 if right else 0.1, "acc": right, "source": data_source}


def needs_label(completions, label, **kwargs):
    return [float(text == gold) for text, gold in zip(completions, label, strict=True)]


def neither(text):
    return 1.0


async def waits(completions, **kwargs):
    return [1.0]


@dataclass(frozen=True)
class Base:
    name: str = "mine"
    version: str = "2"

    def right(self, text: str, gold: str) -> bool:
        return text.strip() == gold

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        right = self.right(completion.text, prompt.facts["answer"])
        outcome = Outcome.CORRECT if right else Outcome.WRONG
        return Verdict(outcome=outcome, verifier=self.name, version=self.version)


class Generous(Base):
    def right(self, text, gold):
        return True


class Deaf(Base):
    def right(self, text, gold):
        return False


class Brittle(Base):
    def right(self, text, gold):
        text.encode("utf-8")
        return super().right(text, gold)


class Moody(Base):
    def right(self, text, gold):
        return super().right(text, gold) and random.random() < 0.7


class Slow(Base):
    """Hangs on braces."""

    def right(self, text, gold):
        if text.startswith("}}}"):
            time.sleep(600)
        return super().right(text, gold)


class BothEnds(Base):
    """Takes the first or the last line."""

    def right(self, text, gold):
        lines = text.strip().split("\n")
        return gold in (lines[0], lines[-1])


OBJECT = Base()
NUMBER = 7
TASK = Divisible().build()
