"""From a run folder to tables: which successes each policy can still reach.

:func:`measure_run` returns these tables by name. Every row's labels name its task and either
``policy`` and ``spec`` (one arm) or ``before``, ``after`` and ``spec`` (a paired difference, after
minus before; ``spec_before`` and ``spec_after`` where they differ). ``k`` is a budget of samples;
``band`` is "simultaneous" (covers the whole curve) or "pointwise"; ``certified`` is "rise",
"fall" or "none", by whether the row's interval excludes zero.

verdict: one row a sentence. Labels ``topic``, ``name``, ``text``, ``tone``, ``role``, ``headline``.
    Notes: one paragraph a comparison, then what the intervals cover.
overview: counts of every arm. ``metric``: prompts, rollouts, rollouts a prompt, graded, ungraded,
    correct, cut off. Notes: warnings that hold for all tables.
curves: ``metric``: pass@k, support@k (expected prompts with a success within k), solutions@k
    (expected distinct rewarded solutions a prompt; ``kind`` says what tells them apart), best@k
    (graded scores); with ``k`` and ``band``. Without a budget: "prompts with any success" and
    "rate that 0 of n allows".
differences: the same metrics, paired; further "first certified loss" and "crossing" (``of`` a
    metric: the smallest reported budget at which a fall is certified, and at which the mean
    difference turns negative).
transitions: ``kind`` "prompt" (``prompt``, ``call``, ``n_before``, ``c_before``, ``n_after``,
    ``c_after``; the estimate is the change of the success rate), "summary" (prompts a call), and
    "power" (what could have been certified).
trainability: ``metric`` trainability or reward variance; ``role`` main or future; ``group``.
coverage: coverage@k of a label ``kind`` within ``scope`` "all prompts" or "prompts that all
    policies solve"; arms and pairs.
shape: ``metric`` distinct outputs (``k``), first-token entropy, mean entropy, length, truncation
    rate; ``unit``; arms and pairs.
truncation: truncation rate; pass@k under ``truncated`` "as judged", "counted as wrong" and
    "left out"; arms and pairs.
examples: quoted rollouts before and after of the prompts that fell most.

Ungraded rollouts are in no value. An estimate that they could change counts them in
``n_ungraded`` and carries ``bound_low`` and ``bound_high``: the values with all of them wrong and
all of them right, in ascending order; for a difference the two extremes, where what is wrong
before is right after and the other way round. The bounds of pass@k and support@k (and their
``n_ungraded``) include the prompts that are left out because some policy has no graded rollout of
them, so they can lie beside the value, which does not.
"""

from __future__ import annotations

from rewardable.measure.config import MeasureConfig, budgets
from rewardable.measure.run import measure_run

__all__ = ["MeasureConfig", "budgets", "measure_run"]
