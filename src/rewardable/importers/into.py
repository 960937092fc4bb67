"""Bring a dump into memory or into a run folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import DataError
from rewardable.importers.generic import CountItem, GenericImport, GenericReader
from rewardable.importers.report import ImportReport
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


def import_generic(path: str | Path, config: GenericImport) -> ImportResult:
    """Read a dump into memory.

    Raises DataError naming the row, or the file where it has no rows, and ConfigError for the
    configuration.
    """
    reader = GenericReader(Path(path), config)
    pieces = list(reader.slices(_from_zero))
    return ImportResult(
        prompts=tuple(prompt for piece in pieces for prompt in piece.prompts),
        policies=tuple(reader.policies.values()),
        rollouts=tuple(rollout for piece in pieces for rollout in piece.rollouts),
        graded=tuple(graded for piece in pieces for graded in piece.graded),
        counts=tuple(item for piece in pieces for item in piece.counts),
        report=reader.report(),
    )


def import_into(run: Run, path: str | Path, config: GenericImport) -> ImportReport:
    """Stream a dump into a run: all of its rows, or none where it raises.

    Samples of prompts that the run has already are numbered on. DataError when the file has no
    rows, or a policy has rows of this very file already.
    """
    reader = GenericReader(Path(path), config)
    if config.counts_only:
        _counts_into(run, reader)
    else:
        _rollouts_into(run, reader)
    return reader.report()


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
