"""Bring a dump into memory or into a run folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rewardable.errors import DataError
from rewardable.importers.format import Choices
from rewardable.importers.generic import CountItem, GenericImport, GenericReader
from rewardable.importers.recognise import recognise
from rewardable.importers.report import ImportReport
from rewardable.importers.steps import Steps
from rewardable.records import Graded, Policy, Prompt, Rollout, SamplingSpec
from rewardable.store import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportResult:
    """A whole dump in memory. ``counts`` is empty unless the rows are counts."""

    prompts: tuple[Prompt, ...]
    policies: tuple[Policy, ...]
    rollouts: tuple[Rollout, ...]
    graded: tuple[Graded, ...]
    counts: tuple[CountItem, ...]
    report: ImportReport


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownImport:
    """How to read a dump that says itself which tool wrote it; None takes what the dump says.

    format: name of a format that the dump must have. choices: what it may leave open. The rest is
    as in ``GenericImport``.
    """

    format: str = ""
    choices: Choices = field(default_factory=Choices)
    policy: str | None = None
    task: str | None = None
    success: str | None = None
    spec: SamplingSpec | None = None
    skip_broken: bool = False
    steps: Steps = field(default_factory=Steps)


def import_generic(path: str | Path, config: GenericImport) -> ImportResult:
    """Read a dump into memory.

    Raises DataError naming the row, or the file where it has no rows, and ConfigError for the
    configuration.
    """
    return _in_memory(GenericReader(Path(path), config))


def import_known(path: str | Path, config: KnownImport) -> ImportResult:
    """Recognise a file, or a folder of files, and read it into memory; errors as above."""
    return _in_memory(_known_reader(Path(path), config))


def import_into(run: Run, path: str | Path, config: GenericImport | KnownImport) -> ImportReport:
    """Stream a dump into a run: all of its rows, or none where it raises.

    Samples of prompts that the run has already are numbered on. DataError when the file has no
    rows, or a policy has rows of this very file already.
    """
    if isinstance(config, KnownImport):
        reader = _known_reader(Path(path), config)
    else:
        reader = GenericReader(Path(path), config)
    if reader.config.counts_only:
        _counts_into(run, reader)
    else:
        _rollouts_into(run, reader)
    return reader.report()


def _known_reader(path: Path, config: KnownImport) -> GenericReader:
    found = recognise(path, config.choices, wanted=config.format, skip_broken=config.skip_broken)
    plan, fields = found.plan, dict(found.plan.fields)
    for name in ("policy", "task"):
        if getattr(config, name) is not None:
            fields.pop(name, None)
    generic = GenericImport(
        fields=fields,
        policy=config.policy or plan.policy or _name_of(path),
        task=config.task or plan.task or "imported",
        success=config.success or (plan.success if "score" in fields else None),
        spec=config.spec,
        skip_broken=config.skip_broken,
        steps=config.steps,
    )
    return GenericReader(path, generic, found.dump)


def _name_of(path: Path) -> str | None:
    """Return folder and step of a file that is named by its step alone."""
    name = path.name.split(".")[0]
    return f"{path.absolute().parent.name}@{name}" if name.isdigit() else None


def _in_memory(reader: GenericReader) -> ImportResult:
    pieces = list(reader.slices(_from_zero))
    return ImportResult(
        prompts=tuple(prompt for piece in pieces for prompt in piece.prompts),
        policies=tuple(reader.policies.values()),
        rollouts=tuple(rollout for piece in pieces for rollout in piece.rollouts),
        graded=tuple(graded for piece in pieces for graded in piece.graded),
        counts=tuple(item for piece in pieces for item in piece.counts),
        report=reader.report(),
    )


def _rollouts_into(run: Run, reader: GenericReader) -> None:
    taken = run.provenances()
    with run.bulk() as bulk:
        for piece in reader.slices(bulk.next_index):
            _require_new(reader, taken)
            bulk.add_specs(_specs(reader))
            bulk.add_prompts(piece.prompts)
            bulk.add_policies(reader.policies.values())
            bulk.add(piece.rollouts, piece.graded)


def _counts_into(run: Run, reader: GenericReader) -> None:
    pieces = list(reader.slices(_from_zero))
    _require_new(reader, run.provenances())
    run.add_specs(_specs(reader))
    run.add_policies(reader.policies.values())
    run.add_prompts(prompt for piece in pieces for prompt in piece.prompts)
    items = [item for piece in pieces for item in piece.counts]
    run.add_counts(
        [item.policy_key for item in items],
        [item.prompt_key for item in items],
        [item.n for item in items],
        [item.c for item in items],
        spec_key=reader.spec_key,
        provenance=reader.provenance,
    )


def _specs(reader: GenericReader) -> list[SamplingSpec]:
    return [reader.config.spec] if reader.config.spec else []


def _require_new(reader: GenericReader, taken: set[tuple[str, str]]) -> None:
    for policy in reader.policies.values():
        if any(key == policy.key and reader.sha256 in origin for key, origin in taken):
            raise DataError(
                f"{reader.path.name} was imported for policy {policy.name!r} before; importing it "
                "again would count its samples twice. Use another run folder or policy name."
            )


def _from_zero(policy_key: str, spec_key: str, prompt_key: str) -> int:
    return 0
