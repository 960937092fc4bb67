"""The two passes against a real run folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardable.collect import Progress, RetrySink, generate, grade
from rewardable.protocols import RolloutSink, VerdictSink
from rewardable.records import Outcome, failed_completion
from rewardable.store import Run


def test_generate_grade_and_read(kit: Any, tmp_path: Path) -> None:
    from stub_verifiers import Habits

    run = Run.create(tmp_path / "run", {})
    assert isinstance(run, RolloutSink | VerdictSink | RetrySink)
    run.add_prompts(kit.prompts)
    run.add_policies([kit.policy])
    run.add_specs([kit.spec])
    sampler = kit.Sampler(text_of=lambda _, index: ("right", "wrong", "raise")[index % 3])
    report = generate(sampler, kit.prompts, 6, kit.spec, run)
    assert (report.n_done, report.n_new) == (24, 24)
    assert generate(sampler, kit.prompts, 6, kit.spec, Run.open(run.path)).n_new == 0
    seen = list[Progress]()
    graded = grade(Habits(), kit.prompts, run, on_progress=seen.append)
    assert (graded.n_graded, graded.n_correct, graded.n_ungraded) == (24, 8, 8)
    assert (seen[-1].done, seen[-1].total) == (24, 24)
    samples = run.samples(policy_key=kit.policy.key, spec_key=kit.spec.key, task="t")
    assert (samples.n_P.tolist(), samples.c_P.tolist()) == ([4] * 4, [2] * 4)
    assert samples.reasons == {"ValueError: bad answer": 8}
    ungraded = run.pending("habits", "1", samples.prompt_keys, retry_ungraded=True)
    assert grade(Habits(), kit.prompts, run, rollouts=ungraded).n_ungraded == 8
    kept = list(run.rollouts(policy_key=kit.policy.key, spec_key=kit.spec.key))
    assert [verdict.outcome for _, verdict in kept if verdict][:2] == [
        Outcome.CORRECT,
        Outcome.WRONG,
    ]


def test_failed_rows_are_retried_in_a_run_without_doubling(kit: Any, tmp_path: Path) -> None:
    from stub_verifiers import Habits

    class Flaky(kit.Sampler):
        def sample(self, requests: Any, spec: Any) -> Any:
            for row in super().sample(requests, spec):
                failed = failed_completion("out of memory")
                yield row if row.id.index else replace(row, completion=failed)

    run = Run.create(tmp_path / "run", {})
    run.add_prompts(kit.prompts)
    run.add_policies([kit.policy])
    run.add_specs([kit.spec])
    place = {"policy_key": kit.policy.key, "spec_key": kit.spec.key}
    report = generate(Flaky(), kit.prompts, 3, kit.spec, run)
    assert (report.n_failed, report.reasons) == (4, {"out of memory": 4})
    assert grade(Habits(), kit.prompts, run).reasons == {"engine: out of memory": 4}
    for verdicts, n_new in ((0, 4), (4, 0)):
        sampler = kit.Sampler(text_of=lambda *_: "right")
        report = generate(sampler, kit.prompts, 3, kit.spec, run, retry_failed=True)
        assert (report.n_done, report.n_new, report.n_failed) == (12, n_new, 0)
        assert grade(Habits(), kit.prompts, run).n_graded == 4 - verdicts
    samples = run.samples(**place)
    assert samples.index_R.tolist() == [0, 1, 2] * 4
    assert samples.n_P.tolist() == samples.c_P.tolist() == [3] * 4
