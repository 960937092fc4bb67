"""Which tensor gets which coefficients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rewardable.errors import ConfigError
from rewardable.restore.places import IN_LAYERS, OUTSIDE, layer_count, place
from rewardable.restore.recipe import MergeRecipe


@dataclass(frozen=True, kw_only=True, slots=True)
class Blend:
    """anchor + sum of coefficient * (parent - anchor); parents by their index."""

    anchor: int = 0
    terms: tuple[tuple[int, float], ...] = ()
    arc: bool = False

    @property
    def only(self) -> int | None:
        """The one parent that this is, or None where several take part."""
        if not self.terms:
            return self.anchor
        if len(self.terms) == 1 and self.terms[0][1] == 1.0:
            return self.terms[0][0]
        return None

    @property
    def involved(self) -> tuple[int, ...]:
        """Parents that take part."""
        if self.only is not None:
            return (self.only,)
        return (self.anchor, *(parent for parent, _ in self.terms))


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Alpha of each tensor, None where it stays the trained one's. ``layers`` 0: not counted."""

    alphas: dict[str, float | None]
    layers: int

    def blend(self, recipe: MergeRecipe, key: str) -> Blend:
        """Return the coefficients of a tensor."""
        alpha = self.alphas[key]
        return Blend() if alpha is None else blend(recipe, alpha)


def blend(recipe: MergeRecipe, alpha: float) -> Blend:
    """Return the coefficients at one alpha: parents are trained, earlier..., base."""
    if recipe.method == "task":
        base = 1 + len(recipe.earlier)
        terms = [(0, 1 - alpha), *((i + 1, w) for i, w in enumerate(recipe.weights))]
        return Blend(anchor=base, terms=tuple((i, w) for i, w in terms if w != 0))
    terms = [(i + 1, alpha * share) for i, share in enumerate(recipe.shares)]
    return Blend(terms=tuple((i, w) for i, w in terms if w != 0), arc=recipe.method == "slerp")


def plan_merge(recipe: MergeRecipe, keys: Iterable[str]) -> Plan:
    """Give each tensor its alpha; ConfigError when the window does not fit the layers."""
    listed = list(keys)
    needed = recipe.bounded
    try:
        layers = layer_count(listed)
    except ConfigError:
        if needed:
            raise
        layers = 0
    first, stop = recipe.window or (0, layers)
    if needed and stop > layers:
        raise ConfigError(
            f"window {recipe.window} ends after the last layer: {recipe.trained} has {layers} "
            f"layers, 0 to {layers - 1}."
        )
    if recipe.schedule and len(recipe.schedule) != stop - first:
        raise ConfigError(
            f"schedule has {len(recipe.schedule)} values for {stop - first} layers; give one a "
            "layer of the window."
        )
    plan = Plan(alphas={key: _alpha(recipe, key, first, stop) for key in listed}, layers=layers)
    if all(alpha is None for alpha in plan.alphas.values()):
        raise ConfigError(f"no tensor of {recipe.trained} is in the parts {recipe.parts}.")
    return plan


def _alpha(recipe: MergeRecipe, key: str, first: int, stop: int) -> float | None:
    where = place(key)
    if where.layer is None:
        taken = OUTSIDE if not recipe.parts and not recipe.bounded else recipe.parts
        return recipe.alpha if where.part in taken else None
    if where.part not in (recipe.parts or IN_LAYERS):
        return None
    if recipe.bounded and not first <= where.layer < stop:
        return None
    return recipe.schedule[where.layer - first] if recipe.schedule else recipe.alpha
