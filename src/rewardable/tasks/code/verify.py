"""Judge a program by its unit tests: the share that passes is the score, all of them is CORRECT."""

from __future__ import annotations

from dataclasses import dataclass

from rewardable.errors import BoundaryError
from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks.answers import after_reasoning, prompt_opens_reasoning
from rewardable.tasks.code.box.jail import Limits
from rewardable.tasks.code.extract import program_of, prompt_of
from rewardable.tasks.code.sandbox import CodeTests, Report, run_tests

VERSION = "1"

REASONS = {
    "reasoning not closed": "a <think> block is open at the end of the response",
    "no code": "no fenced block defines the function, and nothing else does",
    "does not load": "the program raises before the function can be called",
    "timeout": "the tests had not ended within the time limit; those still to come count as failed",
    "memory": "the solution's processes held more memory than allowed",
    "tests failed": "some test did not pass",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeVerifier:
    """Judges by the facts ``tests``, ``entry_point`` and ``code`` (what the prompt defines).

    Parts: ``tests`` (share passed), ``loads``. Labels: ``isolation``, the walls that stood.
    require: walls without which nothing is run (then the verdict is UNGRADED).
    in_place: what a call does to its arguments comes back to the tests.
    """

    base: str = "code"
    timeout_s: float = 5.0
    memory_mb: int = 512
    require: tuple[str, ...] = ("network",)
    in_place: bool = False
    version: str = VERSION

    @property
    def name(self) -> str:
        """``code``, or the name of the benchmark."""
        return self.base

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; UNGRADED when the sandbox gives no report."""
        entry_point, tests = prompt.facts.get("entry_point"), prompt.facts.get("tests")
        if not entry_point or not tests:
            return self._without(Outcome.UNGRADED, "prompt without tests in its facts")
        text = after_reasoning(completion.text, opened=prompt_opens_reasoning(prompt.text))
        if text is None:
            return self._without(Outcome.WRONG, "reasoning not closed")
        code = str(prompt.facts.get("code", ""))
        program = program_of(text, str(entry_point), code)
        if program is None:
            return self._without(Outcome.WRONG, "no code")
        told = CodeTests(
            tests=str(tests),
            entry_point=str(entry_point),
            setup=prompt_of(code),
            in_place=self.in_place,
        )
        limits = Limits(wall_s=self.timeout_s, memory_mb=self.memory_mb)
        try:
            return self._judged(run_tests(program, told, limits=limits, require=self.require))
        except BoundaryError as error:
            return self._without(Outcome.UNGRADED, str(error)[:200])

    def _judged(self, report: Report) -> Verdict:
        share = report.passed / report.units
        passed = report.passed == report.units
        reason = "" if passed else _reason(report)
        return Verdict(
            outcome=Outcome.CORRECT if passed else Outcome.WRONG,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=share,
            parts={"tests": share, "loads": float(report.loaded)},
            labels={"isolation": "+".join(report.walls) or "limits alone"},
        )

    def _without(self, outcome: Outcome, reason: str) -> Verdict:
        return Verdict(
            outcome=outcome,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=0.0 if outcome is Outcome.WRONG else None,
        )


def _reason(report: Report) -> str:
    if report.end != "done":
        return report.end
    return "tests failed" if report.loaded else "does not load"
