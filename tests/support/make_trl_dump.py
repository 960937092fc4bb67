"""Write ``tests/golden/dumps/trl_*.parquet`` with TRL itself: the pocket policy, two steps of GRPO.

OMP_NUM_THREADS=1 .venv/bin/python tests/support/make_trl_dump.py
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from rewardable.tasks import load_task
from rewardable.workflows.sources import resolve_source

OUT = Path(__file__).resolve().parents[1] / "golden" / "dumps"
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def right(completions: list[Any], **_: Any) -> list[float | None]:
    """Reward an answer with two commas; say nothing of one that starts with 1."""
    texts = [one if isinstance(one, str) else one[0]["content"] for one in completions]
    return [None if text.startswith("1") else float(text.count(",") == 2) for text in texts]


def short(completions: list[Any], log_extra: Any = None, **_: Any) -> list[float]:
    texts = [one if isinstance(one, str) else one[0]["content"] for one in completions]
    if log_extra is not None:
        log_extra("ending", [text[-3:] for text in texts])
    return [1.0 / (1 + len(text)) for text in texts]


def train(name: str, rewards: list[Any], *, chat: bool) -> None:
    policy = resolve_source("pocket")
    tokenizer = AutoTokenizer.from_pretrained(policy)
    tokenizer.chat_template = TEMPLATE
    texts = [prompt.text for prompt in load_task("countdown-steps").prompts(8, 0)]
    asked = [[{"role": "user", "content": text}] for text in texts] if chat else texts
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=32,
            max_steps=2,
            logging_steps=1,
            log_completions=True,
            report_to=[],
            use_cpu=True,
            seed=0,
            save_strategy="no",
        )
        GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(policy),
            reward_funcs=rewards,
            args=config,
            train_dataset=Dataset.from_dict({"prompt": asked}),
            processing_class=tokenizer,
        ).train()
        for path in sorted((Path(folder) / "completions").glob("*.parquet")):
            target = OUT / name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    train("trl_text", [right], chat=False)
    train("trl_chat", [right, short], chat=True)


if __name__ == "__main__":
    main()
