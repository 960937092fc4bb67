r"""Train the pocket base: a character model that writes Countdown step texts.

    python recipes/pocket/train_base.py --out runs/pocket-1
    python recipes/pocket/train_base.py --start runs/pocket-1 --out runs/pocket-2 \
        --steps 800 --lr 2e-3 --seed 1

Data: correct step texts of solvable instances. An instance is drawn, then one of its solutions,
then one of the solution's step texts, each uniformly, so that solutions with few orderings are as
frequent as those with many. Instances of the test split are left out by key. docs/adr/0004 says
why; the figures obtained are in README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    PreTrainedTokenizerFast,
    get_cosine_schedule_with_warmup,
)

from rewardable.tasks.countdown import is_test_key, split_key, step_texts

ALPHABET = "0123456789+-*/=,:"
SPECIAL = ("<pad>", "<eos>")
PAD, EOS = 0, 1
HIGH = 10
TARGETS = range(10, 51)
SHARE_OF_THREE = 0.1

Instance = tuple[list[int], int, list[list[str]]]
"""Numbers, target, and the step texts of each solution."""


def build_tokenizer() -> PreTrainedTokenizerFast:
    """One id a character; no begin token; decoding joins without spaces."""
    vocab = {token: i for i, token in enumerate((*SPECIAL, *ALPHABET))}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )


def build_model(tokenizer: PreTrainedTokenizerFast, family: str) -> torch.nn.Module:
    """Build a Llama-architecture model of 0.86 M parameters, or its GPT-2 twin."""
    ids = {"pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": None}
    if family == "gpt2":
        config = GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=128,
            n_layer=4,
            n_head=4,
            n_positions=128,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            **ids,
        )
    else:
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=352,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=128,
            tie_word_embeddings=True,
            **ids,
        )
    return AutoModelForCausalLM.from_config(config)


def load_or_build(tokenizer: PreTrainedTokenizerFast, args: argparse.Namespace) -> torch.nn.Module:
    """Take the weights of ``--start``, or new ones."""
    if args.start is not None:
        return AutoModelForCausalLM.from_pretrained(args.start)
    return build_model(tokenizer, args.family)


def build_pool(rng: random.Random, size: int) -> list[Instance]:
    """Draw solvable instances of the train split with their step texts, grouped by solution."""
    pool: dict[str, Instance] = {}
    while len(pool) < size:
        numbers = [rng.randint(1, HIGH) for _ in range(3 if rng.random() < SHARE_OF_THREE else 4)]
        target = rng.choice(TARGETS)
        key = split_key(numbers, target)
        if key in pool or is_test_key(key):
            continue
        by_solution: dict[str, list[str]] = defaultdict(list)
        for step in step_texts(numbers, target):
            by_solution[step.solution].append(step.text)
        if by_solution:
            pool[key] = (numbers, target, list(by_solution.values()))
    return list(pool.values())


def draw(rng: random.Random, pool: list[Instance]) -> tuple[str, str]:
    """Draw (prompt, step text): instance, then solution, then text, each uniformly."""
    numbers, target, solutions = rng.choice(pool)
    shown = rng.sample(numbers, len(numbers))
    return f"{','.join(map(str, shown))}={target}:", rng.choice(rng.choice(solutions))


def batch(
    rng: random.Random, tokenizer: PreTrainedTokenizerFast, pool: list[Instance], size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (ids_BT, labels_BT) of drawn prompts and step texts."""
    return collate(tokenizer, [draw(rng, pool) for _ in range(size)])


def collate(
    tokenizer: PreTrainedTokenizerFast, drawn: list[tuple[str, str]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (ids_BT, labels_BT), right-padded; only completions are learned."""
    size = len(drawn)
    rows = [(encode(tokenizer, p), [*encode(tokenizer, c), EOS]) for p, c in drawn]
    width = max(len(p) + len(c) for p, c in rows)
    ids_BT = torch.full((size, width), PAD)
    labels_BT = torch.full((size, width), -100)
    for i, (prompt, completion) in enumerate(rows):
        n, m = len(prompt), len(completion)
        ids_BT[i, : n + m] = torch.tensor(prompt + completion)
        labels_BT[i, n : n + m] = torch.tensor(completion)
    return ids_BT, labels_BT


def encode(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    """Ids of a text without special tokens."""
    vocab = tokenizer.get_vocab()
    return [vocab[char] for char in text]


def train(args: argparse.Namespace) -> dict[str, float]:
    """Train and save; return the figures."""
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    tokenizer = build_tokenizer()
    model = load_or_build(tokenizer, args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    schedule = get_cosine_schedule_with_warmup(optimizer, 100, args.steps)
    pool = build_pool(rng, args.pool)
    print(f"{len(pool)} instances", flush=True)
    start, running = time.perf_counter(), 0.0
    for step in range(1, args.steps + 1):
        ids_BT, labels_BT = batch(rng, tokenizer, pool, args.batch)
        loss = model(input_ids=ids_BT, labels=labels_BT).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        running = 0.98 * running + 0.02 * loss.item() if step > 1 else loss.item()
        if step % 100 == 0:
            seconds = time.perf_counter() - start
            print(f"step {step}/{args.steps} loss {running:.4f} {seconds:.0f} s", flush=True)
        if step % args.save_every == 0 or step == args.steps:
            model.save_pretrained(args.out)
            tokenizer.save_pretrained(args.out)
    parameters = sum(p.numel() for p in model.parameters())
    return {"loss": running, "seconds": time.perf_counter() - start, "parameters": parameters}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="go on from this checkpoint")
    parser.add_argument("--family", choices=("llama", "gpt2"), default="llama")
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--pool", type=int, default=14000, help="training instances")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--save-every", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    figures = train(args)
    (args.out / "training.json").write_text(json.dumps({**vars(args), **figures}, default=str))


if __name__ == "__main__":
    main()
