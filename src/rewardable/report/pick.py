"""Find rows in tables by what a figure or a section wants to show. Nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rewardable.results import Estimate, Label, Row, Table

SIMULTANEOUS = "simultaneous"


def ordered(values: Iterable[Label]) -> list[str]:
    """Distinct values as text, in order of first appearance."""
    return list(dict.fromkeys(str(value) for value in values))


@dataclass(frozen=True)
class Tables:
    """The tables of a report; a missing one counts as empty."""

    by_name: Mapping[str, Table]

    def table(self, name: str) -> Table:
        """Return a table by name."""
        return self.by_name.get(name) or Table(name=name, title="")

    def rows(self, name: str, **labels: Label) -> tuple[Row, ...]:
        """Return rows of a table with these labels."""
        return self.table(name).select(**labels)

    def estimate(self, name: str, **labels: Label) -> Estimate | None:
        """Return the estimate of the first row with these labels."""
        found = self.rows(name, **labels)
        return found[0].estimate if found else None

    def arm_rows(self, name: str, **labels: Label) -> list[Row]:
        """Return rows about one policy."""
        return [row for row in self.rows(name, **labels) if "policy" in row.labels]

    def pair_rows(self, name: str, **labels: Label) -> list[Row]:
        """Return rows about a difference."""
        return [row for row in self.rows(name, **labels) if "before" in row.labels]

    @property
    def tasks(self) -> list[str]:
        """The tasks, the main one first."""
        return ordered(row.labels["task"] for row in self.table("overview").rows)

    def role(self, task: str) -> str:
        """Whether a task is the main one or a future one."""
        return str(self.rows("overview", task=task)[0].labels.get("role", "main"))

    def arms(self, task: str) -> list[tuple[str, str]]:
        """(policy, spec) of a task's arms, in order."""
        rows = self.rows("overview", task=task)
        return list(dict.fromkeys((str(r.labels["policy"]), str(r.labels["spec"])) for r in rows))

    def policies(self, task: str) -> list[str]:
        """Return the policies, the base first."""
        return ordered(policy for policy, _ in self.arms(task))

    def specs(self, task: str) -> list[str]:
        """Return the sampling specs, the headline first."""
        return ordered(spec for _, spec in self.arms(task))

    def arm_names(self, task: str) -> dict[tuple[str, str], str]:
        """Say how arms are called in figures: the policy, with the spec where there are several."""
        several = len(self.specs(task)) > 1
        return {
            (policy, spec): f"{policy}, {spec}" if several else policy
            for policy, spec in self.arms(task)
        }

    def headline_k(self, task: str) -> int:
        """Return the verdict's budget."""
        return int(
            self.rows("overview", task=task, metric="headline budget")[0].estimate.value or 1
        )
