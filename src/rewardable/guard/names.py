"""Metric names of trainers, and the signals that they carry. Literal tables."""

from __future__ import annotations

from collections.abc import Mapping

ALIASES: Mapping[str, tuple[str, ...]] = {
    "entropy": ("entropy", "actor/entropy", "actor/entropy_loss", "policy/entropy", "mean_entropy"),
    "first_token_entropy": ("first_token_entropy", "entropy/first_token", "generation_entropy"),
    "distinct_outputs": ("distinct_outputs", "distinct/outputs", "distinct_solutions"),
    "opening_drift": ("opening_drift",),
    "length": (
        "completions/mean_length",
        "response_length/mean",
        "response_length",
        "completion_length",
    ),
    "ngram_repetition": ("ngram_repetition", "repetition/within_4", "repetition"),
    "format_compliance": ("format_compliance", "format", "format_rate"),
    "kl": (
        "kl",
        "actor/ppo_kl",
        "actor/kl_loss",
        "actor/reward_kl_penalty",
        "critic/kl",
        "objective/kl",
    ),
    "zero_variance_share": ("frac_reward_zero_std", "zero_variance_share", "constant_share"),
    "held_out_success": ("held_out_success", "eval_success", "eval/success"),
    "perturbation_robustness": ("perturbation_robustness",),
}
"""Signal -> names under which it is logged, the preferred one first."""

SIGNALS: tuple[str, ...] = tuple(ALIASES)

UNUSED: frozenset[str] = frozenset(
    {
        "loss", "train_loss", "policy_loss", "grad_norm", "learning_rate", "lr", "epoch", "step",
        "global_step", "num_tokens", "step_time", "reward", "reward_std", "clip_ratio", "beta",
        "total_flos", "train_runtime", "train_samples_per_second", "train_steps_per_second",
        "completions/max_length", "completions/min_length", "completions/clipped_ratio",
        "response_length/max", "response_length/min", "response_length/clip_ratio",
        "entropy/mean", "template", "truncated", "ungraded", "entropy_coef",
        "response/aborted_ratio", "num_turns/min", "num_turns/max", "num_turns/mean",
    }
)  # fmt: skip
"""Names that trainers log and that the guard knows, but does not judge."""

UNUSED_PREFIXES: tuple[str, ...] = (
    "rewards/",
    "clip_ratio/",
    "profiling/",
    "sampling/",
    "completions/mean_terminated",
    "completions/min_terminated",
    "completions/max_terminated",
    "actor/",
    "critic/",
    "perf/",
    "timing_s/",
    "timing_per_token_ms/",
    "global_seqlen/",
    "prompt_length/",
    "response_length_non_aborted/",
    "training/",
    "rollout_corr/",
    "loss/",
    "reward/",
    "groups/",
    "length/",
    "repetition/across",
    "distinct/",
    "preserve/",
    "mix/",
    "guard/",
    "disagreement/",
)
"""Families of such names."""

_SIGNAL_OF: Mapping[str, str] = {name: key for key, names in ALIASES.items() for name in names}


def signal_of(name: str, extra: Mapping[str, str]) -> str | None:
    """Return the signal that a metric carries, or None. A leading ``train/`` is dropped."""
    plain = name.removeprefix("train/")
    return extra.get(name) or _SIGNAL_OF.get(plain)


def is_unused(name: str) -> bool:
    """Return whether the guard knows the name and does not judge it."""
    plain = name.removeprefix("train/")
    return plain in UNUSED or plain.startswith(UNUSED_PREFIXES)


def known_names() -> tuple[str, ...]:
    """Return all names with a meaning, for suggestions."""
    return tuple(_SIGNAL_OF) + tuple(sorted(UNUSED))
