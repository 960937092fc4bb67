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
    (graded scores), pass^k (all of k right), maj@k (a vote of k is right; ``kind`` names the label
    that votes); with ``k`` and ``band``. Without a budget: "prompts with any success" and
    "rate that 0 of n allows".
differences: the same metrics, paired; further "first certified loss" and "crossing" (``of`` a
    metric: the smallest reported budget at which a fall is certified, and at which the mean
    difference turns negative).
transitions: ``kind`` "prompt" (``prompt``, ``call``, ``n_before``, ``c_before``, ``n_after``,
    ``c_after``; the estimate is the change of the success rate), "summary" (prompts a call), and
    "power" (what could have been certified).
dynamics: pairs. ``metric`` retention (SRR), discovery (NDR), support dynamics score (SDS), net
    support change (NSCR), retention if nothing had changed, and the expected numbers solved by
    both, before only, after only; ``k``; ``units`` prompts or solutions.
polarisation: ``metric`` polarisation; arms and pairs.
trainability: ``metric`` trainability, trainability of scores (where they are graded), reward
    variance, useful groups (of a ``batch``); ``role`` main or future; ``group``; arms and pairs.
coverage: coverage@k of a label ``kind`` within ``scope`` "all prompts" or "prompts that all
    policies solve"; arms and pairs.
richness: coverage (where totals are unknown, distinct share) at equal ``successes`` of a label
    ``kind``, with prompts ``kept`` and ``dropped``, arms and pairs; where totals are unknown
    also ``metric`` seen, exist at the least (Chao1), unseen mass (Good-Turing); arms.
models: pass@k beyond n (``k``), prompts near 0 and near 1 (within ``edge``) under a ``model``;
    arms. Not measurements: nothing is certified from them.
gates: one row for each time a gate is judged: ``gate``, ``metric``, ``outcome`` (failed, held, not
    shown, cannot be judged), ``relative``, ``threshold``, ``text``; only where gates are told.
shape: ``metric`` distinct outputs (``k``), answer entropy, first-token entropy, mean entropy,
    length, truncation rate, format compliance; wording: distinct-n and adjusted distinct-n
    (``k``), n-gram repetition, right answers that skip steps, template reuse; quantiles of
    lengths, of right and of wrong answers; ``unit``, ``group``; arms and pairs.
truncation: truncation rate; pass@k under ``truncated`` "as judged", "counted as wrong" and
    "left out"; arms and pairs.
classes: of prompts with the fact ``class``: ``metric`` accuracy (``class``), balanced accuracy,
    error rate (``class``, ``error``); arms and pairs; ``metric`` constant (``of``, ``answer``) is
    what one answer to every prompt gets. ``role`` may also be screen.
robustness: of prompts that reword one another (fact ``paraphrase_of``): ``metric`` pass rate,
    agreement, agreement within a wording, lost to wording, lowest rate, chosen on one half, worst
    wording; with ``wording`` (a kind): pass rate, against the original; arms and pairs.
examples: quoted rollouts before and after of the prompts that fell most.

Ungraded rollouts are in no value. An estimate that they could change counts them in
``n_ungraded`` and carries ``bound_low`` and ``bound_high``: the values with all of them wrong and
all of them right, in ascending order; for a difference the two extremes, where what is wrong
before is right after and the other way round. The bounds of pass@k and support@k (and their
``n_ungraded``) include the prompts that are left out because some policy has no graded rollout of
them, so they can lie beside the value, which does not.
"""

from __future__ import annotations

from rewardable.measure.collapse import collapse_table
from rewardable.measure.config import MeasureConfig, budgets
from rewardable.measure.gate_text import Gate, parse_gate
from rewardable.measure.gates import FAILED
from rewardable.measure.run import measure_run

__all__ = [
    "FAILED",
    "Gate",
    "MeasureConfig",
    "budgets",
    "collapse_table",
    "measure_run",
    "parse_gate",
]
