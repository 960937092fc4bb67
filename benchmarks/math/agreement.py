"""Row by row against what the tests of other graders assert; exit 1 on an unexplained difference.

    python benchmarks/math/agreement.py [--shared ../shared]

``differences.json`` beside this file names the kind of every known difference; docs/math-graders.md
explains the kinds.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks.math.stated import anywhere, required
from rewardable.tasks.math.verify import MathVerifier

HERE = Path(__file__).parent
FILES = ("math_verify_cases", "grader_cases_other", "trl_reward_cases", "olympiadbench")
BARE = ("hendrycks/math", "NVIDIA-NeMo/Skills")
VERIFIER = MathVerifier(percent="either")


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One asserted verdict. ``tolerance``: absolute, where the case states one."""

    id: str
    gold: str
    response: str
    expected: bool
    tolerance: str = ""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def cases(graders: Path, name: str) -> Iterator[Case]:
    """Yield the cases of a file; letter choices and rewards that are no verdict are left out."""
    if name == "olympiadbench":
        yield from _olympiadbench(graders / "olympiadbench_scoring_examples.json")
    else:
        for i, row in enumerate(rows(graders / f"{name}.jsonl")):
            case = _row(f"{name}:{i}", row)
            if case:
                yield case


def _row(name: str, row: dict[str, Any]) -> Case | None:
    if row.get("reward", "reasoning_accuracy") != "reasoning_accuracy" or row["expected"] is None:
        return None
    if row.get("match_types") == ["NativeLetters"] or row.get("gold") is None:
        return None
    text = str(row.get("pred", row.get("completion")))
    if row.get("repo") in BARE and "boxed" not in text:
        text = f"\\boxed{{{text}}}"
    return Case(id=name, gold=str(row["gold"]), response=text, expected=bool(row["expected"]))


def _olympiadbench(path: Path) -> Iterator[Case]:
    for i, row in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        for j, answer in enumerate(row["Ans"]):
            stated = answer.get("precision", "")
            single = stated[0] if isinstance(stated, list) and len(stated) == 1 else stated
            yield Case(
                id=f"olympiadbench:{i}.{j}",
                gold=row["GT"],
                response=f"\\boxed{{{answer['answer'].replace(chr(92) + 'boxed', '')}}}",
                expected=answer["equal"],
                tolerance="" if isinstance(single, list) else str(single),
            )


def reference(text: str) -> str:
    """Return the reference that a case means: some give a whole solution as the reference."""
    whole = "boxed" in text or (len(text) > 60 and " the " in text)
    return (anywhere(text, "box", required(text, "box")) or text) if whole else text


def verdict(case: Case) -> bool | None:
    facts = {"answer": reference(case.gold), "tolerance": case.tolerance}
    prompt = user_prompt("agreement", "1", "q", facts)
    found = VERIFIER.verify(prompt, Completion(text=case.response))
    return None if found.outcome is Outcome.UNGRADED else found.outcome is Outcome.CORRECT


def metric_rows(graders: Path) -> Iterator[tuple[str, bool]]:
    """Yield (id, agrees) of the metric cases: does the number of verdicts give the figure?"""
    for name in ("avg_at_k_math", "pass_at_k_math", "g_pass_at_k_math", "g_pass_at_k_latex"):
        path = graders / "lighteval_metric_cases" / f"{name}.json"
        for i, row in enumerate(json.loads(path.read_text(encoding="utf-8"))["test_cases"]):
            yield f"lighteval:{name}:{i}", _figure_agrees(row)


def _figure_agrees(row: dict[str, Any]) -> bool:
    k, texts = row["metric_params"]["k"], row["model_response"]["text"]
    n = row["metric_params"].get("n", k)
    n = min(n, len(texts)) if "g_pass" in row["metric_class"] else len(texts)
    gold = row["doc"]["choices"][0]
    asked = [Case(id="", gold=gold, response=text, expected=True) for text in texts]
    c = sum(verdict(case) is True for case in asked[:n])
    found = {
        "avg": c / n,
        "pass": 1 - comb(n - c, k) / comb(n, k),
        "g_pass": comb(c, k) / comb(n, k),
    }
    kind = row["metric_class"].partition("_at_k")[0]
    figures = row["expected_output"].items()
    wanted = next(value for key, value in figures if kind != "g_pass" or key.endswith("_1.0"))
    return abs(found[kind] - wanted) <= 0.01


def known() -> dict[str, str]:
    """Return case id -> kind of the difference."""
    kinds = json.loads((HERE / "differences.json").read_text(encoding="utf-8"))
    return {case: kind for kind, ids in kinds.items() for case in ids}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    graders = parser.parse_args().shared / "data" / "graders"
    explained, unexplained = known(), 0
    for name in FILES:
        tally: Counter[str] = Counter()
        for case in cases(graders, name):
            got = verdict(case)
            agrees = got is case.expected
            kind = "agrees" if agrees else explained.get(case.id, "UNEXPLAINED")
            tally[kind] += 1
            unexplained += kind == "UNEXPLAINED"
            if not agrees:
                end = case.response[-70:].replace("\n", " ")
                print(f"{case.id}: asserted {case.expected}, got {got}, {kind}: "
                      f"{case.gold[-60:]!r} / {end!r}")  # fmt: skip
        print(f"== {name}: {tally.total()} rows, {dict(tally)}")
    metric = list(metric_rows(graders))
    for case_id, agrees in metric:
        if not agrees:
            print(f"{case_id}: {explained.get(case_id, 'UNEXPLAINED')}")
            unexplained += case_id not in explained
    print(f"== lighteval: {len(metric)} figures, {sum(ok for _, ok in metric)} agree")
    raise SystemExit(int(unexplained > 0))


if __name__ == "__main__":
    main()
