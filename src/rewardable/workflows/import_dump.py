"""Read another tool's rollouts into a run folder, so that they can be measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import ConfigError
from rewardable.importers import (
    Choices,
    GenericImport,
    ImportReport,
    KnownImport,
    import_into,
    parse_field_map,
    parse_steps,
)
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.workflows.config import IMPORTED
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.regrade import Regraded, regrade
from rewardable.workflows.wording import keep_wording

__all__ = ["ImportReport", "Imported", "import_dump", "import_known_dump"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """What came in, and what a verifier of ours said of it if one was asked."""

    report: ImportReport
    regraded: Regraded | None = None


def import_dump(
    run_path: Path,
    dump: Path,
    field_map: str,
    *,
    policy: str = "",
    task: str = "imported",
    success: str = "",
    skip_broken: bool = False,
    step: str = "",
) -> ImportReport:
    """Import ``dump`` into the run folder, making it where there is none. Nothing is sampled.

    field_map: ``"prompt=question,completion=code,score=score"``. policy: name of the policy,
    empty for the file's name; the first one imported is the base. success: rule on the score,
    for example ``">= 1"``; empty for true/false or 1/0. step: see :func:`import_known_dump`.

    Raises
    ------
    DataError: a row cannot be used, or the file was imported before; nothing is stored then.
    ResumeError: the folder holds a run that was sampled here.
    """
    config = GenericImport(
        fields=parse_field_map(field_map),
        policy=policy or None,
        task=task or IMPORTED,
        success=success or None,
        skip_broken=skip_broken,
        steps=parse_steps(step),
    )
    run, report = _stored(run_path, dump, config)
    _count_wording(run, config, ignore)
    return report


def import_known_dump(
    run_path: Path,
    dump: Path,
    *,
    format: str = "",
    field_map: str = "",
    policy: str = "",
    task: str = "",
    success: str = "",
    score: str = "",
    filter: str = "",
    step: str = "",
    skip_broken: bool = False,
    regrade_by: str = "",
    workers: int = 0,
    timeout_s: float = 0.0,
    wording: bool = True,
    on_event: OnEvent = ignore,
) -> Imported:
    """Import a dump, or a folder of them, finding out which tool wrote it.

    format: a format that it must have. field_map: reads it as mapped instead; the choices score
    and filter, which settle what a dump leaves open, mean nothing then. step: ``"120"``,
    ``"100-120"``, or ``"each"`` for every training step as a policy of its own. regrade_by: a task
    whose verifier judges the answers too; its verdicts count then. wording: count the wording of
    the texts, for the figures of diversity; ``grade`` does it later. Errors: as above.
    """
    config: GenericImport | KnownImport
    if field_map:
        if score or filter:
            raise ConfigError("--score and --filter go without --map: map score=COLUMN there.")
        config = GenericImport(
            fields=parse_field_map(field_map),
            policy=policy or None,
            task=task or IMPORTED,
            success=success or None,
            format=format or None,
            skip_broken=skip_broken,
            steps=parse_steps(step),
        )
    else:
        config = KnownImport(
            format=format,
            choices=Choices(score=score, filter=filter),
            policy=policy or None,
            task=task or None,
            success=success or None,
            skip_broken=skip_broken,
            steps=parse_steps(step),
        )
    judge = load_task(regrade_by) if regrade_by else None
    run, report = _stored(run_path, dump, config)
    said = None
    if judge is not None and report.n_rollouts:
        said = regrade(
            run, report, judge, workers=workers, timeout_s=timeout_s or None, on_event=on_event
        )
    if wording:
        _count_wording(run, config, on_event)
    return Imported(report=report, regraded=said)


def _stored(
    run_path: Path, dump: Path, config: GenericImport | KnownImport
) -> tuple[Run, ImportReport]:
    run = Run.resume_or_create(run_path, {IMPORTED: True})
    return run, import_into(run, dump, config)


def _count_wording(run: Run, config: GenericImport | KnownImport, on_event: OnEvent) -> None:
    keys = [prompt.key for prompt in run.prompts()]
    keep_wording(run, keys, on_event, task=config.task or IMPORTED)
