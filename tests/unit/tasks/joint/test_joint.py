"""Joint verdicts: outcomes, parts, MathIF, ReasonIF and any two tasks."""

import itertools
import pickle
from dataclasses import dataclass, field

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.records import Completion, Outcome, Verdict, user_prompt
from rewardable.tasks import load_task
from rewardable.tasks.joint import Half, JointVerifier, joint

C, W, U = Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED
PART = {C: 1.0, W: 0.0, U: None}


@dataclass(frozen=True)
class Says:
    outcome: Outcome
    score: float | None = None
    labels: dict = field(default_factory=dict)
    name: str = "says"
    version: str = "3"

    def verify(self, prompt, completion):
        return Verdict(outcome=self.outcome, verifier=self.name, version=self.version, reason="why",
                       score=self.score, parts={"own": 0.5}, labels=self.labels)  # fmt: skip


class Crashes:
    name, version = "crashes", "1"

    def verify(self, prompt, completion):
        raise RuntimeError("broken\nmore")


def pair(a, b, **options):
    halves = {
        "first": Half(part="first", verifier=a),
        "second": Half(part="second", verifier=b),
    }
    verifier = JointVerifier(base="t", **halves, **options)
    return verifier.verify(user_prompt("t", "1", "q"), Completion(text="x"))


@pytest.mark.parametrize(("a", "b"), list(itertools.product((C, W, U), repeat=2)))
def test_outcome_and_marginals(a, b):
    found = pair(Says(a), Says(b))
    expected = W if W in (a, b) else U if U in (a, b) else C
    assert found.outcome is expected
    assert (found.parts["first"], found.parts["second"]) == (PART[a], PART[b])
    assert found.parts["first.own"] == found.parts["second.own"] == 0.5
    assert found.score == PART[expected]
    assert (found.reason == "") == (expected is C)


def test_a_verifier_that_raises_leaves_its_side_open():
    found = pair(Crashes(), Says(W))
    assert (found.outcome, found.parts["first"]) == (W, None)
    found = pair(Says(C), Crashes())
    assert (found.outcome, found.reason) == (U, "second: RuntimeError: broken")
    assert found.score is None


def test_soft_score_weighs_the_sides():
    assert pair(Says(W, 0.2), Says(C, 1.0), score="soft", weight=0.75).score == pytest.approx(0.4)
    assert pair(Says(W), Says(C), score="soft", weight=0.75).score == pytest.approx(0.25)
    assert pair(Says(W), Says(U, 0.9), score="soft").score is None
    assert pair(Says(W), Says(C)).score == 0.0
    with pytest.raises(ConfigError, match="weight"):
        pair(Says(W), Says(C), weight=1.5)


def test_labels_keep_both_sides():
    found = pair(Says(C, labels={"answer": "5"}), Says(C, labels={"answer": "6", "route": "x"}))
    assert found.labels == {"answer": "5", "second.answer": "6", "route": "x"}


def test_any_two_tasks_by_name():
    task = load_task("joint:a=word-problems,b=constraints:each=1,weight=0.25,score=soft")
    assert task.name == "joint:b=constraints:each=1"
    prompts = task.prompts(30, 1)
    assert len({prompt.key for prompt in prompts}) == 30
    assert task.prompts(5, 1) == prompts[:5]
    plain = load_task("constraints:each=1").prompts(5, 1)
    assert all(a.text.endswith(b.text) for a, b in zip(prompts, plain, strict=False))
    comma = next(p for p in prompts if "comma" in p.text)
    answer = comma.facts["first"]["answer"]
    right = task.verifier.verify(comma, Completion(text=f"It is so\n#### {answer}"))
    assert (right.outcome, right.score) == (C, 1.0)
    partly = task.verifier.verify(comma, Completion(text=f"So, it is\n#### {answer}"))
    assert (partly.outcome, partly.score) == (W, 0.25)
    assert (partly.parts["first"], partly.parts["second"]) == (1.0, 0.0)


def test_two_verifiers_on_the_prompts_of_the_first():
    task = load_task("joint:a=routes-math,b=routes-math:policy=lenient,shown=first")
    prompt = task.prompts(1, 0)[0]
    assert prompt.text == load_task("routes-math").prompts(1, 0)[0].text
    assert prompt.facts["totals"] == prompt.facts["first"]["totals"]
    value = prompt.facts["first"]["answer"]
    assert task.verifier.verify(prompt, Completion(text=value)).outcome is C


def test_a_pair_of_own_tasks():
    a, b = load_task("word-problems"), load_task("constraints")
    task = joint(a, b, name="mine")
    assert (task.name, task.prompts(1, 0)[0].task) == ("mine", "mine")
    assert joint(a, b).name == "joint(word-problems, constraints)"


@pytest.mark.parametrize("spec", ["joint", "mathif", "reasonif", "ifeval:mode=loose"])
def test_verifiers_go_to_other_processes(spec):
    verifier = load_task(spec).verifier
    copy = pickle.loads(pickle.dumps(verifier))
    assert (copy.name, copy.version) == (verifier.name, verifier.version)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("joint:a=joint", "not joint themselves"),
        ("joint:a=nothing", "unknown task"),
        ("joint:a=constraints:each=9", "1-4"),
        ("joint:weight=2", "weight"),
    ],
)
def test_pairs_that_cannot_be_meant(spec, message):
    with pytest.raises(ConfigError, match=message):
        load_task(spec)


@pytest.fixture(scope="module")
def mathif(shared_data):
    task = load_task(f"mathif:path={shared_data / 'data' / 'mathif'}")
    return task, task.prompts(420, 0)


def test_mathif_reads_every_row(mathif):
    task, prompts = mathif
    assert len({prompt.key for prompt in prompts}) == 420
    with pytest.raises(DataError, match="420 prompts, 421"):
        task.prompts(421, 0)
    for prompt in prompts[::7]:
        gold = f"Thus \\boxed{{{prompt.facts['answer']}}}"
        found = task.verifier.verify(prompt, Completion(text=gold))
        assert found.parts["answer"] == 1.0
        assert found.parts["constraint"] in (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "answer", "constraint"),
    [
        ("<think>No, NOT.</think>THE ANSWER TO THIS QUESTION IS \\BOXED{902}", 1.0, 1.0),
        ("THE ANSWER TO THIS QUESTION IS \\BOXED{903}", 0.0, 1.0),
        ("The answer is \\boxed{902}", 1.0, 0.0),
        ("The answer is \\boxed{901}", 0.0, 0.0),
        ("<think>\\boxed{902}", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_mathif_needs_both(mathif, text, answer, constraint):
    task, _ = mathif
    facts = {"answer": "902", "instructions": ["change_case:english_capital"]}
    prompt = user_prompt("mathif", "1", "q", facts)
    found = task.verifier.verify(prompt, Completion(text=text))
    assert (found.parts["answer"], found.parts["constraint"]) == (answer, constraint)
    assert (found.outcome is C) == (answer == constraint == 1.0)


@pytest.fixture(scope="module")
def reasonif(shared_data):
    path = shared_data / "data" / "reasonif" / "reasonIF_dataset_without_gpqa.json"
    task = load_task(f"reasonif:path={path}")
    return task, task.prompts(227, 0)


def test_reasonif_reads_every_row(reasonif):
    task, prompts = reasonif
    assert len({prompt.key for prompt in prompts}) == 227
    kinds = {(prompt.facts["source"] == "arc", prompt.facts["kind"]) for prompt in prompts}
    assert kinds == {(True, "choice"), (False, "number")}
    for prompt in prompts[::5]:
        gold = f"<think>x</think><answer>{prompt.facts['answer']}</answer>"
        assert task.verifier.verify(prompt, Completion(text=gold)).parts["answer"] == 1.0


@pytest.mark.parametrize(
    ("gold", "kind", "text", "answer", "constraint"),
    [
        ("081", "number", "<think>no mark</think>So, <answer>81</answer>", 1.0, 1.0),
        ("81", "number", "<think>a, b</think><answer>81</answer>", 1.0, 0.0),
        ("81", "number", "no mark <answer>\\boxed{82}</answer>", 0.0, 1.0),
        ("81", "number", "<think>no mark</think>The answer is 81.", 1.0, 1.0),
        ("81", "number", "<answer>81</answer>", 1.0, 0.0),
        ("81", "number", "<think>no mark 81", 0.0, 0.0),
        ("1000", "number", "x <answer>1,000</answer>", 1.0, 1.0),
        ("B", "choice", "x <answer>(b) because</answer>", 1.0, 1.0),
        ("B", "choice", "x <answer>Both</answer>", 0.0, 1.0),
        ("B", "choice", "<think>x</think>The answer is B.", 1.0, 1.0),
        ("B", "choice", "<think>x</think>Banana", 0.0, 1.0),
    ],
)
def test_reasonif_judges_the_reasoning_and_the_answer(
    reasonif, gold, kind, text, answer, constraint
):
    facts = {"answer": gold, "kind": kind, "instructions": ["punctuation:no_comma"]}
    prompt = user_prompt("reasonif", "1", "q", facts)
    found = reasonif[0].verifier.verify(prompt, Completion(text=text))
    assert (found.parts["answer"], found.parts["constraint"]) == (answer, constraint)


def test_reasonif_strict_wants_the_tag(shared_data):
    verifier = load_task("reasonif:policy=strict").verifier
    facts = {"answer": "81", "kind": "number", "instructions": ["punctuation:no_comma"]}
    prompt = user_prompt("reasonif", "1", "q", facts)
    found = verifier.verify(prompt, Completion(text="<think>x</think>The answer is 81."))
    assert (found.parts["answer"], found.reason) == (0.0, "answer: no answer")
