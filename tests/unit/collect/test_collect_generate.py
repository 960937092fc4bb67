from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardable.collect import Progress, generate
from rewardable.errors import BoundaryError, ConfigError, DataError
from rewardable.records import Rollout, failed_completion


def failing(row: Rollout, reason: str) -> Rollout:
    return replace(row, completion=failed_completion(reason))


def test_every_row_is_sampled_once_and_only_what_is_missing(kit: Any) -> None:
    sink, sampler = kit.Sink(), kit.Sampler()
    sink.add_rollouts([kit.row(kit.prompts[1], 0, "old"), kit.row(kit.prompts[1], 7, "old")])
    report = generate(sampler, kit.prompts, 3, kit.spec, sink)
    assert (report.n_done, report.n_new, report.n_failed) == (12, 11, 0)
    assert report.tokens == 22
    assert (kit.prompts[1].key, 0) not in sampler.asked
    assert len(sampler.asked) == len(set(sampler.asked)) == 11
    again = kit.Sampler()
    report = generate(again, kit.prompts, 3, kit.spec, sink)
    assert (report.n_done, report.n_new, again.asked) == (12, 0, [])
    assert generate(again, kit.prompts, 4, kit.spec, sink).n_new == 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    stored=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 6))),
    n=st.integers(1, 5),
    stop=st.integers(0, 20),
    flush=st.integers(1, 7),
)
def test_whatever_was_stored_and_wherever_it_stopped_the_end_is_the_same(
    kit: Any, stored: set[tuple[int, int]], n: int, stop: int, flush: int
) -> None:
    def crash(count: int) -> None:
        if count == stop:
            raise RuntimeError("crash")

    sink = kit.Sink()
    sink.add_rollouts([kit.row(kit.prompts[prompt], index) for prompt, index in stored])
    for before in (crash, lambda count: None):
        try:
            generate(kit.Sampler(before=before), kit.prompts, n, kit.spec, sink, flush_rows=flush)
        except BoundaryError:
            continue
    wanted = {(prompt.key, index) for prompt in kit.prompts for index in range(n)}
    assert wanted <= {(one.prompt_key, one.index) for one in sink.rows}


def test_an_engine_that_raises_loses_no_finished_row(kit: Any) -> None:
    def crash(count: int) -> None:
        if count == 5:
            raise MemoryError("CUDA out of memory\nTried to allocate")

    sink = kit.Sink()
    with pytest.raises(
        BoundaryError, match="engine of policy 'base': MemoryError: CUDA out of mem"
    ):
        generate(kit.Sampler(before=crash), kit.prompts, 3, kit.spec, sink)
    assert len(sink.rows) == 5
    assert generate(kit.Sampler(), kit.prompts, 3, kit.spec, sink).n_new == 7


def test_a_users_mistake_inside_an_engine_stays_one(kit: Any) -> None:
    def crash(count: int) -> None:
        raise ConfigError("no such device")

    with pytest.raises(ConfigError, match="no such device"):
        generate(kit.Sampler(before=crash), kit.prompts, 1, kit.spec, kit.Sink())


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Handle SIGINT as a terminal's program does; one started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_flushes_and_goes_on_up(kit: Any) -> None:
    def interrupt(count: int) -> None:
        if count == 4:
            os.kill(os.getpid(), signal.SIGINT)

    sink = kit.Sink()
    with pytest.raises(KeyboardInterrupt):
        generate(kit.Sampler(before=interrupt), kit.prompts, 3, kit.spec, sink)
    assert len(sink.rows) == 4


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_during_a_write_waits_for_its_end(kit: Any) -> None:
    class Slow(kit.Sink):
        def add_rollouts(self, rollouts: Any) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            super().add_rollouts(rollouts)

    sink = Slow()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        generate(kit.Sampler(), kit.prompts, 3, kit.spec, sink, flush_rows=2)
    assert len(sink.rows) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_failed_rows_are_kept_with_their_reason_and_retried_only_when_asked(kit: Any) -> None:
    class Flaky(kit.Sampler):
        def sample(self, requests: Any, spec: Any) -> Iterator[Rollout]:
            for row in super().sample(requests, spec):
                yield failing(row, "prompt too long") if row.id.index == 1 else row

    sink = kit.RetrySink()
    report = generate(Flaky(), kit.prompts, 2, kit.spec, sink)
    assert (report.n_new, report.n_failed) == (8, 4)
    assert report.reasons == {"prompt too long": 4}
    assert generate(kit.Sampler(), kit.prompts, 2, kit.spec, sink).n_new == 0
    report = generate(kit.Sampler(), kit.prompts, 2, kit.spec, sink, retry_failed=True)
    assert (report.n_done, report.n_new, report.n_failed) == (8, 4, 0)
    assert len(sink.rows) == 8
    assert sink.failed_ids("", "") == set()


def test_retrying_leaves_failed_rows_beyond_n_and_of_other_prompts_alone(kit: Any) -> None:
    sink = kit.RetrySink()
    sink.add_rollouts([failing(kit.row(kit.prompts[0], i), "x") for i in (0, 9)])
    sampler = kit.Sampler()
    generate(sampler, kit.prompts[:1], 1, kit.spec, sink, retry_failed=True)
    assert sampler.asked == [(kit.prompts[0].key, 0)]
    with pytest.raises(ConfigError, match="replaces rows"):
        generate(sampler, kit.prompts[:1], 1, kit.spec, kit.Sink(), retry_failed=True)


def test_a_row_that_cannot_be_stored_is_recorded_as_failed(kit: Any) -> None:
    sink = kit.Sink(poison=lambda row: row.completion.text == f"{kit.prompts[2].text}/1")
    report = generate(kit.Sampler(), kit.prompts, 3, kit.spec, sink)
    assert report.n_new == len(sink.rows) == 12
    bad = [row for row in sink.rows.values() if row.completion.failure]
    assert [row.completion.failure for row in bad] == ["not storable: DataError: cannot be stored"]
    assert report.reasons == {"not storable: DataError: cannot be stored": 1}


@pytest.mark.parametrize("fault", ["twice", "stranger", "short"])
def test_an_engine_that_breaks_its_promise_is_stopped(kit: Any, fault: str) -> None:
    class Faulty(kit.Sampler):
        def sample(self, requests: Any, spec: Any) -> Iterator[Rollout]:
            rows = list(super().sample(requests, spec))
            extra = {"twice": [rows[0]], "stranger": [kit.row(kit.prompts[0], 99)], "short": []}
            yield from rows[1:] if fault == "short" else rows
            yield from extra[fault]

    sink = kit.Sink()
    with pytest.raises(BoundaryError, match=r"not asked for|1 rows short"):
        generate(Faulty(), kit.prompts, 2, kit.spec, sink)
    assert len(sink.rows) == (7 if fault == "short" else 8)


def test_rows_are_written_in_parts(kit: Any) -> None:
    sink = kit.Sink()
    generate(kit.Sampler(), kit.prompts, 5, kit.spec, sink, flush_rows=6)
    assert sink.writes == [6, 6, 6, 2]
    sink = kit.Sink()
    generate(kit.Sampler(), kit.prompts, 2, kit.spec, sink, flush_s=0.0)
    assert sink.writes == [1] * 8


def test_progress_counts_what_was_there(kit: Any) -> None:
    sink, seen = kit.Sink(), list[Progress]()
    sink.add_rollouts([kit.row(kit.prompts[0], 0)])
    generate(kit.Sampler(), kit.prompts, 2, kit.spec, sink, on_progress=seen.append)
    assert seen[0].done == 2
    assert (seen[-1].done, seen[-1].total, seen[-1].tokens) == (8, 8, 14)


def test_what_cannot_be_meant_is_refused(kit: Any) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        generate(kit.Sampler(), kit.prompts, 0, kit.spec, kit.Sink())
    with pytest.raises(DataError, match=r"prompts\[4\] has the key"):
        generate(kit.Sampler(), [*kit.prompts, kit.prompts[0]], 1, kit.spec, kit.Sink())
