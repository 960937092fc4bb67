"""``kill_driver.py sample|grade|adaptive RUN``: a known policy, slow enough to be killed inside."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rewardable.collect import Outcomes, collect_adaptively, generate, grade
from rewardable.engines.fake import FakePolicy
from rewardable.metrics import StoppingRule
from rewardable.protocols import SampleRequest
from rewardable.records import (
    Completion,
    Outcome,
    Policy,
    Prompt,
    Rollout,
    SamplingSpec,
    Verdict,
    user_prompt,
)
from rewardable.store import Run
from rewardable.workflows.adaptive import need_of

TEXTS = {f"answer {i}": 0.125 for i in range(8)}
PROMPTS = [user_prompt("kills", "1", f"question {i}", {"odd": i % 2}) for i in range(40)]
SPEC = SamplingSpec(seed=3)
SAMPLES = 100
RULE = StoppingRule(successes=12, cap=SAMPLES, first=8, step=4, give_up=64)
CONFIG = {"n": SAMPLES, "seed": 3, "task": "kills"}


@dataclass
class SlowPolicy:
    """The fake policy at the pace of a real one; some rows fail."""

    fake: FakePolicy = field(
        default_factory=lambda: FakePolicy("kills", {"*": TEXTS}, failure_rate=0.02)
    )

    @property
    def policy(self) -> Policy:
        return self.fake.policy

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        for rollout in self.fake.sample(requests, spec):
            time.sleep(0.0004)
            yield rollout


@dataclass(frozen=True)
class SlowVerifier:
    name: str = "kills"
    version: str = "1"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        time.sleep(0.0003)
        last = int(completion.text.split()[-1])
        if last == 7:
            raise ValueError("seven")
        outcome = Outcome.CORRECT if last % 2 == prompt.facts["odd"] else Outcome.WRONG
        return Verdict(
            outcome=outcome, verifier=self.name, version=self.version, labels={"last": str(last)}
        )


def judged(run: Run, engine: SlowPolicy) -> Outcomes:
    rows = run.rollouts(policy_key=engine.policy.key, spec_key=SPEC.key)
    found: Outcomes = {}
    for rollout, verdict in rows:
        if verdict is not None:
            found.setdefault(rollout.id.prompt_key, {})[rollout.id.index] = verdict.outcome
    return found


def main(verb: str, path: Path) -> None:
    run = Run.resume_or_create(path, CONFIG)
    if verb == "grade":
        grade(SlowVerifier(), run.prompts("kills"), run, flush_s=0.1)
        return
    engine = SlowPolicy()
    run.add_prompts(PROMPTS)
    run.add_policies([engine.policy])
    run.add_specs([SPEC])
    if verb == "sample":
        generate(engine, PROMPTS, SAMPLES, SPEC, run, flush_s=0.1)
    else:
        collect_adaptively(
            engine, SlowVerifier(), PROMPTS, need_of(RULE), SPEC, run, judged(run, engine),
            flush_s=0.1,
        )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
