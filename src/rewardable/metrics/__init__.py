"""Support statistics as pure functions on arrays: numpy and scipy, nothing else.

Arrays carry their shape in the name: P prompts, R rollouts, K budgets, L (prompt, label) pairs.
Every per-prompt estimator is unbiased and gives NaN where it is undefined; averages over prompts
with their doubt come from :func:`mean_interval`, :func:`paired_interval`, :func:`curve_band` and
:func:`paired_band`.
"""

from __future__ import annotations

from rewardable.metrics.bands import curve_band, paired_band
from rewardable.metrics.bounds import binomial_interval, zero_bound
from rewardable.metrics.changes import CALLS, Transitions, transitions
from rewardable.metrics.crossings import Crossing, crossing
from rewardable.metrics.designs import stopped_interval
from rewardable.metrics.diversity import (
    adjusted_distinct_n,
    answer_entropy,
    collision_probability,
    distinct_n,
    ngram_repetition,
)
from rewardable.metrics.fixed import fixed_prompts_interval
from rewardable.metrics.graded import best_at_k, reward_variance
from rewardable.metrics.inferiority import NonInferiority, non_inferiority
from rewardable.metrics.intervals import Band, Interval, mean_interval, paired_interval
from rewardable.metrics.labels import (
    LabelCounts,
    count_labels,
    coverage,
    distinct_at_k,
    distinct_outputs,
)
from rewardable.metrics.majority import maj_at_k
from rewardable.metrics.masses import EndMasses, end_masses
from rewardable.metrics.mixture import Mixture, Refits, extrapolate, fit_mixture, refit_mixture
from rewardable.metrics.passk import pass_at_k, pass_hat_k
from rewardable.metrics.polarised import polarisation, polarisation_change
from rewardable.metrics.power import detection_power, needed_n, smallest_certified_loss
from rewardable.metrics.ratios import ratio_interval, ratio_of_means
from rewardable.metrics.richness import (
    RarefiedCoverage,
    Richness,
    chao1,
    rarefied_coverage,
    unseen_mass,
)
from rewardable.metrics.stopping import StoppingRule
from rewardable.metrics.support import SupportDynamics, support_dynamics
from rewardable.metrics.templates import template_reuse, template_reuse_change
from rewardable.metrics.trainable import graded_trainability, trainability, useful_groups
from rewardable.metrics.wording import (
    GramCounts,
    adjusted_distinct_n_at_k,
    count_grams,
    distinct_n_at_k,
    row_quantiles,
)

__all__ = [
    "CALLS",
    "Band",
    "Crossing",
    "EndMasses",
    "GramCounts",
    "Interval",
    "LabelCounts",
    "Mixture",
    "NonInferiority",
    "RarefiedCoverage",
    "Refits",
    "Richness",
    "StoppingRule",
    "SupportDynamics",
    "Transitions",
    "adjusted_distinct_n",
    "adjusted_distinct_n_at_k",
    "answer_entropy",
    "best_at_k",
    "binomial_interval",
    "chao1",
    "collision_probability",
    "count_grams",
    "count_labels",
    "coverage",
    "crossing",
    "curve_band",
    "detection_power",
    "distinct_at_k",
    "distinct_n",
    "distinct_n_at_k",
    "distinct_outputs",
    "end_masses",
    "extrapolate",
    "fit_mixture",
    "fixed_prompts_interval",
    "graded_trainability",
    "maj_at_k",
    "mean_interval",
    "needed_n",
    "ngram_repetition",
    "non_inferiority",
    "paired_band",
    "paired_interval",
    "pass_at_k",
    "pass_hat_k",
    "polarisation",
    "polarisation_change",
    "rarefied_coverage",
    "ratio_interval",
    "ratio_of_means",
    "refit_mixture",
    "reward_variance",
    "row_quantiles",
    "smallest_certified_loss",
    "stopped_interval",
    "support_dynamics",
    "template_reuse",
    "template_reuse_change",
    "trainability",
    "transitions",
    "unseen_mass",
    "useful_groups",
    "zero_bound",
]
