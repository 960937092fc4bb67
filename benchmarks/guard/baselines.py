"""The default rules of two other monitors on a recorded run, by their own code.

Neither is a dependency: install them beside (`pip install rldoctor==0.2.0 rlwatch==0.5.1`) or put
their sources on PYTHONPATH. They read logged metrics; neither samples, so audits are not shown to
them. Each returns the step of its first alarm per severity.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rewardable.guard import Metric, Observation

RLDOCTOR, RLWATCH = "rldoctor 0.2.0", "rlwatch 0.5.1"
ENTROPY_THRESHOLDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5)


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """First steps at which a monitor warned, and called it critical. names: what fired first."""

    warning: int | None
    critical: int | None
    names: tuple[str, ...] = ()


def plain(row: Observation) -> dict[str, float]:
    """Return the logged numbers alone, under the trainer's names."""
    return {
        name: one.value if isinstance(one, Metric) else float(one)
        for name, one in row.metrics.items()
    }


def rldoctor(rows: Iterable[Observation], config: Mapping[str, Any]) -> Alarm:
    """LiveMonitor as RLDoctorCallback makes it: every 25 logged rows, from the 60th on."""
    from rl_doctor.detectors.base import Severity
    from rl_doctor.live import LiveMonitor

    logging.getLogger("rl-doctor").setLevel(logging.CRITICAL)
    monitor = LiveMonitor(config={"algorithm": "grpo", **config}, name="trl")
    first: dict[str, int] = {}
    names: list[str] = []
    for row in rows:
        if not row.metrics:
            continue
        for finding in monitor.log(plain(row), step=row.step):
            names.append(finding.detector)
            first.setdefault("warning", row.step)
            if finding.severity >= Severity.CRITICAL:
                first.setdefault("critical", row.step)
    return Alarm(
        warning=first.get("warning"),
        critical=first.get("critical"),
        names=tuple(dict.fromkeys(names)),
    )


def rlwatch(rows: Iterable[Observation], entropy_threshold: float | None = None) -> Alarm:
    """All detectors with their defaults, fed as its TRL callback feeds them."""
    from rlwatch.config import RLWatchConfig
    from rlwatch.detectors import DetectorSuite

    config = RLWatchConfig()
    if entropy_threshold is not None:
        config.entropy_collapse.threshold = entropy_threshold
    suite = DetectorSuite(config)
    first: dict[str, int] = {}
    names: list[str] = []
    for row in rows:
        if not row.metrics:
            continue
        logs = plain(row)
        alerts = suite.check_step(
            row.step,
            entropy=logs.get("entropy"),
            kl_divergence=logs.get("kl"),
            reward_mean=logs.get("reward"),
            reward_std=logs.get("reward_std"),
            loss=logs.get("loss"),
            grad_norm=logs.get("grad_norm"),
        )
        for alert in alerts:
            names.append(alert.detector)
            first.setdefault("warning", row.step)
            if alert.severity == "critical":
                first.setdefault("critical", row.step)
    return Alarm(
        warning=first.get("warning"),
        critical=first.get("critical"),
        names=tuple(dict.fromkeys(names)),
    )
