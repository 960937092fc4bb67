"""A run folder: configuration, policies, prompts, rollouts, verdicts, counts, tables, report."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

import tomllib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rewardable.errors import ConfigError, DataError
from rewardable.records import (
    UNKNOWN_SPEC,
    Graded,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
)
from rewardable.results import Table, table_from_json, table_to_json
from rewardable.store import catalog, reading
from rewardable.store.bulk import Bulk
from rewardable.store.codec import describe, rollouts_to_table, verdicts_to_table
from rewardable.store.counts import Counts, counts_to_table
from rewardable.store.files import remove_temporaries, write_lock, write_text
from rewardable.store.index import RolloutIndex
from rewardable.store.parts import PartFolder
from rewardable.store.resume import require_same
from rewardable.store.samples import Samples
from rewardable.store.schema import COUNTS, PROMPTS, ROLLOUTS, VERDICTS
from rewardable.store.toml import to_toml

CONFIG = "config.toml"
_SEQ_PER_PART = 2**32


class Run:
    """A run folder. Readers need no lock; every write holds the folder's lock and is atomic.

    Several processes may write into one run: each write sees what the others stored, and a
    rollout that is stored already is refused.
    """

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self.path = path
        self.config = dict(config)
        self._rollouts = PartFolder(path / "rollouts", ROLLOUTS)
        self._verdicts = PartFolder(path / "verdicts", VERDICTS)
        self._counts = PartFolder(path / "counts", COUNTS)
        self._prompts = PartFolder(path / "prompts", PROMPTS)
        self._catalog = catalog.PromptCatalog(self._prompts)
        self._index = RolloutIndex(self._rollouts)
        self._swept = False

    @classmethod
    def create(cls, path: str | Path, config: Mapping[str, Any]) -> Run:
        """Make a new run folder. ConfigError when ``path`` is a run or holds other files."""
        path = Path(path)
        text = to_toml(config)
        if (path / CONFIG).exists():
            raise ConfigError(f"{path} is a run already; resume it or choose another folder.")
        foreign = [entry.name for entry in path.iterdir()] if path.is_dir() else []
        if any(name != ".lock" and not name.startswith(".tmp-") for name in foreign):
            raise ConfigError(f"{path} holds other files ({foreign[0]}); choose an empty folder.")
        path.mkdir(parents=True, exist_ok=True)
        with write_lock(path / ".lock"):
            if (path / CONFIG).exists():
                raise ConfigError(f"{path} was made by another process just now; resume it.")
            write_text(path / CONFIG, text)
        return cls(path, tomllib.loads(text))

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a run folder. ConfigError when ``path`` is none."""
        path = Path(path)
        try:
            config = tomllib.loads((path / CONFIG).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ConfigError(f"{path} is no run folder: it has no {CONFIG}.") from error
        except ValueError as error:
            raise ConfigError(f"{path / CONFIG} cannot be read: {error}.") from error
        return cls(path, config)

    @classmethod
    def resume_or_create(
        cls, path: str | Path, config: Mapping[str, Any], *, may_differ: Collection[str] = ()
    ) -> Run:
        """Open the run at ``path`` if it was made with ``config``, or make it.

        ``may_differ`` names dotted keys that change no result ("engine.device", "progress"); a
        table's name covers all keys below it. ResumeError names every other key that differs.
        """
        if not (Path(path) / CONFIG).exists():
            try:
                return cls.create(path, config)
            except ConfigError:  # or another process was faster
                if not (Path(path) / CONFIG).exists():
                    raise
        run = cls.open(path)
        require_same(run.config, config, may_differ=may_differ, where=str(path))
        return run

    # ---- who and what -------------------------------------------------------------------

    def add_policies(self, policies: Iterable[Policy]) -> None:
        """Add policies; one that is known keeps its first name."""
        with self._writing():
            catalog.add_policies(self.path / "policies.json", policies)

    def policies(self) -> list[Policy]:
        """Return the policies in the order in which they were added."""
        return catalog.read_policies(self.path / "policies.json")

    def add_specs(self, specs: Iterable[SamplingSpec]) -> None:
        """Add sampling specs."""
        with self._writing():
            catalog.add_specs(self.path / "specs.json", specs)

    def specs(self) -> list[SamplingSpec]:
        """Return the sampling specs in the order in which they were added."""
        return catalog.read_specs(self.path / "specs.json")

    def add_prompts(self, prompts: Iterable[Prompt]) -> None:
        """Add prompts that are new; DataError when a stored one differs under the same key."""
        with self._writing():
            self._catalog.add(prompts)

    def prompts(self, task: str | None = None) -> list[Prompt]:
        """Return the prompts (of one task) in the order of their keys.

        DataError when a part is damaged or gone that held prompts of stored rows.
        """
        self._catalog.refresh()
        if self._prompts.torn() or not len(self._catalog):
            reading.require_prompts(self._rollouts, self._counts, self._prompts)
        return self._catalog.prompts(task)

    # ---- rollouts -----------------------------------------------------------------------

    def add_rollouts(self, rollouts: Sequence[Rollout]) -> None:
        """Append rollouts atomically. DataError when one is stored already or nobody knows its
        policy, spec or prompt; then nothing is written.
        """
        ids = [rollout.id for rollout in rollouts]
        if ids:
            with self._writing():
                self._index.refresh()
                self._index.require_new(ids)
                self._require_known((one.policy_key, one.spec_key, one.prompt_key) for one in ids)
                table = rollouts_to_table(rollouts, {})
                self._index.note_part(self._rollouts.write(table))
                self._index.add(ids)

    def replace_failed(self, rollouts: Sequence[Rollout]) -> None:
        """Put new rollouts in the place of failed ones; DataError when a stored one is good."""
        ids = [rollout.id for rollout in rollouts]
        if ids:
            with self._writing():
                self._index.refresh()
                self._require_failed(ids)
                attempts = {one: self._index.attempts.get(one, 0) + 1 for one in ids}
                table = rollouts_to_table(rollouts, attempts)
                self._index.note_part(self._rollouts.write(table, prefix="retry"))
                self._index.attempts.update(attempts)

    def rollout_ids(self, policy_key: str, spec_key: str) -> set[RolloutId]:
        """Return the ids already stored."""
        self._index.refresh()
        stored = self._index.indices(policy_key, spec_key)
        return {
            RolloutId(policy_key=policy_key, spec_key=spec_key, prompt_key=prompt, index=index)
            for prompt, indices in stored.items()
            for index in indices
        }

    def failed_ids(self, policy_key: str, spec_key: str) -> set[RolloutId]:
        """Return the ids of stored rollouts whose engine failed."""
        return reading.failed_ids(self._rollouts, policy_key, spec_key)

    @contextmanager
    def bulk(self) -> Generator[Bulk]:
        """Yield a writer whose rows are stored together when the block ends without error.

        The write lock is held until then.
        """
        with self._writing():
            self._index.refresh()
            first = self._verdicts.next_number() * _SEQ_PER_PART
            try:
                with (
                    self._rollouts.stream() as (name, rollouts),
                    self._verdicts.stream() as (_, verdicts),
                ):
                    yield Bulk(
                        catalog=self._catalog,
                        policies=self.path / "policies.json",
                        specs=self.path / "specs.json",
                        index=self._index,
                        rollouts=rollouts,
                        verdicts=verdicts,
                        first_seq=first,
                    )
                self._index.note_part(name)
            except BaseException:
                self._index = RolloutIndex(self._rollouts)
                raise

    def provenances(self) -> set[tuple[str, str]]:
        """Return the (policy key, provenance) of the stored rollouts and counts."""
        return reading.provenances(self._rollouts, self._counts)

    def broken_texts(self) -> int:
        """Return how many stored completions hold half a surrogate pair."""
        return reading.broken_texts(self._rollouts)

    # ---- verdicts -----------------------------------------------------------------------

    def pending(
        self,
        verifier: str,
        version: str,
        prompt_keys: Iterable[str],
        *,
        retry_ungraded: bool = False,
    ) -> Iterator[Rollout]:
        """Yield stored rollouts of these prompts that this verifier version has not judged.

        ``retry_ungraded`` yields those whose newest verdict of it is UNGRADED, too.
        """
        return reading.pending(
            self._rollouts,
            self._verdicts,
            verifier,
            version,
            prompt_keys,
            retry_ungraded=retry_ungraded,
        )

    def n_pending(self, verifier: str, version: str, prompt_keys: Iterable[str]) -> int:
        """Return how many rollouts :meth:`pending` would yield."""
        return reading.n_pending(self._rollouts, self._verdicts, verifier, version, prompt_keys)

    def add_verdicts(self, verdicts: Sequence[Graded]) -> None:
        """Append verdicts atomically; the newest counts. DataError for an unknown rollout."""
        if verdicts:
            with self._writing():
                self._index.refresh()
                self._index.require_stored(graded.id for graded in verdicts)
                first = self._verdicts.next_number() * _SEQ_PER_PART
                self._verdicts.write(verdicts_to_table(verdicts, self._index.attempts, first))

    # ---- reading ------------------------------------------------------------------------

    def samples(
        self,
        *,
        policy_key: str,
        spec_key: str,
        task: str | None = None,
        verifier: str | None = None,
        version: str | None = None,
    ) -> Samples:
        """Return the rollouts of one policy and spec with their newest matching verdicts."""
        return reading.samples(
            self._rollouts,
            self._verdicts,
            reading.Selection(
                policy_key=policy_key, spec_key=spec_key, verifier=verifier, version=version
            ),
            self.prompts(task),
            some_prompts=task is not None,
        )

    def rollouts(
        self,
        *,
        policy_key: str,
        spec_key: str,
        prompt_keys: Collection[str] | None = None,
        verifier: str | None = None,
        version: str | None = None,
    ) -> Iterator[tuple[Rollout, Verdict | None]]:
        """Yield rollouts (of some prompts) with their newest matching verdict, by prompt, index."""
        selection = reading.Selection(
            policy_key=policy_key, spec_key=spec_key, verifier=verifier, version=version
        )
        return reading.graded(self._rollouts, self._verdicts, selection, prompt_keys)

    def groups(self) -> list[reading.Group]:
        """Return what the run holds: rollouts and counts by task, policy and spec.

        DataError when prompts of stored rows are missing.
        """
        self._catalog.refresh()
        reading.require_prompts(self._rollouts, self._counts, self._prompts)
        return reading.groups(self._rollouts, self._counts, self._prompts)

    # ---- counts -------------------------------------------------------------------------

    def add_counts(
        self,
        policy_keys: Sequence[str],
        prompt_keys: Sequence[str],
        n: Sequence[int],
        c: Sequence[int],
        *,
        spec_key: str = UNKNOWN_SPEC,
        provenance: str = "",
    ) -> None:
        """Append rows of ``c`` successes among ``n`` graded samples, all of them or none.

        DataError when a (policy, spec, prompt) has counts already, or c > n, or n < 0.
        """
        table = counts_to_table(
            policy_keys, prompt_keys, n, c, spec_key=spec_key, provenance=provenance
        )
        if table.num_rows:
            with self._writing():
                reading.require_new_counts(self._counts, table)
                pairs = zip(policy_keys, prompt_keys, strict=True)
                self._require_known((policy, spec_key, prompt) for policy, prompt in pairs)
                self._counts.write(table)

    def counts(
        self, *, policy_key: str, spec_key: str = UNKNOWN_SPEC, task: str | None = None
    ) -> Counts:
        """Return imported counts of one policy, sorted by prompt key."""
        return reading.counts(self._counts, policy_key, spec_key, self.prompts(task))

    # ---- results ------------------------------------------------------------------------

    def write_table(self, table: Table) -> Path:
        """Write ``tables/<name>.json``, in the place of an older one of that name."""
        if not table.name:
            raise DataError("a table needs a name.")
        path = self.path / "tables" / f"{quote(table.name, safe=' ')}.json"
        path.parent.mkdir(exist_ok=True)
        write_text(path, table_to_json(table))
        return path

    def tables(self) -> dict[str, Table]:
        """Return the tables by name."""
        paths = sorted((self.path / "tables").glob("*.json"))
        tables = [table_from_json(path.read_text(encoding="utf-8")) for path in paths]
        return {table.name: table for table in tables}

    def write_report(self, html: str) -> Path:
        """Write ``report.html``."""
        write_text(self.path / "report.html", html)
        return self.path / "report.html"

    def torn_parts(self) -> tuple[str, ...]:
        """Return the names of damaged parts, whose rows are ignored."""
        folders = (self._rollouts, self._verdicts, self._counts, self._prompts)
        return tuple(name for folder in folders for name in folder.torn())

    # ---- inside -------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Generator[None]:
        with write_lock(self.path / ".lock"):
            if not self._swept:
                self._sweep()
            yield

    def _sweep(self) -> None:
        for folder in (self.path, *(path for path in self.path.iterdir() if path.is_dir())):
            remove_temporaries(folder)
        self._swept = True

    def _require_known(self, places: Iterable[tuple[str, str, str]]) -> None:
        self._catalog.refresh()
        policies = {policy.key for policy in self.policies()}
        specs = {UNKNOWN_SPEC, *(spec.key for spec in self.specs())}
        for policy_key, spec_key, prompt_key in places:
            if prompt_key not in self._catalog:
                raise DataError(f"prompt {prompt_key} is not in this run; add_prompts first.")
            if policy_key not in policies:
                raise DataError(f"policy {policy_key} is not in this run; add_policies first.")
            if spec_key not in specs:
                raise DataError(f"spec {spec_key} is not in this run; add_specs first.")

    def _require_failed(self, ids: Sequence[RolloutId]) -> None:
        groups = {(one.policy_key, one.spec_key) for one in ids}
        failed = {one for group in groups for one in self.failed_ids(*group)}
        good = next((one for one in ids if one not in failed), None)
        if good is not None:
            raise DataError(f"{describe(good)} did not fail; only failed rows are replaced.")
        if len(set(ids)) < len(ids):
            raise DataError("a rollout was given twice; nothing was written.")
