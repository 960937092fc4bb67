r"""Teach the pocket base the two-route world beside Countdown.

    python recipes/pocket/add_routes.py --start runs/pocket-2 --out runs/pocket-3

New characters (``? < ^ ! # $``) are appended to the vocabulary, so that old ids keep their meaning.
Half of every batch is Countdown as in train_base.py; the other half are expressions of the train
split: half untagged, answered in steps or directly with equal chance, half tagged, where the
instruction is followed as often as FOLLOWED says. All results shown are right: whether a direct
answer comes out right is for the model to learn.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer
from train_base import build_pool, collate, draw
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedTokenizerFast,
    get_cosine_schedule_with_warmup,
)

from rewardable.tasks.routes import KINDS, direct_text, instance_of, steps_text
from rewardable.tasks.routes.constraints import Constraint, draw_constraint
from rewardable.tasks.routes.expression import Expression, draw_expression

NEW = "?<^!#$"
FOLLOWED = {"short": 0.55, "first": 0.5, "without": 0.4, "last": 0.5}
"""How often the data answer directly under each constraint (under ``last`` both routes comply)."""
FOLLOWED_COUNT = {1: 0.65, 2: 0.35, 3: 0.15}


def extend(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """Append the new characters to the vocabulary."""
    core = json.loads(tokenizer.backend_tokenizer.to_str())
    vocab = core["model"]["vocab"]
    for char in NEW:
        vocab.setdefault(char, len(vocab))
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(core)),
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="left",
    )


def draw_route(rng: random.Random) -> tuple[str, str]:
    """Draw (prompt, answer) of the two-route world."""
    while True:
        expression = draw_expression(rng, 2, products=True)
        if expression.is_test:
            continue
        if rng.random() < 0.5:
            answer = direct_text(expression) if rng.random() < 0.5 else steps_text(expression)
            return instance_of("", expression, None).text, answer
        constraint = draw_constraint(rng, rng.choice(list(KINDS)), expression)
        if constraint is not None:
            text = instance_of("", expression, constraint).text
            return text, draw_tagged(rng, expression, constraint)


def draw_tagged(rng: random.Random, expression: Expression, constraint: Constraint) -> str:
    """Follow the instruction or not; mostly steps where it is not followed."""
    is_count = constraint.kind == "count"
    share = FOLLOWED_COUNT[constraint.value] if is_count else FOLLOWED[constraint.kind]
    if rng.random() < share:
        return direct_text(expression, constraint.value if is_count else 1)
    return direct_text(expression) if rng.random() < 0.1 else steps_text(expression)


def batch(
    rng: random.Random, tokenizer: PreTrainedTokenizerFast, pool: list, size: int, share: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (ids_BT, labels_BT); only completions are learned."""
    old = round(size * share)
    drawn = [draw(rng, pool) for _ in range(old)] + [draw_route(rng) for _ in range(size - old)]
    return collate(tokenizer, drawn)


def train(args: argparse.Namespace) -> None:
    """Train and save."""
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    tokenizer = extend(AutoTokenizer.from_pretrained(args.start))
    model = AutoModelForCausalLM.from_pretrained(args.start, dtype=torch.float32)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    schedule = get_cosine_schedule_with_warmup(optimizer, 100, args.steps)
    pool = build_pool(rng, args.pool)
    start, running = time.perf_counter(), 0.0
    for step in range(1, args.steps + 1):
        ids_BT, labels_BT = batch(rng, tokenizer, pool, args.batch, args.countdown_share)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--countdown-share", type=float, default=0.5)
    parser.add_argument("--pool", type=int, default=14000, help="Countdown training instances")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--save-every", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()
    train(args)


if __name__ == "__main__":
    main()
