import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.errors import BoundaryError, ConfigError, DataError
from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks import load_task
from rewardable.tasks.answers import last_box, last_marked, last_tag
from rewardable.tasks.math import MathVerifier, compare
from rewardable.tasks.math.verify import REASONS, decide
from rewardable.tasks.numbers import last_number, lone_number, numbers_in


def verdict(gold, response, prompt="q", **options):
    made = user_prompt("t", "1", prompt, {"answer": gold})
    options = {"form": "hash"} | options
    return MathVerifier(**options).verify(made, Completion(text=response))


def test_reasoning_not_closed(cases):
    for row, expected in zip(
        cases["G03"]["input"]["rows"], cases["G03"]["expected"]["rows"], strict=True
    ):
        found = verdict("13", row["resp"], "q" + row.get("prompt_ends_with", ""))
        assert (found.outcome is Outcome.CORRECT) == expected.startswith("correct")
        if "not closed" in expected:
            assert found.reason == "reasoning not closed"


def test_gsm8k_model_solutions(shared_data):
    """1,200 answers whose verdicts are known."""
    path = shared_data / "data" / "math" / "gsm8k_example_model_solutions_first300.jsonl"
    verifier = load_task("gsm8k").verifier
    for line in path.read_text(encoding="utf-8").splitlines()[:100]:
        row = json.loads(line)
        prompt = user_prompt("t", "1", "q", {"answer": row["ground_truth"].rpartition("A:")[2]})
        for model in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"):
            found = verifier.verify(prompt, Completion(text=row[model]["solution"]))
            assert (found.outcome is Outcome.CORRECT) == row[model]["is_correct"]


@pytest.mark.parametrize(
    ("gold", "response", "reason"),
    [
        ("5", "#### 5", ""),
        ("5", "#### **5**", ""),
        ("5", "#### $5.00 dollars", ""),
        ("1250", "#### 1,250", ""),
        ("5/8", r"\boxed{\frac{5}{8}}", ""),
        ("4", r"\boxed{\sqrt{16}}", ""),
        ("5", r"\boxed{5 \text{ apples}}", ""),
        ("5", r"\boxed{x = 5}", ""),
        ("5", r"\boxed{10/2}", ""),
        ("37", r"\boxed{3, 7}", "another number of values"),
        ("125", r"\boxed{64, 125}", "another number of values"),
        ("125", r"\boxed{64}, \boxed{125}, \boxed{216}", "another number of values"),
        ("12", r"First \boxed{10}, no: \boxed{12}", ""),
        ("7", r"\boxed{7^{7^{7^{7^{7}}}}}", "wrong value"),
        ("3", r"\boxed{(10^{9})!}", "wrong value"),
        ("5", "five", "no complete boxed answer"),
        ("5", "#### ", "no complete boxed answer"),
    ],
)
def test_strict_answers(gold, response, reason):
    assert verdict(gold, response, policy="strict").reason == reason
    assert reason == "" or reason in REASONS


@pytest.mark.parametrize(
    ("gold", "response", "right"),
    [
        ("5", "The answer is 5. I added 2 and 3.", True),
        ("5", "2 + 3 = 5", True),
        ("3", "2 + 3 = 5", False),
        ("5", "Answer: five", False),
        ("5", "The answer is 5, or maybe 6.", False),
        ("5", "The answer is 5 dollars or 6 dollars.", False),
        ("34", "Final Answer: The largest $n$ is 34.", True),
        ("10", r"\boxed{9}. The final answer is $10$.", True),
        ("-3", "It is 2 - 5 = -3.", True),
        ("3", "8-5=3", True),
        ("0.5", "about .5", True),
    ],
)
def test_lenient_answers(gold, response, right):
    assert (verdict(gold, response).outcome is Outcome.CORRECT) == right


def test_percent_is_a_setting():
    assert verdict("35", "#### 35%").outcome is Outcome.WRONG
    assert verdict("35", "#### 35%", percent="either").outcome is Outcome.CORRECT
    assert verdict("0.35", "#### 35%", percent="either").outcome is Outcome.CORRECT


def test_labels_parts_and_names():
    found = verdict("6", "The total is 6.0")
    assert (found.labels, found.parts) == ({"answer": "6"}, {"format": 0.0, "answer": 1.0})
    missing = verdict("6", "none", policy="strict")
    assert (missing.labels, missing.parts) == ({}, {"format": 0.0, "answer": 0.0})
    assert MathVerifier(base="gsm8k", percent="either").name == "gsm8k-lenient-percent"


def test_a_right_answer_has_the_label_of_the_reference():
    spellings = (r"\boxed{\frac{x}{7}+\frac{2}{7}}", r"\boxed{\frac{2+x}{7}}")
    labels = {verdict(r"\frac{x+2}{7}", text).labels["answer"] for text in spellings}
    assert labels == {r"\frac{x+2}{7}"}


def test_soft_scores():
    soft = {"score": "soft", "form": "box"}
    assert verdict("1, 2", r"\boxed{2, 1}", **soft).score == 1.0
    part = verdict("1, 2", r"\boxed{1, 2, 3, 4}", **soft)
    assert (part.outcome, part.score) == (Outcome.WRONG, pytest.approx(0.1 + 0.9 / 2))
    assert verdict("1", r"\boxed{2}", **soft).score == pytest.approx(0.1)
    assert verdict("1", "The answer is 1.", **soft).score == pytest.approx(0.9)
    assert verdict("1", "no", **soft).score == 0.0
    assert MathVerifier(score="soft").name == "math-lenient-soft"


def test_a_failing_checker_is_ungraded(monkeypatch):
    def fail(gold, answer, budget):
        raise BoundaryError("Math-Verify", "RecursionError")

    monkeypatch.setattr(compare, "same_formula", fail)
    decide.cache_clear()
    found = verdict("5", r"\boxed{\frac{\sqrt{100}}{2}}")
    assert (found.outcome, found.reason) == (Outcome.UNGRADED, "Math-Verify: RecursionError")
    assert (found.score, found.parts) == (None, {"format": 1.0, "answer": None})
    decide.cache_clear()


def test_the_same_question_is_decided_once(monkeypatch):
    asked = []
    monkeypatch.setattr(
        compare, "same_formula", lambda gold, answer, budget: asked.append(answer) or True
    )
    decide.cache_clear()
    for text in (r"\boxed{\sqrt{25}}", r"so \boxed{\sqrt{25}}.", r"I see: \boxed{\sqrt{25}}"):
        assert verdict("5", text).outcome is Outcome.CORRECT
    assert asked == [r"\sqrt{25}"]
    decide.cache_clear()


def test_prompt_without_a_reference_is_ungraded():
    assert verdict("", "#### 5").outcome is Outcome.UNGRADED


def test_verdicts_do_not_depend_on_the_thread():
    rows = [("4", r"\boxed{\sqrt{16}}"), ("5", r"\boxed{\frac{10}{2}}"), ("5", "#### 4")] * 8
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(lambda row: verdict(*row), rows))
    assert threaded == [verdict(*row) for row in rows]


@settings(deadline=None)
@given(st.text("0123456789.,-−$%/eE{}\\ boxed#\nanswer is:", max_size=60))
def test_no_text_makes_it_raise(text):
    for policy in ("strict", "lenient"):
        for form in ("box", "hash"):
            assert verdict("5", text, policy=policy, form=form).verifier


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,250 and 12,34", ["1250", "12", "34"]),
        ("-7, −8, 5-3", ["-7", "-8", "5", "3"]),
        ("\\$385.00", ["385"]),
        ("1e3 v2 x2 3/4 2/0", ["1000", "3/4"]),
        ("35% 1{,}000", ["7/20", "1000"]),
        ("3.14.15", ["157/50"]),
    ],
)
def test_numbers_in_prose(text, values):
    assert [number.value for number in numbers_in(text)] == [Fraction(value) for value in values]


def test_last_and_lone_numbers():
    assert last_number("none") is None
    assert last_number("1 then 2").value == 2
    assert lone_number("1 then 2") is None


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"\boxed{\frac{5}{8}}", r"\frac{5}{8}"),
        (r"\boxed{1} \boxed{2", "1"),
        (r"\boxed{}", None),
        (r"\boxed form 24", None),
        (r"\boxed{\{1\}}", r"\{1\}"),
        (r"}} \fbox{ 3 }", "3"),
    ],
)
def test_boxes(text, content):
    assert last_box(text) == content


def test_tags_and_markers():
    assert last_tag("<answer>a</answer><answer>b") == "a"
    assert last_tag("a</answer>") is None
    assert last_marked("#### 4\n#### 5 \nbye") == "5"
    assert last_marked("####") is None


def test_gsm8k_reads_a_local_file(shared_data, tmp_path):
    path = shared_data / "data" / "math" / "gsm8k_test.jsonl"
    task = load_task(f"gsm8k:path={path}")
    prompts = task.prompts(20, 0)
    assert task.name == "gsm8k"
    assert task.prompts(5, 0) == prompts[:5]
    assert all(last_number(prompt.facts["answer"]) for prompt in prompts)
    right = Completion(text=f"so\n#### {prompts[0].facts['answer']}")
    assert task.verifier.verify(prompts[0], right).outcome is Outcome.CORRECT
    with pytest.raises(DataError, match="1319 problems"):
        task.prompts(2000, 0)


def test_gsm8k_file_mistakes(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        load_task(f"gsm8k:path={tmp_path / 'none.jsonl'}").prompts(1, 0)
    (tmp_path / "rows.jsonl").write_text('{"question": "q"}\n')
    with pytest.raises(DataError, match="row 0"):
        load_task(f"gsm8k:path={tmp_path / 'rows.jsonl'}").prompts(1, 0)


def test_word_problems():
    task = load_task("word-problems")
    prompts = task.prompts(200, 0)
    assert task.prompts(50, 0) == prompts[:50]
    assert len({prompt.key for prompt in prompts}) == 200
    assert {prompt.facts["difficulty"]["steps"] for prompt in prompts} == {1, 2}
    for prompt in prompts:
        right = Completion(text=f"It is {prompt.facts['answer']}.")
        assert task.verifier.verify(prompt, right).outcome is Outcome.CORRECT
    train = load_task("word-problems:split=train").prompts(200, 0)
    keys = [{prompt.facts["split_key"] for prompt in some} for some in (prompts, train)]
    assert not keys[0] & keys[1]
    one = load_task("word-problems:steps=1").prompts(30, 0)
    assert {prompt.facts["difficulty"]["steps"] for prompt in one} == {1}
    with pytest.raises(ConfigError, match="1-2"):
        load_task("word-problems:steps=3")
