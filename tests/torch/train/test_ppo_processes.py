"""Two processes learn what one would of their batches together."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import torch
from accelerate import Accelerator
from rewardable.train.ppo.learn import Learner, Lesson
from rewardable.train.ppo.loop import _optimizer
from rewardable.train.ppo.recipe import PPORecipe
from rewardable.train.ppo.value import build

base, out = sys.argv[1:]
recipe = PPORecipe(
    prompts_per_step=4, group_size=2, minibatches=1, epochs=2, micro_batch=3, learning_rate=1e-3,
    entropy_coefficient=0.1, max_grad_norm=1e9,
)
accelerator = Accelerator(cpu=True)
whole = build(base, base, recipe, bf16=False)
model, optimizer = accelerator.prepare(whole, _optimizer(whole, recipe))
torch.manual_seed(5)
ids = torch.randint(7, (8, 6))
plays = torch.arange(4)[None, :] < torch.tensor([4, 1, 2, 3, 4, 4, 0, 1])[:, None]
advantage, returned = torch.randn(2, 8, 4)
mine = slice(accelerator.process_index, None, accelerator.num_processes)
with torch.no_grad():
    old = model(ids[mine], torch.ones_like(ids[mine]), 4)
lesson = Lesson(
    ids_BL=ids[mine], mask_BL=torch.ones_like(ids[mine]), plays_BT=plays[mine],
    advantage_BT=advantage[mine], returned_BT=returned[mine], old=old,
)
learner = Learner(accelerator=accelerator, model=model, optimizer=optimizer, recipe=recipe)
told = learner(lesson, np.random.default_rng(0))
name = f"{accelerator.num_processes}-{accelerator.process_index}.pt"
torch.save({"weights": accelerator.unwrap_model(model).state_dict(), "told": told},
           Path(out) / name)
"""


def start(base: Path, out: Path, *, rank: int, size: int, port: int) -> subprocess.Popen[str]:
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
    env = os.environ | {name: str(value) for name, value in ranks.items()}
    env |= {"MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(base), str(out)],
        env=env, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(base: Path, out: Path, size: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [start(base, out, rank=rank, size=size, port=port) for rank in range(size)]
    for process in started:
        _, error = process.communicate(timeout=240)
        assert process.returncode == 0, error[-3000:]


def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    torch.manual_seed(2)
    base = tmp_path / "base"
    AutoModelForCausalLM.from_config(
        LlamaConfig(vocab_size=7, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                    num_attention_heads=2, num_key_value_heads=2, pad_token_id=0, eos_token_id=1,
                    bos_token_id=None, max_position_embeddings=32)
    ).save_pretrained(base)  # fmt: skip
    run(base, tmp_path, 1)
    run(base, tmp_path, 2)
    alone, first, second = (
        torch.load(tmp_path / name, weights_only=True) for name in ("1-0.pt", "2-0.pt", "2-1.pt")
    )
    begun = AutoModelForCausalLM.from_pretrained(base).state_dict()
    for name, weight in alone["weights"].items():
        assert torch.equal(first["weights"][name], second["weights"][name])
        assert torch.allclose(first["weights"][name], weight, atol=1e-5)
    moved = [(alone["weights"][f"policy.{name}"] - w).abs().max() for name, w in begun.items()]
    assert max(moved) > 1e-3
    assert json.dumps(first["told"]) == json.dumps(second["told"])
    for name in ("policy_loss", "value_loss", "policy_kl", "clip_ratio/region_mean"):
        assert abs(first["told"][name] - alone["told"][name]) < 1e-5
