"""How often the guard cries wolf, and how often it is in time, on recorded runs.

    python benchmarks/guard/roc.py FOLDER [--every 10] [--tune NAME ...] [--json OUT.json]
    python benchmarks/guard/roc.py --simulated 20

FOLDER holds one recorded run a file (``*.jsonl`` or ``*.jsonl.gz``, see ``rewardable.guard.record``). A run counts as
*caught* when the alarm comes before half of its true support is gone. Simulated runs are never
mixed with recorded ones: they make a table of their own. ``every`` is the schedule of audits; audits
recorded between are shown only when the guard asked for one. The other monitors see the same rows.
Shares have exact (Clopper-Pearson) 95 % intervals over runs.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from baselines import ENTROPY_THRESHOLDS, RLDOCTOR, RLWATCH, Alarm, rldoctor, rlwatch
from simulate import COLLAPSING, HEALTHY, Design, simulated_run

from rewardable.guard import Guard, GuardConfig, Observation, RunMeta, parse_line
from rewardable.metrics import binomial_interval

ALPHAS = (0.0005, 0.002, 0.01, 0.05, 0.1, 0.2, 0.4, 0.8)
TOLERATED = (0.0, 0.05, 0.1, 0.2)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One run with its truth."""

    meta: RunMeta
    rows: tuple[Observation, ...]


@dataclass(frozen=True, kw_only=True)
class Point:
    """One rule on all runs."""

    rule: str
    healthy: int
    false_alarms: int
    collapsing: int
    caught: int
    late: int
    support_left: float | None
    delay: float | None

    def line(self) -> str:
        false = share(self.false_alarms, self.healthy)
        caught = share(self.caught, self.collapsing)
        left = "-" if self.support_left is None else f"{self.support_left:.2f}"
        return f"{self.rule:<44} {false:<26} {caught:<26} {self.late:>4}  {left:>5}"


def share(part: int, whole: int) -> str:
    if not whole:
        return "-"
    low, high = binomial_interval([whole], [part])
    return f"{part}/{whole} [{low[0]:.2f}, {high[0]:.2f}]"


def read_run(path: Path) -> Recorded:
    """Read one file: a meta line first or last, rows in order."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    lines = [line for line in text.split("\n") if line.strip()]
    items = [parse_line(line) for line in lines]
    metas = [item for item in items if isinstance(item, RunMeta)]
    if len(metas) != 1:
        raise SystemExit(f"{path} has {len(metas)} meta lines, one is needed")
    rows = tuple(item for item in items if isinstance(item, Observation))
    return Recorded(meta=metas[0], rows=rows)


def simulated(seeds: int, design: Design) -> Iterator[Recorded]:
    for course in (*HEALTHY, *COLLAPSING):
        for seed in range(seeds):
            meta, rows = simulated_run(course, 1000 + seed, design)
            yield Recorded(meta=meta, rows=tuple(rows))


def alarm_of_guard(run: Recorded, config: GuardConfig, every: int) -> Alarm:
    """Replay a run; audits off the schedule are shown only when asked for."""
    guard, wanted = Guard(config), False
    warning: int | None = None
    for row in run.rows:
        due = wanted or row.step % every == 0
        seen = row if due else replace(row, audits=())
        decision = guard.observe(seen)
        wanted = decision.audit_wanted
        if decision.state != "ok" and warning is None:
            warning = row.step
        if decision.state in {"act", "stop", "roll_back"}:
            names = tuple(one.signal for one in decision.evidence if one.fallen >= 2)
            return Alarm(warning=warning, critical=row.step, names=names)
    return Alarm(warning=warning, critical=None)


def judge(rule: str, runs: Sequence[Recorded], alarm: Callable[[Recorded], int | None]) -> Point:
    """Count false alarms of healthy runs and timely ones of collapsing runs."""
    false = caught = late = 0
    left, delay = [], []
    groups = {
        label: [r for r in runs if r.meta.label == label] for label in ("healthy", "collapsing")
    }
    for run in groups["healthy"]:
        false += alarm(run) is not None
    for run in groups["collapsing"]:
        step, half = alarm(run), run.meta.step_at(0.5)
        if half is None:
            raise SystemExit(f"{run.meta.run} is called collapsing and never falls below half")
        if step is None:
            continue
        steps, values = zip(*run.meta.support, strict=True)
        left.append(float(np.interp(step, steps, values)) / values[0])
        delay.append(step / half)
        caught += step < half
        late += step >= half
    return Point(
        rule=rule,
        healthy=len(groups["healthy"]),
        false_alarms=false,
        collapsing=len(groups["collapsing"]),
        caught=caught,
        late=late,
        support_left=float(np.mean(left)) if left else None,
        delay=float(np.mean(delay)) if delay else None,
    )


def cached(alarm: Callable[[Recorded], Alarm], runs: Sequence[Recorded]) -> dict[str, Alarm]:
    return {run.meta.run: alarm(run) for run in runs}


def points(runs: Sequence[Recorded], every: int, peers: bool, sweep: bool) -> list[Point]:
    """The guard at its defaults, its sweep, and the others."""
    found = []

    def both(rule: str, alarms: dict[str, Alarm], critical: str = "critical") -> None:
        found.append(judge(f"{rule}, {critical}", runs, lambda run: alarms[run.meta.run].critical))
        found.append(judge(f"{rule}, warning", runs, lambda run: alarms[run.meta.run].warning))

    both("guard, defaults", cached(lambda r: alarm_of_guard(r, GuardConfig(), every), runs), "act")
    if sweep:
        for alpha in ALPHAS:
            config = GuardConfig(alpha=alpha, warn_alpha=max(alpha, 0.25))
            alarms = cached(lambda r, c=config: alarm_of_guard(r, c, every), runs)
            found.append(
                judge(
                    f"guard, alpha {alpha:g}, act", runs, lambda r, a=alarms: a[r.meta.run].critical
                )
            )
        for tolerated in TOLERATED:
            config = GuardConfig(tolerated=tolerated)
            alarms = cached(lambda r, c=config: alarm_of_guard(r, c, every), runs)
            found.append(
                judge(
                    f"guard, tolerated {tolerated:g}, act",
                    runs,
                    lambda r, a=alarms: a[r.meta.run].critical,
                )
            )
    if peers:
        both(RLDOCTOR, cached(lambda r: rldoctor(r.rows, dict(r.meta.config)), runs))
        both(RLWATCH, cached(lambda r: rlwatch(r.rows), runs))
        for threshold in ENTROPY_THRESHOLDS if sweep else ():
            alarms = cached(lambda r, t=threshold: rlwatch(r.rows, t), runs)
            both(f"{RLWATCH}, entropy below {threshold:g}", alarms)
    return found


def print_table(title: str, found: Sequence[Point]) -> None:
    print(f"\n{title}")
    print(f"{'rule':<44} {'false alarms':<26} {'caught before half is gone':<26} late  left")
    for point in found:
        print(point.line())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--every", type=int, default=10, help="steps between scheduled audits")
    parser.add_argument("--simulated", type=int, default=0, help="simulated runs a course")
    parser.add_argument("--prompts", type=int, default=24, help="prompts of a simulated audit")
    parser.add_argument("--leave-out", nargs="*", default=(), help="names used for tuning")
    parser.add_argument("--no-sweep", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    sets: dict[str, list[Recorded]] = {}
    if args.folder:
        runs = [read_run(path) for path in sorted(args.folder.glob("*.jsonl*"))]
        kept = [run for run in runs if not any(part in run.meta.run for part in args.leave_out)]
        sets["recorded runs"] = [run for run in kept if not run.meta.simulated]
        sets["simulated runs (from files)"] = [run for run in kept if run.meta.simulated]
    if args.simulated:
        sets["simulated runs"] = list(simulated(args.simulated, Design(prompts=args.prompts)))
    report = {}
    for title, runs in sets.items():
        if not runs:
            continue
        found = points(runs, args.every, not args.no_peers, not args.no_sweep)
        print_table(f"{title}: {len(runs)}, an audit every {args.every} steps", found)
        report[title] = [vars(point) for point in found]
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
