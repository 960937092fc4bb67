"""PPO on a task's verdicts: draw, look, foresee, learn; once a step."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from transformers import AutoModelForCausalLM

from rewardable.errors import ConfigError
from rewardable.protocols import Task
from rewardable.train.models import end_ids, open_tokenizer
from rewardable.train.ppo.gae import Floats, Spread, explained_variance
from rewardable.train.ppo.learn import Learner, Lesson, chunks
from rewardable.train.ppo.losses import divergence
from rewardable.train.ppo.recipe import PPORecipe
from rewardable.train.ppo.rollouts import Draw, Drawn, data_order
from rewardable.train.ppo.state import (
    Logs,
    check_same_run,
    describe,
    restore,
    save,
)
from rewardable.train.ppo.targets import Targets, targets
from rewardable.train.ppo.value import ActorCritic, Seen, autocast, build, reference_logps
from rewardable.train.quiet import quiet
from rewardable.train.recipe import StepReport
from rewardable.train.reporter import OnStep
from rewardable.train.rewards import VerdictReward
from rewardable.train.series import checkpoints, step_of
from rewardable.train.taps import Tap


def run_ppo(
    base: str,
    task: Task,
    recipe: PPORecipe,
    out: Path,
    on_step: OnStep | None,
    taps: Sequence[Tap] = (),
) -> list[Path]:
    """Train ``base`` on ``task`` by PPO; return the checkpoint folders in order of step.

    Run again with the same arguments it continues from the last checkpoint in ``out``, and ends
    with the weights that it would have had uninterrupted. ``taps`` see each process's completions
    of each step.

    Raises
    ------
    ConfigError: prompts that processes cannot share evenly; a policy without an end token.
    ResumeError: ``out`` holds a run with other settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    with quiet():
        _PPO(base, task, recipe, out, taps).train(on_step)
    return checkpoints(out)


class _PPO:
    """A run: its models, where it stands and what it logged."""

    def __init__(
        self, base: str, task: Task, recipe: PPORecipe, out: Path, taps: Sequence[Tap]
    ) -> None:
        self.recipe, self.out, self.run = recipe, out, describe(base, task, recipe)
        last = next(reversed(checkpoints(out)), None)
        if last is not None:
            check_same_run(last, self.run)
        self.accelerator: Any = Accelerator(cpu=not torch.cuda.is_available())
        self.bf16 = recipe.bf16 or self.accelerator.device.type == "cuda"
        self.prompts = task.prompts(recipe.train_prompts, recipe.seed)
        self._check_processes()
        whole = build(str(last or base), base, recipe, bf16=self.bf16)
        self.tokenizer = open_tokenizer(base)
        self.draw = self._drawing(task, whole, taps)
        self.model, self.optimizer = self.accelerator.prepare(whole, _optimizer(whole, recipe))
        self.whole: ActorCritic = self.accelerator.unwrap_model(self.model)
        self.done = step_of(last) if last else 0
        self.history: list[Logs] = []
        if last:
            self.history = restore(last, model=self.whole, optimizer=self.optimizer)
        self.reference: Any = self._reference(base) if recipe.kl_coefficient else None
        self.learn = Learner(
            accelerator=self.accelerator, model=self.model, optimizer=self.optimizer, recipe=recipe
        )

    def train(self, on_step: OnStep | None) -> None:
        """Do the steps that are left."""
        start = time.perf_counter()
        for step in range(self.done, self.recipe.steps):
            with _seeded(self.accelerator, self.recipe.seed, step):
                logs = self._step(step)
            self.history.append(logs | {"step": step + 1})
            if on_step is not None and self.accelerator.is_main_process:
                on_step(
                    StepReport(
                        step=step + 1,
                        total=self.recipe.steps,
                        reward=logs.get("reward"),
                        seconds=time.perf_counter() - start,
                        numbers=logs,
                    )
                )
            # told before it is saved: a run cut off between the two does the step again
            if (step + 1) % self.recipe.save_every == 0 or step + 1 == self.recipe.steps:
                self._save(step + 1)

    def _step(self, step: int) -> Logs:
        numbers: Logs = {}
        drawn = self.draw(self.whole.policy, self._share(step), step, numbers)
        old = self._look(drawn)
        gap_BT = self._gap(drawn, old)
        target = targets(
            self.recipe,
            mask_BT=drawn.places,
            truncated_B=drawn.truncated_B,
            paid_B=drawn.paid_B,
            value_BU=_array(old.value_BU),
            gap_BT=None if gap_BT is None else _array(gap_BT),
        )
        rng = np.random.default_rng([self.recipe.seed, step, 1])
        learned = self.learn(self._lesson(drawn, old, target), rng)
        return self._mean(numbers) | self._logs(drawn, old, target, gap_BT) | learned

    @torch.no_grad()
    def _look(self, drawn: Drawn) -> Seen:
        rows = np.arange(len(drawn.paid_B))
        parts = [
            self.model(drawn.ids_BL[part], drawn.mask_BL[part], drawn.width)
            for part in chunks(rows, self.recipe.micro_batch)
        ]
        return Seen(*(torch.cat(column) for column in zip(*parts, strict=True)))

    @torch.no_grad()
    def _gap(self, drawn: Drawn, old: Seen) -> torch.Tensor | None:
        """Return log p - log p(reference) of each token."""
        if self.reference is None:
            return None
        rows = np.arange(len(drawn.paid_B))
        with autocast(self.accelerator.device, self.bf16):
            parts = [
                reference_logps(
                    self.reference,
                    drawn.ids_BL[part],
                    drawn.mask_BL[part],
                    drawn.width,
                    temperature=self.recipe.temperature,
                )
                for part in chunks(rows, self.recipe.micro_batch)
            ]
        return old.logp_BT - torch.cat(parts)

    def _lesson(self, drawn: Drawn, old: Seen, target: Targets) -> Lesson:
        spread = Spread.of(_everywhere(target.advantage_BT[target.plays_BT]))
        white_BT = spread.whiten(target.advantage_BT, target.plays_BT)
        device = self.accelerator.device

        def tensor(values: Any, kind: torch.dtype) -> torch.Tensor:
            return torch.as_tensor(values, dtype=kind, device=device)

        return Lesson(
            ids_BL=drawn.ids_BL,
            mask_BL=drawn.mask_BL,
            plays_BT=tensor(target.plays_BT, torch.bool),
            advantage_BT=tensor(white_BT, torch.float32),
            returned_BT=tensor(target.returned_BT, torch.float32),
            old=old,
        )

    def _logs(self, drawn: Drawn, old: Seen, target: Targets, gap_BT: torch.Tensor | None) -> Logs:
        paid_B = _everywhere(drawn.paid_B)
        graded_B = paid_B[~np.isnan(paid_B)]
        mask_BT = drawn.places
        entropy_BT = _array(old.entropy_BT)
        plays_BT = target.plays_BT
        foreseen = explained_variance(
            _everywhere(target.returned_BT[plays_BT]),
            _everywhere(_array(old.value_BU)[:, :-1][plays_BT]),
        )
        found = {
            "reward": _mean_of(graded_B),
            "reward_std": float(graded_B.std()) if graded_B.size else None,
            "ungraded": float(np.isnan(paid_B).mean()),
            "entropy": (entropy := _mean_of(_everywhere(entropy_BT[mask_BT]))),
            "entropy/mean": entropy,
            "entropy/first_token": _mean_of(_everywhere(entropy_BT[:, 0])),
            "completions/mean_length": _mean_of(_everywhere(mask_BT.sum(axis=1))),
            "completions/clipped_ratio": _mean_of(_everywhere(drawn.truncated_B)),
            "explained_variance": foreseen,
            "learning_rate": self.recipe.learning_rate,
        }
        if gap_BT is not None:
            spent_BT = _array(divergence(gap_BT, torch.zeros_like(gap_BT)))
            found["kl"] = _mean_of(_everywhere(spent_BT[mask_BT]))
        return {name: value for name, value in found.items() if value is not None}

    def _mean(self, numbers: Logs) -> Logs:
        """Average what the taps of each process said."""
        said: dict[str, list[float]] = {}
        for told in gather_object([numbers]):
            for name, value in told.items():
                said.setdefault(name, []).append(value)
        return {name: float(np.mean(values)) for name, values in said.items()}

    def _save(self, step: int) -> None:
        if self.accelerator.is_main_process:
            save(
                self.out,
                step,
                model=self.whole,
                tokenizer=self.tokenizer,
                optimizer=self.optimizer,
                history=self.history,
                run=self.run,
            )
        self.accelerator.wait_for_everyone()

    def _share(self, step: int) -> list[Any]:
        places = data_order(step, self.recipe)
        size = len(places) // self.accelerator.num_processes
        first = size * self.accelerator.process_index
        return [self.prompts[place] for place in places[first : first + size]]

    def _drawing(self, task: Task, whole: ActorCritic, taps: Sequence[Tap]) -> Draw:
        ends = end_ids(whole.policy, self.tokenizer)
        by_key = {prompt.key: prompt for prompt in self.prompts}
        reward = VerdictReward(task.verifier, by_key, self.recipe.reward, taps=taps, end_ids=ends)
        return Draw(tokenizer=self.tokenizer, recipe=self.recipe, reward=reward, end_ids=ends)

    def _reference(self, base: str) -> Any:
        model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
        return model.to(self.accelerator.device).eval().requires_grad_(False)

    def _check_processes(self) -> None:
        count = self.accelerator.num_processes
        if self.recipe.prompts_per_step % count:
            raise ConfigError(
                f"prompts_per_step ({self.recipe.prompts_per_step}) must be a multiple of the "
                f"number of processes ({count})."
            )


def _optimizer(whole: ActorCritic, recipe: PPORecipe) -> torch.optim.Optimizer:
    groups: list[dict[str, Any]] = [
        {"params": list(whole.policy.parameters()), "lr": recipe.learning_rate},
        {"params": list(whole.critic.parameters()), "lr": recipe.value_learning_rate},
    ]
    return torch.optim.AdamW(groups, weight_decay=0.0)


@contextmanager
def _seeded(accelerator: Any, seed: int, step: int) -> Generator[None]:
    """Let all draws of a step depend on seed, step and process alone; then as it was before."""
    device = accelerator.device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        words = np.random.SeedSequence([seed, step, accelerator.process_index]).generate_state(2)
        torch.manual_seed(int(words[0]) << 31 ^ int(words[1]))
        yield


def _array(values: torch.Tensor) -> Floats:
    return values.detach().double().cpu().numpy()


def _everywhere(values: Any) -> Floats:
    """Return the values of all processes, one after the other."""
    return np.concatenate(gather_object([np.asarray(values, dtype=np.float64).reshape(-1)]))


def _mean_of(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None
