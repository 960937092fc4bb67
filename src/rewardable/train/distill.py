"""On-policy distillation through TRL's ``DistillationTrainer``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl.trainer.distillation_config import DistillationConfig
from trl.trainer.distillation_trainer import DistillationTrainer

from rewardable.errors import ConfigError
from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.train.models import adapter, open_model, open_tokenizer
from rewardable.train.reporter import OnStep, Reporter
from rewardable.train.series import checkpoints, is_done
from rewardable.train.stage import arguments, assembled, still, train
from rewardable.train.stages import DistillRecipe

__all__ = ["DistillRecipe", "check_same_tokens", "run_distill"]


def run_distill(
    base: str,
    teacher: str,
    data: Task | Sequence[Prompt],
    recipe: DistillRecipe,
    out: Path,
    on_step: OnStep | None = None,
    callbacks: Sequence[Any] = (),
) -> list[Path]:
    """Train ``base`` towards ``teacher`` on its own answers to prompts; return the checkpoints.

    data: prompts, or a task that draws them; no verdict is needed. Run again it continues from the
    last checkpoint in ``out``.

    Raises
    ------
    ConfigError: the two do not speak the same tokens.
    """
    if is_done(recipe.steps, out):
        return checkpoints(out)
    tokenizer, taught = open_tokenizer(base), open_tokenizer(teacher)
    check_same_tokens(tokenizer, taught, base, teacher)
    prompts = (
        data if isinstance(data, Sequence) else data.prompts(recipe.train_prompts, recipe.seed)
    )
    own = {
        "max_completion_length": recipe.max_new_tokens,
        "temperature": recipe.temperature,
        "beta": recipe.divergence,
    }
    with still():
        student, aim = open_model(base), open_model(teacher)
        check_same_width(student, aim, base, teacher)
        trainer = assembled(
            DistillationTrainer,
            DistillationConfig,
            arguments(recipe, out, DistillationConfig, own),
            model=student,
            teacher_model=aim,
            train_dataset=_dataset(prompts, chat=tokenizer.chat_template is not None),
            processing_class=tokenizer,
            callbacks=[*callbacks, *([Reporter(on_step)] if on_step else [])],
            peft_config=adapter(recipe.lora),
        )
        return train(trainer, out)


def _dataset(prompts: Sequence[Prompt], *, chat: bool) -> Dataset:
    def shown(prompt: Prompt) -> Any:
        if not chat:
            return prompt.text
        return [{"role": turn.role, "content": turn.content} for turn in prompt.messages]

    return Dataset.from_list([{"prompt": shown(prompt)} for prompt in prompts])


def check_same_tokens(student: Any, teacher: Any, base: str, other: str) -> None:
    """Raise ConfigError unless every token has the same id in both tokenizers, end token too."""
    ours, theirs = student.get_vocab(), teacher.get_vocab()
    unlike = sorted(token for token in {*ours, *theirs} if ours.get(token) != theirs.get(token))
    if unlike:
        shown = ", ".join(
            f"{token!r} ({ours.get(token, 'none')} and {theirs.get(token, 'none')})"
            for token in unlike[:3]
        )
        raise ConfigError(
            f"{base} and {other} do not speak the same tokens: {len(unlike)} of "
            f"{len({*ours, *theirs})} have other ids, such as {shown}. Distillation compares "
            "next-token distributions; take a teacher with the student's tokenizer."
        )
    if student.eos_token_id != teacher.eos_token_id:
        raise ConfigError(
            f"{base} ends at token {student.eos_token_id}, {other} at {teacher.eos_token_id}; the "
            "student would be taught never to stop. Take a teacher with the same end token."
        )


def check_same_width(student: Any, teacher: Any, base: str, other: str) -> None:
    """Raise ConfigError unless both give one logit to each of equally many tokens."""
    ours = student.config.get_text_config().vocab_size
    theirs = teacher.config.get_text_config().vocab_size
    if ours != theirs:
        raise ConfigError(
            f"{base} has {ours} logits and {other} has {theirs}, though their tokenizers agree "
            "(padded embeddings?). Resize one with resize_token_embeddings."
        )
