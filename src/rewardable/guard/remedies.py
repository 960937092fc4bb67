"""Symptom, usual cause, remedy: a literal catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rewardable.guard.decision import Action


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedy:
    """What a set of signals usually means, and what helps.

    signals: all of them must be off. actions: what the guard may do about it, if allowed.
    """

    symptom: str
    cause: str
    remedy: str
    signals: frozenset[str]
    actions: tuple[Action, ...] = ()


def _entry(signals: str, symptom: str, cause: str, remedy: str, *actions: Action) -> Remedy:
    return Remedy(
        symptom=symptom,
        cause=cause,
        remedy=remedy,
        signals=frozenset(signals.split()),
        actions=actions,
    )


REMEDIES: tuple[Remedy, ...] = (
    _entry(
        "support distinct",
        "future tasks are solved less often and in fewer ways",
        "the policy concentrates on a few openings that the verifier pays",
        "roll back to the last good checkpoint, then continue with a lower learning rate, a KL "
        "coefficient of 0.1 and replay of varied samples",
        "raise_kl", "add_replay", "lower_learning_rate",
    ),
    _entry(
        "support",
        "successes of future tasks are no longer sampled within the budget",
        "training moves the openings that those tasks need",
        "raise the KL coefficient (0.05 to 0.1), mix in general and replayed samples, lower the "
        "learning rate",
        "raise_kl", "add_replay", "lower_learning_rate",
    ),
    _entry(
        "distinct length",
        "fewer solutions, and answers of another length",
        "the verifier or a length limit pays one form of answer",
        "loosen the format rule; look for truncation and for what the verifier misjudges",
        "raise_kl", "add_replay", "lower_learning_rate",
    ),
    _entry(
        "distinct format_compliance",
        "all answers look alike",
        "the format rule is too strict, or one template is paid across prompts",
        "loosen the format rule; compare strict and lenient verdicts",
        "raise_kl", "add_replay", "lower_learning_rate",
    ),
    _entry(
        "distinct",
        "accuracy holds while the ways to be right become few",
        "repeated right answers are paid like new ones",
        "mix supervised data, train fewer steps, add a diversity penalty among right answers",
        "raise_kl", "add_replay", "lower_learning_rate",
    ),
    _entry(
        "trainability",
        "groups on future tasks no longer vary",
        "the policy is always right or always wrong on each prompt",
        "if they are solved, take harder future tasks; if they are lost, raise the KL coefficient "
        "and replay varied samples",
        "raise_kl", "add_replay", "lower_learning_rate",
    ),
    _entry(
        "entropy distinct_outputs",
        "entropy and distinct outputs fall",
        "a binary reward with nothing that pays variety",
        "soften the reward, add a diversity penalty, raise the KL coefficient to 0.1 (with beta 0 "
        "there is no reference model and no KL)",
    ),
    _entry(
        "first_token_entropy",
        "the first token is nearly fixed",
        "one opening is paid in all prompts",
        "soften the reward or add a diversity penalty; raise the KL coefficient to 0.1",
    ),
    _entry(
        "entropy",
        "entropy falls fast",
        "binary reward",
        "soften the reward, add a diversity penalty, raise the KL coefficient to 0.1",
    ),
    _entry(
        "distinct_outputs",
        "outputs of a prompt become alike",
        "the format rule is too strict, or the reward pays no variety",
        "loosen the format rule; add a diversity penalty",
    ),
    _entry(
        "opening_drift",
        "answers begin in another way than at the start",
        "training re-ranks openings",
        "sample the future tasks now; keep varied openings by replay or by the KL term",
    ),
    _entry(
        "length",
        "answers changed their length",
        "the reward or a limit favours a length",
        "look at truncation and at what is paid; do not pay length",
    ),
    _entry(
        "ngram_repetition",
        "texts repeat themselves",
        "a template is paid, or decoding loops",
        "penalise similarity within groups; read samples",
    ),
    _entry(
        "format_compliance",
        "fewer answers keep the format",
        "the reward no longer pays the format, or the template changed",
        "give partial credit for the format; compare strict and lenient verdicts",
    ),
    _entry(
        "kl",
        "the policy is far from its reference",
        "the learning rate is high for the KL coefficient",
        "lower the learning rate or raise the KL coefficient (0.05 to 0.1)",
    ),
    _entry(
        "zero_variance_share",
        "most groups carry no signal",
        "prompts are always solved or never",
        "drop solved and impossible prompts, draw larger groups, soften the reward; if accuracy "
        "stalls, lower the KL coefficient to 0.02",
    ),
    _entry(
        "held_out_success",
        "held-out success falls",
        "gains on the training task are paid for elsewhere",
        "roll back to the checkpoint with the best held-out success whose entropy had not fallen; "
        "mix supervised data",
    ),
    _entry(
        "perturbation_robustness",
        "paraphrased prompts fail",
        "the policy keys on the wording",
        "add perturbed prompts to training",
    ),
)  # fmt: skip
"""Most specific first."""


def remedy_for(signals: Iterable[str]) -> Remedy | None:
    """Return the first entry all of whose signals are off (``support@8`` is ``support``)."""
    off = {signal.split("@")[0] for signal in signals}
    return next((entry for entry in REMEDIES if entry.signals <= off), None)
