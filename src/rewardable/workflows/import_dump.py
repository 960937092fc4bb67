"""Read another tool's rollouts into a run folder, so that they can be measured."""

from __future__ import annotations

from pathlib import Path

from rewardable.importers import GenericImport, ImportReport, import_into, parse_field_map
from rewardable.store import Run
from rewardable.workflows.config import IMPORTED
from rewardable.workflows.events import ignore
from rewardable.workflows.wording import keep_wording

__all__ = ["ImportReport", "import_dump"]


def import_dump(
    run_path: Path,
    dump: Path,
    field_map: str,
    *,
    policy: str = "",
    task: str = "imported",
    success: str = "",
    skip_broken: bool = False,
) -> ImportReport:
    """Import ``dump`` into the run folder, making it where there is none. Nothing is sampled.

    field_map: ``"prompt=question,completion=code,score=score"``. policy: name of the policy,
    empty for the file's name; the first one imported is the base. success: rule on the score,
    for example ``">= 1"``; empty for true/false or 1/0.

    Raises
    ------
    DataError: a row cannot be used, or the file was imported before; nothing is stored then.
    ResumeError: the folder holds a run that was sampled here.
    """
    config = GenericImport(
        fields=parse_field_map(field_map),
        policy=policy or None,
        task=task,
        success=success or None,
        skip_broken=skip_broken,
    )
    run = Run.resume_or_create(run_path, {IMPORTED: True})
    report = import_into(run, dump, config)
    keys = [prompt.key for prompt in run.prompts()]
    keep_wording(run, keys, ignore, task=task)
    return report
