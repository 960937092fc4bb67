"""Which policies the search looks at: literal families, from the parents and the alphas alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rewardable.records import digest
from rewardable.restore import MergeRecipe

WINDOWS = {"first half": (0.0, 0.5), "last half": (0.5, 1.0), "middle": (0.25, 0.75),
           "first quarter": (0.0, 0.25), "last quarter": (0.75, 1.0)}  # fmt: skip
"""Layers from and to, as shares of their number."""
PARTS = {"attention": ("attention",), "mlp": ("mlp",), "layers": ("attention", "mlp", "norm"),
         "outside": ("embedding", "head", "final_norm", "outside")}  # fmt: skip
OPENING_TOKENS = (1, 2, 4, 8)
SIZES = ("num_hidden_layers", "n_layer", "num_layers")
UNIFORM = "uniform"


@dataclass(frozen=True, kw_only=True, slots=True)
class Parents:
    """What candidates are made of. layers: None where the configuration does not say."""

    trained: str
    earlier: tuple[str, ...]
    layers: int | None
    alphas: tuple[float, ...]

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield (name for people, source) of every earlier checkpoint."""
        for source in self.earlier:
            yield short_name(source), source


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One policy: weights to be merged by ``recipe``, or the ``source`` of a sampler.

    passes: forward passes a token at inference; models: weights held in memory.
    """

    name: str
    family: str
    recipe: MergeRecipe | None = None
    source: str = ""
    passes: float = 1.0
    models: int = 1

    @property
    def slug(self) -> str:
        """Name of its folder."""
        plain = "".join(c if c.isalnum() else "-" for c in self.name)[:60].strip("-")
        return f"{plain}-{digest('candidate', self.name, length=6)}"


Family = Callable[[Parents], Iterator[Candidate]]


def short_name(source: str) -> str:
    """Return the last part of a path."""
    return Path(source).name or source


def layers_of(folder: str) -> int | None:
    """Return the number of layers that a checkpoint's configuration names."""
    try:
        raw = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for config in (raw, raw.get("text_config") or {}):
        for name in SIZES:
            if isinstance(config.get(name), int):
                return int(config[name])
    return None


def _uniform(p: Parents) -> Iterator[Candidate]:
    for name, source in p.named():
        for a in p.alphas:
            yield _merge(p, f"uniform {a:g} of {name}", UNIFORM, (source,), alpha=a)


def _several(p: Parents) -> Iterator[Candidate]:
    if len(p.earlier) > 1:
        for a in p.alphas:
            yield _merge(p, f"uniform {a:g} of all earlier", "several", p.earlier, alpha=a)


def _windows(p: Parents) -> Iterator[Candidate]:
    if p.layers is None:
        return
    seen = set[tuple[int, int]]()
    for title, (low, high) in WINDOWS.items():
        window = (round(low * p.layers), round(high * p.layers))
        if window[0] >= window[1] or window in seen or window == (0, p.layers):
            continue
        seen.add(window)
        for name, source in p.named():
            for a in p.alphas:
                yield _merge(p, f"{title} {a:g} of {name}", "windows", (source,), alpha=a,
                             window=window)  # fmt: skip


def _parts(p: Parents) -> Iterator[Candidate]:
    for title, parts in PARTS.items():
        for name, source in p.named():
            for a in p.alphas:
                yield _merge(p, f"{title} {a:g} of {name}", "parts", (source,), alpha=a,
                             parts=parts)  # fmt: skip


def _slerp(p: Parents) -> Iterator[Candidate]:
    for name, source in p.named():
        for a in p.alphas:
            yield _merge(p, f"slerp {a:g} of {name}", "slerp", (source,), alpha=a, method="slerp")


def _logits(p: Parents) -> Iterator[Candidate]:
    for name, source in p.named():
        for a in p.alphas:
            for first in (0, 4):
                text = f"mix:logits,alpha={a:g}" + (f",first={first}" if first else "")
                where = f", first {first} tokens" if first else ""
                yield _sampler(p, f"logits {a:g} of {name}{where}", "logits", text, source, 2.0)


def _checkpoints(p: Parents) -> Iterator[Candidate]:
    for name, source in p.named():
        for a in p.alphas:
            if a < 1:
                text = f"mix:checkpoints,weights={1 - a:.6g}/{a:g}"
                yield _sampler(p, f"samples {a:g} from {name}", "checkpoints", text, source, 1.0)


def _openings(p: Parents) -> Iterator[Candidate]:
    for name, source in p.named():
        for count in OPENING_TOKENS:
            text = f"mix:opening,tokens={count}"
            yield _sampler(p, f"opening of {count} from {name}", "openings", text, source, 1.0)


FAMILIES: Mapping[str, Family] = {
    UNIFORM: _uniform,
    "several": _several,
    "windows": _windows,
    "parts": _parts,
    "slerp": _slerp,
    "logits": _logits,
    "checkpoints": _checkpoints,
    "openings": _openings,
}
"""Family -> its candidates. Merges come first; samplers hold two models in memory."""


def candidates_of(parents: Parents, families: tuple[str, ...]) -> list[Candidate]:
    """Return the candidates of the named families, of all where none is named.

    The uniform family is always among them: every other has to beat it.
    """
    wanted = {*families, UNIFORM} if families else set(FAMILIES)
    return [one for name, make in FAMILIES.items() if name in wanted for one in make(parents)]


def _merge(p: Parents, name: str, family: str, earlier: tuple[str, ...], *, alpha: float,
           method: str = "linear", window: tuple[int, int] | None = None,
           parts: tuple[str, ...] = ()) -> Candidate:  # fmt: skip
    recipe = MergeRecipe(trained=p.trained, earlier=earlier, alpha=alpha, method=method,
                         window=window, parts=parts)  # fmt: skip
    return Candidate(name=name, family=family, recipe=recipe)


def _sampler(
    p: Parents, name: str, family: str, text: str, earlier: str, passes: float
) -> Candidate:
    source = f"{text},{p.trained},{earlier}"
    return Candidate(name=name, family=family, source=source, passes=passes, models=2)
