"""Mixes by name: what they say, and what becomes of mistakes."""

from __future__ import annotations

import pytest

from rewardable.engines.mixing.source import parse_mix
from rewardable.errors import ConfigError
from rewardable.workflows.sources import resolve_source


def test_a_logit_mix_says_share_tokens_and_parts() -> None:
    mix = parse_mix("mix:logits,alpha=0.3,first=4,runs/a,org/b")
    assert (mix.kind, mix.alpha, mix.first) == ("logits", 0.3, 4)
    assert mix.sources == ("runs/a", "org/b")
    assert parse_mix("mix:probabilities,alpha=1,a,b").first == 0
    opening = parse_mix("mix:opening,tokens=6,a,b")
    assert (opening.alpha, opening.first) == (1.0, 6)


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("mix:checkpoints,a,b,c", (1, 1, 1)),
        ("mix:checkpoints,weights=0.7/0.3,a,b", (7, 3)),
        ("mix:checkpoints,weights=4/2/2,a,b,http://host:1/v1#m@r=1", (2, 1, 1)),
    ],
)
def test_weights_are_whole_shares(text: str, weights: tuple[int, ...]) -> None:
    assert parse_mix(text).weights == weights


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mix:logit,alpha=0.3,a,b", "Did you mean 'logits'"),
        ("mix:logits,alpa=0.3,a,b", "Did you mean 'alpha'"),
        ("mix:logits,a,b", "alpha, the earlier policy's share"),
        ("mix:logits,alpha=1.2,a,b", "must lie in [0, 1], got '1.2'"),
        ("mix:logits,alpha=nan,a,b", "must lie in [0, 1]"),
        ("mix:logits,alpha=0.3,first=0,a,b", "first must be a whole number >= 1"),
        ("mix:logits,alpha=0.3,alpha=0.4,a,b", "given twice"),
        ("mix:logits,alpha=0.3,a,b,c", "has two policies, got 3"),
        ("mix:logits,alpha=0.3", "has two policies, got 0"),
        ("mix:logits,a,alpha=0.3", "stands behind a policy"),
        ("mix:opening,a,b", "tokens must be a whole number >= 1"),
        ("mix:checkpoints,weights=1/0,a,b", "2 numbers > 0"),
        ("mix:checkpoints,weights=1/2/3,a,b", "2 numbers > 0"),
        ("mix:checkpoints,weights=0.12345/0.87655,a,b", "write fewer digits"),
        ("mix:checkpoints,a", "two or more policies, got 1"),
        ("mix:checkpoints,a,,b", "two or more policies"),
        ("mix:checkpoints,a,mix:checkpoints", "cannot be part of a mix"),
    ],
)
def test_a_mistake_is_named(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_mix(text)
    assert told in str(caught.value)


def test_parts_are_resolved_one_by_one(tmp_path) -> None:
    found = resolve_source(f"mix:logits,alpha=0.5,pocket,{tmp_path}")
    *head, first, second = found.split(",")
    assert head == ["mix:logits", "alpha=0.5"]
    assert first.endswith("assets/pocket")
    assert second == str(tmp_path)
    with pytest.raises(ConfigError, match="no file or folder"):
        resolve_source("mix:opening,tokens=2,pocket,./nowhere")
