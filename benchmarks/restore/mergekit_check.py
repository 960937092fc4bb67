"""The same merges by ``rewardable.restore`` and by mergekit, tensor by tensor.

    python benchmarks/restore/mergekit_check.py --venv /tmp/mergekit-venv --trained FOLDER

mergekit lives in an environment of its own (``--venv``; made if it is not there: torch first, then
mergekit). Checkpoints: tiny random Llama, Qwen2, GPT-2 and NeoX models, tied and untied, float32
and bfloat16, and the pocket policy with ``--trained`` (a checkpoint trained from it). For each
recipe the ``mergekit.yaml`` of the merged folder is given to ``mergekit-yaml``; the two results
are compared by names and values, differences in units of (machine epsilon of the stored type) x
(largest absolute value of the tensor).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    Qwen2Config,
)

from rewardable.restore import MergeRecipe, merge

POCKET = Path(__file__).resolve().parents[2] / "src" / "rewardable" / "assets" / "pocket"
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}


def tiny(family: str, tied: bool):
    ids = {"vocab_size": 19, "tie_word_embeddings": tied, "eos_token_id": 1, "bos_token_id": None}
    if family == "gpt2":
        return GPT2Config(n_embd=32, n_layer=4, n_head=4, n_positions=64, **ids)
    kinds = {"llama": LlamaConfig, "qwen2": Qwen2Config, "neox": GPTNeoXConfig}
    heads = {"num_key_value_heads": 2} if family == "qwen2" else {}
    return kinds[family](**SIZES, **heads, **ids)


def write_tiny(folder: Path, family: str, tied: bool, dtype: torch.dtype, seed: int) -> Path:
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(tiny(family, tied))
    if seed:  # a trained checkpoint is near its base: the same start, moved a little
        torch.manual_seed(0)
        base = AutoModelForCausalLM.from_config(tiny(family, tied))
        with torch.no_grad():
            for mine, other in zip(model.parameters(), base.parameters(), strict=True):
                mine.mul_(0.5).add_(other)
    model.to(dtype).save_pretrained(folder)
    AutoTokenizer.from_pretrained(POCKET).save_pretrained(folder)
    return folder


def pairs(work: Path, trained: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (name, trained, earlier, a second earlier)."""
    for family, tied, dtype in (
        ("llama", True, torch.float32),
        ("llama", False, torch.bfloat16),
        ("qwen2", True, torch.bfloat16),
        ("gpt2", True, torch.float32),
        ("neox", False, torch.float16),
    ):
        name = f"{family}-{'tied' if tied else 'untied'}-{str(dtype).removeprefix('torch.')}"
        made = [
            str(write_tiny(work / f"{name}-{seed}", family, tied, dtype, seed)) for seed in range(3)
        ]
        yield name, made[1], made[0], made[2]
    if trained:
        middle = str(Path(trained).parent / "checkpoint-50")
        yield "pocket", trained, str(POCKET), middle if Path(middle).is_dir() else trained


def recipes(trained: str, earlier: str, second: str) -> dict[str, MergeRecipe]:
    one = {"trained": trained, "earlier": (earlier,)}
    two = {"trained": trained, "earlier": (earlier, second)}
    return {
        "linear 0.6": MergeRecipe(**one, alpha=0.6),
        "linear 0": MergeRecipe(**one, alpha=0.0),
        "linear 1": MergeRecipe(**one, alpha=1.0),
        "linear window": MergeRecipe(**one, alpha=0.6, window=(2, 4)),
        "linear schedule": MergeRecipe(**one, schedule=(0.0, 0.25, 0.5, 1.0)),
        "linear attention": MergeRecipe(**one, alpha=0.3, parts=("attention", "norm")),
        "linear two earlier": MergeRecipe(**two, alpha=0.5, weights=(0.75, 0.25)),
        "slerp 0.4": MergeRecipe(**one, method="slerp", alpha=0.4),
        "slerp window mlp": MergeRecipe(
            **one, method="slerp", alpha=0.4, window=(0, 2), parts=("mlp", "embedding")
        ),
        "task": MergeRecipe(
            trained=trained,
            earlier=(second,),
            weights=(0.3,),
            base=earlier,
            method="task",
            alpha=0.4,
        ),
    }


def by_mergekit(program: Path, config: Path, out: Path) -> str:
    """Run mergekit; return its last line of complaint, or ``""``."""
    done = subprocess.run(
        [str(program), str(config), str(out), "--copy-tokenizer", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return "" if done.returncode == 0 else (done.stderr.strip().split("\n") or ["?"])[-1]


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        found |= load_file(file)
    return found


def compare(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> str:
    extra, lacking = sorted(set(theirs) - set(ours)), sorted(set(ours) - set(theirs))
    equal, largest = 0, 0.0
    for name in set(ours) & set(theirs):
        a, b = ours[name], theirs[name]
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{name}: {a.dtype} {tuple(a.shape)} and {b.dtype} {tuple(b.shape)}"
        equal += torch.equal(a, b)
        scale = float(a.double().abs().max()) or 1.0
        unit = torch.finfo(a.dtype).eps * scale
        largest = max(largest, float((a.double() - b.double()).abs().max()) / unit)
    names = f"; only theirs {extra}, only ours {lacking}" if extra or lacking else ""
    return f"{equal} of {len(ours)} tensors equal, largest difference {largest:.2f} eps{names}"


def prepare(venv: Path) -> Path:
    program = venv / "bin" / "mergekit-yaml"
    if not program.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        pip = [str(venv / "bin" / "pip"), "install", "-q"]
        subprocess.run([*pip, f"torch=={torch.__version__.split('+')[0]}"], check=True)
        subprocess.run([*pip, "mergekit"], check=True)
    return program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--trained", default="", help="checkpoint trained from the pocket policy")
    parser.add_argument("--only", default="", help="checkpoints and recipes with this in the name")
    options = parser.parse_args()
    torch.set_num_threads(1)
    program = prepare(options.venv)
    shown = subprocess.run(
        [str(options.venv / "bin" / "pip"), "list"], capture_output=True, text=True, check=True
    ).stdout
    print(next(line for line in shown.split("\n") if line.startswith("mergekit ")))
    print("torch", importlib.metadata.version("torch"))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, *sources in pairs(work, options.trained):
            for title, recipe in recipes(*sources).items():
                if options.only not in f"{name} {title}":
                    continue
                ours, theirs = work / "ours", work / "theirs"
                report = merge(recipe, ours)
                config = ours / "mergekit.yaml"
                told = report.mergekit or by_mergekit(program, config, theirs)
                text = told or compare(tensors(ours), tensors(theirs))
                print(f"{name:22} {title:20} {text}", flush=True)
                for made in (ours, theirs):
                    shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    main()
