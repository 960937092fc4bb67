"""Short real runs of the pocket policy: each method acts, they compose, and a run goes on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from safetensors.torch import load_file

from rewardable.errors import ConfigError
from rewardable.tasks import load_task
from rewardable.train import GRPORecipe, RewardConfig
from rewardable.train.core import Forward
from rewardable.train.extras import Extras
from rewardable.train.grpo import run_grpo
from rewardable.train.models import open_tokenizer
from rewardable.train.preserve import (
    AdaptiveKLConfig,
    BalancedConfig,
    EarlyStopConfig,
    OpeningKLConfig,
    PassAtKConfig,
    PreserveConfig,
    RoutingConfig,
    SoftSchedule,
    advantage_rule,
)
from rewardable.train.preserve.build import build_extras
from rewardable.train.preserve.kl import KLState
from rewardable.train.preserve.routing import RoutingPrior
from rewardable.train.preserve.staged import stopped_early
from rewardable.train.taps import RolloutBatch
from rewardable.workflows.sources import resolve_source

POCKET = resolve_source("pocket")
TASK = load_task("countdown-steps:numbers=3,values=1-9,min_solutions=2,split=train")


def recipe(**change: Any) -> GRPORecipe:
    given: dict[str, Any] = {
        "steps": 2, "prompts_per_step": 4, "group_size": 8, "max_new_tokens": 24,
        "train_prompts": 16, "save_every": 1, "learning_rate": 1e-3, "seed": 3,
    }  # fmt: skip
    return GRPORecipe(**{**given, **change})


def built(config: PreserveConfig, used: GRPORecipe) -> Extras:
    prompts = TASK.prompts(used.train_prompts, used.seed)
    return build_extras(
        config, POCKET, TASK, prompts, open_tokenizer(POCKET), used.seed,
        reward=used.reward, algorithm=used.algorithm,
    )  # fmt: skip


def trained(out: Path, config: PreserveConfig | None = None, **change: Any) -> list[dict[str, Any]]:
    """Run, and return the log lines of its steps."""
    settings = {} if config is None else config.trainer_settings()
    used = recipe(**{**change, "trl": {**settings, **change.get("trl", {})}})
    extras = None if config is None else built(config, used)
    last = run_grpo(POCKET, TASK, used, out, None, extras)[-1]
    return logged(last)


def logged(checkpoint: Path) -> list[dict[str, Any]]:
    state = json.loads((checkpoint / "trainer_state.json").read_text())
    return [line for line in state["log_history"] if "entropy" in line]


def weights(out: Path, step: int) -> dict[str, torch.Tensor]:
    return load_file(out / f"checkpoint-{step}" / "model.safetensors")


def distance(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    return math.sqrt(sum(float((a[name] - b[name]).square().sum()) for name in a))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plain")
    trained(out)
    return out


def change_of(out: Path, plain: Path) -> float:
    return distance(weights(out, 2), weights(plain, 2))


METHODS = {
    "opening_kl": (PreserveConfig(opening_kl=OpeningKLConfig(weight=5.0, tokens=3)), {}),
    "routing": (PreserveConfig(routing=RoutingConfig(weight=5.0, prompts=2)), {}),
    "balanced": (PreserveConfig(balanced=BalancedConfig(label="entry")), {}),
    "pass_at_k": (PreserveConfig(pass_at_k=PassAtKConfig(k=3)), {}),
    "soft_schedule": (
        PreserveConfig(soft_schedule=SoftSchedule(until=4, partial=0.0, format_credit=0.3)), {}
    ),
    "entropy": (None, {"entropy_coefficient": 0.5}),
    "clip_high": (None, {"clip_high": 5.0, "trl": {"epsilon": 1e-4, "num_iterations": 2}}),
}  # fmt: skip


@pytest.mark.parametrize("name", list(METHODS))
def test_each_method_acts(name: str, tmp_path: Path, plain: Path) -> None:
    config, change = METHODS[name]
    lines = trained(tmp_path, config, **change)
    assert [line["step"] for line in lines] == [1, 2]
    assert all(math.isfinite(line["grad_norm"]) for line in lines)
    assert change_of(tmp_path, plain) > 1e-3
    if name in ("opening_kl", "routing"):
        # at the first step the policy is the base
        assert lines[0][f"loss/{name}"] == pytest.approx(0.0, abs=1e-4)
        assert lines[1][f"loss/{name}"] > 1e-4


def reached(out: Path, algorithm: str) -> tuple[list[float], list[float]]:
    """Return the advantages of the first loss, and those that the rule means, by row."""
    config = PreserveConfig(balanced=BalancedConfig(label="entry"))
    used = recipe(algorithm=algorithm, steps=1)
    given: list[float] = []
    meant: list[float] = []

    def watch(seen: Forward) -> dict[str, float]:
        given.extend(seen.advantages_B.tolist())
        return {}

    def tap(batch: RolloutBatch) -> dict[str, float]:
        meant.extend(value or 0.0 for value in advantage_rule(balanced=config.balanced)(batch))
        return {}

    run_grpo(
        POCKET, TASK, used, out, None, built(config, used) + Extras(watches=(watch,), taps=(tap,))
    )
    return given, meant


@pytest.mark.parametrize("algorithm", ["grpo", "rloo"])
def test_the_loss_sees_the_advantages_that_the_rule_means(algorithm: str, tmp_path: Path) -> None:
    """Neither trainer's own baseline and scale change them; rows are shuffled behind sampling."""
    given, meant = reached(tmp_path, algorithm)
    assert len({round(value, 4) for value in meant}) > 4
    assert sorted(given) == pytest.approx(sorted(meant), abs=1e-5)


def test_everything_at_once(tmp_path: Path) -> None:
    config = PreserveConfig(
        adaptive_kl=AdaptiveKLConfig(),
        opening_kl=OpeningKLConfig(tokens=2, direction="base"),
        routing=RoutingConfig(prompts=2, source="base", samples=16, tokens=2),
        balanced=BalancedConfig(),
        pass_at_k=PassAtKConfig(k=2),
        soft_schedule=SoftSchedule(until=2),
        early_stop=EarlyStopConfig(),
    )
    lines = trained(tmp_path, config, micro_batch=16, reward=RewardConfig(diversity_weight=0.1))
    for line in lines:
        assert {"loss/opening_kl", "loss/routing", "kl", "preserve/support"} <= set(line)
        assert line["preserve/kl_weight"] == pytest.approx(0.05)
        assert all(math.isfinite(v) for v in line.values() if isinstance(v, float))


def test_the_routing_prior_reads_the_prompts_that_the_trainer_samples_from() -> None:
    used = recipe()
    extras = built(PreserveConfig(routing=RoutingConfig(prompts=4)), used)
    (term,) = extras.terms
    assert isinstance(term, RoutingPrior)
    tokenizer = open_tokenizer(POCKET)
    prompt = TASK.prompts(1, 3)[0]
    expected = tokenizer(text=[prompt.text])["input_ids"][0]
    assert term._encoder.prompt(prompt) == expected


class Watching:
    """Keeps what each batch and the trainer's coefficient were."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float]] = []
        self.trainer: Any = None

    def bind(self, trainer: Any) -> None:
        self.trainer = trainer

    def __call__(self, batch: RolloutBatch) -> dict[str, float]:
        self.seen.append((batch.step, self.trainer.beta))
        return {}


MOVING = PreserveConfig(
    adaptive_kl=AdaptiveKLConfig(baseline=1, window=1, cooldown=1, patience=1, gain=10.0)
)
"""With this gain every reward is stalled: it goes down whenever it may."""


def coefficients(out: Path, steps: int) -> list[tuple[int, float]]:
    used = recipe(
        steps=steps, prompts_per_step=2, group_size=4, learning_rate=1e-5,
        trl=MOVING.trainer_settings(),
    )  # fmt: skip
    watching = Watching()
    run_grpo(POCKET, TASK, used, out, None, built(MOVING, used) + Extras(taps=(watching,)))
    return watching.seen


def test_the_kl_coefficient_moves_and_a_resumed_run_goes_on_with_it(tmp_path: Path) -> None:
    whole = coefficients(tmp_path / "whole", 4)
    assert whole == [(0, 0.05), (1, 0.05), (2, 0.02), (3, 0.02)]
    first = coefficients(tmp_path / "cut", 2)
    second = coefficients(tmp_path / "cut", 4)
    assert first + second == whole
    at = [
        json.loads((tmp_path / run / "checkpoint-4" / "trainer_state.json").read_text())
        for run in ("whole", "cut")
    ]
    kept = [one["stateful_callbacks"]["AdaptiveKL"]["attributes"]["now"] for one in at]
    assert KLState.from_dict(kept[0]) == KLState.from_dict(kept[1])


def test_an_adaptive_kl_without_a_reference_model_is_refused(tmp_path: Path) -> None:
    used = recipe()
    with pytest.raises(ConfigError, match="reference model"):
        run_grpo(POCKET, TASK, used, tmp_path, None, built(MOVING, used))


def test_an_early_stop_ends_the_run_with_a_checkpoint_that_says_so(tmp_path: Path) -> None:
    config = PreserveConfig(
        early_stop=EarlyStopConfig(ratio=0.999, baseline=1, window=1, patience=1)
    )
    # a bonus below 0 pushes entropy down
    lines = trained(tmp_path, config, steps=12, save_every=50, entropy_coefficient=-1.0)
    last = lines[-1]["step"]
    assert last < 12
    assert lines[-1]["entropy"] < 0.999 * lines[0]["entropy"]
    assert stopped_early(tmp_path / f"checkpoint-{last}")
