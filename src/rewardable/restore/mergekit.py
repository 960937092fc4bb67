"""The same merge as a mergekit configuration, where mergekit has words for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rewardable.errors import ConfigError
from rewardable.restore.agree import check_agreement
from rewardable.restore.parents import Parent, open_parents
from rewardable.restore.places import place
from rewardable.restore.plan import Plan, plan_merge
from rewardable.restore.recipe import MergeRecipe
from rewardable.restore.rounding import NAMES
from rewardable.restore.tensors import DTYPES, FLOATS
from rewardable.restore.vocabulary import Vocabulary, match_vocabularies

YAML = "mergekit.yaml"


def recipe_yaml(recipe: MergeRecipe) -> str:
    """Open the parents and return the configuration; ConfigError with the reason if none."""
    parents = tuple(open_parents(recipe))
    check_agreement(parents)
    vocabulary = match_vocabularies(parents, recipe.vocabulary)
    return opened_yaml(recipe, parents, vocabulary, plan_merge(recipe, parents[0].entries))


def opened_yaml(
    recipe: MergeRecipe, parents: Sequence[Parent], vocabulary: Vocabulary, plan: Plan
) -> str:
    """Return the configuration for parents that are open."""
    if not vocabulary.plain:
        raise ConfigError("mergekit matches tokens by rules of its own; the vocabularies differ.")
    if any(parent.adapter is not None for parent in parents):
        raise ConfigError("a parent is an adapter; write it as a merged folder first.")
    paths = [str(Path(parent.source).expanduser().resolve()) for parent in parents]
    dtype = _stored(recipe, parents[0])
    alphas = {
        parents[0].own[key].name: 0.0 if alpha is None else alpha
        for key, alpha in plan.alphas.items()
    }
    scaled = {name: [alpha] for name, alpha in alphas.items()}
    touched = {parents[0].own[k].name: a is not None for k, a in plan.alphas.items()}
    if recipe.method == "slerp":
        head = ["merge_method: slerp", f"base_model: {_text(paths[0])}", "parameters:"]
        lines = [*head, *_setting("t", _only(scaled), 2), "models:"]
        lines += [f"  - model: {_text(path)}" for path in paths]
    elif recipe.method == "linear":
        lines = ["merge_method: linear", "parameters:", "  normalize: true", "models:"]
        lines += _weighted(paths[0], {name: 1 - alpha for name, alpha in alphas.items()})
        for path, share in zip(paths[1:], recipe.shares, strict=True):
            lines += _weighted(path, {name: alpha * share for name, alpha in alphas.items()})
    else:
        lines = ["merge_method: task_arithmetic", f"base_model: {_text(paths[-1])}"]
        lines += ["parameters:", "  normalize: false", "models:"]
        lines += _weighted(paths[0], {name: 1 - alpha for name, alpha in alphas.items()})
        for path, weight in zip(paths[1:-1], recipe.weights, strict=True):
            lines += _weighted(path, {n: weight if hit else 0.0 for n, hit in touched.items()})
    return "\n".join([*lines, "dtype: float32", f"out_dtype: {dtype}", ""])


def _only(scaled: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: values[0] for name, values in scaled.items()}


def _stored(recipe: MergeRecipe, trained: Parent) -> str:
    if recipe.dtype != "source":
        return recipe.dtype
    types = {entry.dtype for entry in trained.own.values() if entry.dtype in FLOATS}
    if len(types) != 1:
        raise ConfigError(
            f"mergekit stores one type, the trained checkpoint has {', '.join(sorted(types))}; "
            "set dtype."
        )
    return NAMES[DTYPES[types.pop()]]


def _weighted(path: str, values: Mapping[str, float]) -> list[str]:
    return [
        f"  - model: {_text(path)}",
        "    parameters:",
        *_setting("weight", values, 6),
    ]


def _setting(name: str, values: Mapping[str, float], indent: int) -> list[str]:
    """Return a parameter: one value, or one for each filter, the first match counting.

    A filter is a part of a tensor's name; a list holds a value for each layer, of which mergekit
    takes the layer's own where there are as many as layers.
    """
    pad = " " * indent
    if len(set(values.values())) == 1:
        return [f"{pad}{name}: {_number(next(iter(values.values())))}"]
    rules = _rules(values)
    return [
        f"{pad}{name}:",
        *(
            line
            for part, value in rules
            for line in (f"{pad}  - filter: {_text(part)}", f"{pad}    value: {value}")
        ),
    ]


def _rules(values: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return (filter, value): names outside of the layers in full, then ends of names in them."""
    ends: dict[str, dict[int, float]] = {}
    rules: list[tuple[str, str]] = []
    meant: dict[str, str] = {}
    for name, value in sorted(values.items()):
        where = place(name)
        if where.layer is None:
            rules.append((name, _number(value)))
            meant[name] = name
        else:
            prefix = f"{where.stack}.{where.layer}." if where.stack else f"{where.layer}."
            end = name.removeprefix(prefix)
            ends.setdefault(end, {})[where.layer] = value
            meant[name] = f".{end}"
    for end, by_layer in ends.items():
        listed = [_number(by_layer[layer]) for layer in sorted(by_layer)]
        if sorted(by_layer) != list(range(len(listed))):
            raise ConfigError(f"{end} is not in every layer, so that mergekit's lists do not fit.")
        value = listed[0] if len(set(listed)) == 1 else f"[{', '.join(listed)}]"
        rules.append((f".{end}", value))
    rules.sort(key=lambda rule: -len(rule[0]))
    _check_filters(meant, rules)
    return rules


def _check_filters(meant: Mapping[str, str], rules: Sequence[tuple[str, str]]) -> None:
    """Refuse where a filter would catch a tensor that is another's."""
    for name, own in meant.items():
        hit = next(part for part, _ in rules if part in name)
        if hit != own:
            raise ConfigError(f"mergekit's filter {hit!r} would also catch {name}.")


def _number(value: float) -> str:
    return repr(float(value))


def _text(text: str) -> str:
    return json.dumps(text)
