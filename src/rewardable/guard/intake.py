"""From an observation's names to signals; whatever cannot be used is said once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from rewardable.errors import suggest
from rewardable.guard.config import GuardConfig
from rewardable.guard.decision import Notice
from rewardable.guard.names import ALIASES, SIGNALS, is_unused, known_names, signal_of
from rewardable.guard.observation import Metric

_MISSING_AFTER = 20


@dataclass(kw_only=True)
class Ledger:
    """Notices, each said once a run. ``last_seen`` counts observations since a signal came."""

    said: list[str] = field(default_factory=list[str])
    observations: int = 0
    last_seen: dict[str, int] = field(default_factory=dict[str, int])
    gaps: dict[str, int] = field(default_factory=dict[str, int])

    def say(self, name: str, text: str) -> tuple[Notice, ...]:
        """Return the notice unless it was said before."""
        if name in self.said:
            return ()
        self.said.append(name)
        return (Notice(name=name, text=text),)


def read_metrics(
    metrics: Mapping[str, float | Metric], config: GuardConfig, ledger: Ledger
) -> tuple[dict[str, Metric], list[Notice]]:
    """Return signal -> metric, and notices about names and values that cannot be used."""
    notices: list[Notice] = []
    by_signal: dict[str, dict[str, Metric]] = {}
    for name, raw in metrics.items():
        metric = raw if isinstance(raw, Metric) else Metric(value=raw)
        signal = signal_of(name, config.aliases)
        if signal is None:
            if not is_unused(name):
                notices += ledger.say(f"unknown metric {name}", _unknown(name))
        elif not isfinite(metric.value):
            text = f"{name} was {metric.value} and is left out; its step says nothing of {signal}."
            notices += ledger.say(f"not finite {name}", text)
        else:
            by_signal.setdefault(signal, {})[name] = metric
    chosen = {signal: _preferred(signal, found) for signal, found in by_signal.items()}
    for signal, found in by_signal.items():
        notices += _doubled(signal, found, ledger)
    return chosen, notices


def missing(signals: Iterable[str], config: GuardConfig, ledger: Ledger) -> list[Notice]:
    """Count an observation with these signals; say which ones never came or stopped coming."""
    ledger.observations += 1
    for signal in signals:
        gap = ledger.observations - ledger.last_seen.get(signal, ledger.observations)
        ledger.gaps[signal] = max(gap, ledger.gaps.get(signal, 1))
        ledger.last_seen[signal] = ledger.observations
    notices: list[Notice] = []
    if ledger.observations < _MISSING_AFTER:
        return notices
    for name in config.expected:
        signal = name if name in SIGNALS else signal_of(name, config.aliases) or name
        if signal not in ledger.last_seen:
            text = f"{name} was expected and has not appeared in {ledger.observations} rows."
            notices += ledger.say(f"missing {name}", text + suggest(name, known_names()))
    if not ledger.last_seen:
        text = (
            f"no metric that the guard judges in {ledger.observations} rows; it reads audits only."
        )
        notices += ledger.say("no metrics", text)
    for signal, last in ledger.last_seen.items():
        silent = ledger.observations - last
        if silent >= _MISSING_AFTER and silent > 3 * ledger.gaps[signal]:
            text = f"{signal} has not been logged for {silent} rows; it is no longer watched."
            notices += ledger.say(f"stopped {signal}", text)
    return notices


def _preferred(signal: str, found: Mapping[str, Metric]) -> Metric:
    """Take the name of your own aliases first, then the order of the table."""
    order = ALIASES[signal]
    return found[min(found, key=lambda name: _rank(name, order))]


def _rank(name: str, order: tuple[str, ...]) -> int:
    plain = name.removeprefix("train/")
    return order.index(plain) if plain in order else -1


def _doubled(signal: str, found: Mapping[str, Metric], ledger: Ledger) -> tuple[Notice, ...]:
    if len(found) < 2:
        return ()
    order = ALIASES[signal]
    first, *rest = sorted(found, key=lambda name: _rank(name, order))
    text = f"{signal} is logged as {first} and as {', '.join(rest)}; {first} is used."
    return ledger.say(f"doubled {signal}", text)


def _unknown(name: str) -> str:
    near = suggest(name, known_names())
    return (
        f"metric {name!r} is not known and not watched.{near} "
        "Name what it means with aliases={name: signal}, signals: " + ", ".join(SIGNALS) + "."
    )
