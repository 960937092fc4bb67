"""Damaged policies, specs and prompts are reported by file."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardable.errors import DataError
from rewardable.records import user_prompt
from rewardable.store import Run


def prompt_part(run: Run, number: int = 0) -> Path:
    return sorted((run.path / "prompts").iterdir())[number]


def reopened(run: Run) -> Run:
    return Run.open(run.path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"a": 1}], "entry 1 is no Policy .*no field 'a'; 'name' missing; 'weights' missing"),
        ([{"name": "b", "weights": 3, "template": "raw"}], "weights is 3, no str.*expected name"),
        ({"a": 1}, "expected a list of objects"),
        (["base"], 'entry 1 is "base", expected an object with name, weights, template'),
    ],
)
def test_damaged_policies_are_named(world: Any, content: Any, message: str) -> None:
    (world.run.path / "policies.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=rf"policies\.json.*{message}"):
        world.run.policies()
    with pytest.raises(DataError, match=r"policies\.json"):
        world.run.add_policies([world.policy])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": 1}, "no field 'a'"),
        ({"stop": "end"}, r'stop is "end", no tuple\[str'),
        ({"top_k": 0.5}, r"top_k is 0\.5, no int"),
        ({"top_p": 7}, r"top_p must be in \(0, 1\], got 7"),
    ],
)
def test_damaged_specs_are_named(world: Any, change: dict[str, Any], message: str) -> None:
    path = world.run.path / "specs.json"
    (row,) = json.loads(path.read_text())
    path.write_text(json.dumps([row, {**row, **change}]))
    with pytest.raises(DataError, match=rf"specs\.json entry 2 is no SamplingSpec.*{message}"):
        world.run.specs()


@pytest.mark.parametrize("name", ["policies", "specs"])
def test_a_cut_list_is_named(world: Any, name: str) -> None:
    path = world.run.path / f"{name}.json"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError, match=rf"{name}\.json is not the JSON"):
        getattr(world.run, name)()


def test_a_torn_prompts_part_is_reported_until_its_prompts_are_added_again(world: Any) -> None:
    world.run.add_rollouts([world.rollout(prompt, 0) for prompt in range(3)])
    part = prompt_part(world.run)
    part.write_bytes(part.read_bytes()[:-20])
    run = reopened(world.run)
    said = rf"prompts lacks 3 prompts of stored rollouts.*damaged parts: {part.name}"
    for ask in (run.prompts, run.groups, lambda: run.samples(**world.place)):
        with pytest.raises(DataError, match=said):
            ask()
    assert run.torn_parts() == (part.name,)
    run.add_prompts(world.prompts)
    assert reopened(run).prompts() == world.prompts
    assert [group.n_rollouts for group in reopened(run).groups()] == [3]


def test_a_missing_prompts_part_is_reported(world: Any) -> None:
    world.run.add_prompts([user_prompt("t", "1", "one more")])
    world.run.add_counts([world.policy.key], world.keys[:1], [10], [0])
    prompt_part(world.run, 0).unlink()
    with pytest.raises(DataError, match=r"lacks 1 prompts of stored .*a part is missing"):
        reopened(world.run).groups()
    prompt_part(world.run, 0).unlink()
    with pytest.raises(DataError, match="a part is missing"):
        reopened(world.run).prompts()


def test_a_torn_part_whose_prompts_nobody_needs_is_no_error(world: Any) -> None:
    (world.run.path / "prompts" / "part-00000099-dead.parquet").write_bytes(b"PAR1")
    world.run.add_rollouts([world.rollout(0, 0)])
    assert reopened(world.run).prompts() == world.prompts


def test_damage_inside_a_prompts_part_is_named(world: Any) -> None:
    world.run.add_prompts(user_prompt("t", "1", f"{i} {'x' * 50}") for i in range(300))
    part = prompt_part(world.run, 1)
    content = bytearray(part.read_bytes())
    half = len(content) // 2
    content[100:half] = random.Random(0).randbytes(half - 100)
    part.write_bytes(content)
    for ask in (reopened(world.run).prompts, reopened(world.run).groups):
        with pytest.raises(DataError, match=rf"prompts part .*{part.name} is damaged"):
            ask()


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"messages": [], "a": 1}'])
def test_prompts_of_another_content_are_named(world: Any, content: str) -> None:
    part = prompt_part(world.run)
    table = pq.read_table(part)
    values = [content, *table["content"].to_pylist()[1:]]
    column = pa.array(values, table.schema.field("content").type)
    pq.write_table(table.set_column(2, table.schema.field("content"), column), part)
    with pytest.raises(DataError, match=r"prompt \w+ in .*prompts is not what was written there"):
        reopened(world.run).prompts()
    with pytest.raises(DataError, match="is not what was written there"):
        reopened(world.run).add_prompts(world.prompts)
