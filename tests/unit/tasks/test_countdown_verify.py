import json
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks.countdown import CountdownVerifier, canonical, entry, solve
from rewardable.tasks.countdown.verify import REASONS, judge_expression, judge_steps

FACTS = {"numbers": [4, 7, 9, 5], "target": 94}


def verdict(response, facts=FACTS, prompt="q", **options):
    made = user_prompt("countdown", "1", prompt, facts)
    return CountdownVerifier(**options).verify(made, Completion(text=response))


EXPRESSIONS = [
    ("(4+7)*9-5", ""),
    ("(4 + 7) × 9 − 5", ""),
    ("(4+7)·9–5", ""),
    ("(4+7) x 9 - 5", ""),
    (r"\left(4+7\right) \times 9 - 5", ""),
    ("（4＋7）∗9－5", ""),
    ("(4+7)*9-5 = 94", ""),
    ("(4+7)*9-5=94.", ""),
    ("**(4+7)*9-5**", ""),
    ("`(4+7)*9-5`", ""),
    (r"\boxed{(4+7)*9-5}", ""),
    (r"$\boxed{(4+7)*9-5}$", ""),
    ("((((4)+(7))*9)-5)", ""),
    ("(4+7)*9-5 = 95", "wrong stated value"),
    ("(4+7)*9-5 = 99-5 = 94", "not an expression"),
    ("94 = (4+7)*9-5", "number not given"),
    ("(4+7)*9-5 or 4*7", "not an expression"),
    ("(4+7)*9-5, 9*(7+4)-5", "not an expression"),
    ("(4+7)*9", "number missing"),
    ("(4+7)*9-5-5", "number reused"),
    ("(4+7)*9-6", "number not given"),
    ("(4+7)*9+5", "wrong value"),
    ("(4+7)(9-5)", "missing operator"),
    ("(4+7)*9 5", "missing operator"),
    ("-5+(4+7)*9", "unary sign"),
    ("+4", "unary sign"),
    ("(4+7)*9-", "not an expression"),
    ("*4", "not an expression"),
    ("", "not an expression"),
    ("()", "not an expression"),
    ("((4+7)*9-5", "unbalanced brackets"),
    ("(4+7))*9-5", "unbalanced brackets"),
    ("4**7", "power"),
    ("4^7", "power"),
    ("9//4", "integer division"),
    ("9%4", "remainder"),
    ("4.7*9", "decimal"),
    ("4!", "not an expression"),
    ("٤+7", "not an expression"),
    ("9" * 5000, "too long"),
    ("9" * 900, "number not given"),
    ("(" * 400 + "4" + ")" * 400, "number missing"),
    ("4/(9-5-7)", "wrong value"),
]


@pytest.mark.parametrize(("answer", "reason"), EXPRESSIONS)
def test_expression_outcomes(answer, reason):
    assert judge_expression(answer, [4, 7, 9, 5], 94).reason == reason


def test_division_by_zero():
    assert judge_expression("4/(5-5)", [4, 5, 5], 1).reason == "division by zero"


def test_latex_fractions():
    assert judge_expression(r"\frac{4+8}{3}", [3, 4, 8], 4).reason == ""
    assert judge_expression(r"\frac{\frac{8}{4}}{2}", [2, 4, 8], 1).reason == ""
    assert judge_expression(r"\frac{4+8}", [4, 8], 4).reason == "not an expression"
    assert judge_expression(r"\frac{4}{8", [4, 8], 4).reason == "unbalanced brackets"
    assert judge_expression(r"\frac48", [4, 8], 4).reason == "not an expression"


def test_integers_only():
    assert judge_expression("9/4*8", [4, 8, 9], 18).reason == ""
    assert judge_expression("9/4*8", [4, 8, 9], 18, integers_only=True).reason == (
        "not an integer step"
    )
    assert judge_expression("9*8/4", [4, 8, 9], 18, integers_only=True).reason == ""


STEPS = [
    ("4*7=28,28-9=19", ""),
    ("4*7=28,28-9=19,", "not a step"),
    ("4*7=28, 28-9=19", "not a step"),
    (" 4*7=28,28-9=19", "not a step"),
    ("4×7=28,28-9=19", "not a step"),
    ("04*7=28,28-9=19", "not a step"),
    ("4*7=28", "number missing"),
    ("4*7=28,28-9=19,19+4=23", "number not available"),
    ("4*7=27,27-8=19", "wrong step result"),
    ("4*7=28,28+9=37", "wrong value"),
    ("4-4=0,0+7=7", "number not available"),
    ("9/0=1", "division by zero"),
    ("7/4=(7/4)", "not a step"),
    ("4-7=-3", "not a step"),
    ("4*7=28,28-9=19\n", "not a step"),
    ("1" * 2000, "too long"),
]


@pytest.mark.parametrize(("answer", "reason"), STEPS)
def test_pocket_step_outcomes(answer, reason):
    assert judge_steps(answer, [4, 7, 9], 19).reason == reason


WIDE_STEPS = [
    ("4 × 7 = 28, 28 − 9 = 19", ""),
    ("4*7=28; 28-9=19.", ""),
    ("4*7=28\n28-9=19", ""),
    ("4-9=-5,(-5)*7=(-35)", "wrong value"),
    ("4/9=(4/9),7/(4/9)=(63/4)", "wrong value"),
    ("4/9=4/9,7/(4/9)=15", "wrong step result"),
    ("4/9=(4/0),7-9=2", "not a step"),
    ("the steps are 4*7=28", "not a step"),
]


@pytest.mark.parametrize(("answer", "reason"), WIDE_STEPS)
def test_lenient_step_outcomes(answer, reason):
    judged = judge_steps(answer, [4, 7, 9], 19, policy="lenient", rationals=True)
    assert judged.reason == reason


def test_every_reason_is_documented_and_reachable():
    seen = {reason for _, reason in (*EXPRESSIONS, *STEPS, *WIDE_STEPS)} - {""}
    elsewhere = {
        "no answer",
        "reasoning not closed",
        "division by zero",
        "not an integer step",
        "no division",
        "wrong start",
    }
    assert seen | elsewhere == set(REASONS)


@pytest.mark.parametrize(
    ("response", "policy", "reason"),
    [
        ("<answer>(4+7)*9-5</answer>", "strict", ""),
        ("It is <answer>\n(4+7)*9-5\n</answer>\nDone.", "strict", ""),
        ("<answer>4</answer> no, <answer>(4+7)*9-5</answer>", "strict", ""),
        ("<answer>(4+7)*9-5</answer> or <answer>4</answer>", "strict", "number missing"),
        ("<answer>(4+7)*9-5</answer> and <answer>4+", "strict", ""),
        ("as in <answer>(1 + 2) / 3</answer>", "strict", "number not given"),
        (r"\boxed{(4+7)*9-5}", "strict", "no answer"),
        (r"\boxed{(4+7)*9-5}", "lenient", ""),
        ("So the answer is: (4+7)*9-5 = 94.\n", "lenient", ""),
        ("(4+7)*9-5", "lenient", ""),
        ("(4+7)*9-5", "strict", "no answer"),
        ("<think>(4+7)*9-5", "lenient", "reasoning not closed"),
        ("hm</think><answer>(4+7)*9-5</answer>", "strict", ""),
        ("<think>a</think><think><answer>(4+7)*9-5</answer>", "strict", "reasoning not closed"),
        ("", "lenient", "no answer"),
        ("</answer><answer>", "strict", "no answer"),
        ("<answer></answer>", "strict", "no answer"),
    ],
)
def test_where_the_answer_stands(response, policy, reason):
    found = verdict(response, policy=policy)
    assert found.reason == reason
    assert found.outcome is (Outcome.WRONG if reason else Outcome.CORRECT)


def test_prompt_that_opens_the_reasoning():
    found = verdict("<answer>(4+7)*9-5</answer>", prompt="q <think>\n")
    assert found.reason == "reasoning not closed"


def test_labels():
    right = verdict("<answer>(7+4)*9-5</answer>")
    assert right.labels == {"entry": "7+", "solution": canonical("(4+7)*9-5")}
    assert right.score == 1.0
    wrong = verdict("<answer>9*7+1</answer>")
    assert (wrong.labels, wrong.score) == ({"entry": "9*"}, 0.0)
    assert verdict("<answer>so</answer>").labels == {}


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("4*7=28,28-9=19", "4*"),
        ("((4) + 7)*9", "4+"),
        ("12 ÷ 3", "12/"),
        ("4**7", None),
        ("4//7", None),
        ("-4+7", None),
        ("", None),
        ("4", None),
    ],
)
def test_entry(text, family):
    assert entry(text) == family


def test_rules():
    facts = {"numbers": [8, 4, 2], "target": 4, "start": 8}
    steps = {"style": "steps", "rule": "division"}
    assert verdict("8/4=2,2*2=4", facts, **steps).outcome is Outcome.CORRECT
    facts = {"numbers": [8, 2, 2], "target": 4, "start": 8}
    assert verdict("8-2=6,6-2=4", facts, **steps).reason == "no division"
    assert "solution" not in verdict("8-2=6,6-2=4", facts, **steps).labels
    start = {"style": "steps", "rule": "start"}
    assert verdict("8-2=6,6-2=4", facts, **start).outcome is Outcome.CORRECT
    assert verdict("2+2=4,8-4=4", facts, **start).reason == "wrong start"


def test_names_say_what_changes_verdicts():
    assert CountdownVerifier().name == "countdown"
    named = CountdownVerifier(style="steps", policy="lenient", rule="division", integers_only=True)
    assert named.name == "countdown-steps-lenient-integers-division"


def test_prompt_without_an_instance_is_ungraded():
    assert verdict("<answer>4</answer>", facts={}).outcome is Outcome.UNGRADED


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=4), st.integers(1, 40))
def test_every_solution_is_accepted(numbers, target):
    for solution in solve(numbers, target):
        found = verdict(f"<answer>{solution.text}</answer>", {"numbers": numbers, "target": target})
        assert found.labels["solution"] == solution.text
        assert found.labels["entry"] in solution.entries


@settings(max_examples=300, deadline=None)
@given(
    st.text("0123456789+-*/()=,.^{}\\frac <think>answer×÷ \n", max_size=60),
    st.sampled_from(["expression", "steps"]),
    st.sampled_from(["strict", "lenient"]),
)
def test_no_text_makes_it_raise(text, style, policy):
    for response in (text, f"<answer>{text}</answer>"):
        found = verdict(response, style=style, policy=policy)
        assert found.reason in REASONS or found.outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    "bomb",
    [
        "(" * 10**6,
        "<answer>" * 10**5,
        "\\boxed{" * 10**5,
        "<answer>" + "{" * 900 + "</answer>",
        "<answer>" + "9" * 10**6 + "</answer>",
        "\\frac{" * 150,
        " " * 10**6,
        "4*" * 10**6,
        "<answer>" + "**" * 450 + "</answer>",
    ],
    ids=range(9),
)
def test_bombs_are_judged_in_linear_time(bomb):
    for style in ("expression", "steps"):
        start = time.perf_counter()
        assert verdict(bomb, style=style, policy="lenient").outcome is Outcome.WRONG
        assert time.perf_counter() - start < 1.0


@pytest.mark.parametrize("case_id", ["C01", "C03", "C04", "C06"])
def test_reported_cases(cases, case_id, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = cases[case_id]
    for row, expected in zip(case["input"]["rows"], case["expected"]["rows"], strict=True):
        nest = "<answer>" + "(" * 5000 + "3*4" + ")" * 5000 + "</answer>"
        facts = {"numbers": row["numbers"], "target": row["target"]}
        prompt = case["input"].get("prompt", "q")
        found = verdict(row.get("resp", nest), facts, prompt=prompt)
        outcome = "correct" if found.outcome is Outcome.CORRECT else "incorrect"
        assert outcome in expected.split(",")[0].split(" or ")
    assert list(tmp_path.iterdir()) == []


def test_reasoning_gym_cases(shared_data):
    path = shared_data / "data" / "countdown" / "countdown_cases_reasoning_gym.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 4
    for row in rows:
        judged = judge_expression(row["answer"], row["numbers"], row["target"])
        assert (judged.reason == "") == row["correct"]


def test_llada_generations(shared_data):
    """Real text. CORRECT means: the numbers as given, the value by plain evaluation."""
    counts = {"strict": Counter(), "lenient": Counter()}
    for shard in (0, 1):
        path = shared_data / "data" / "countdown" / f"countdown_llada8b_generations_{shard}.json"
        for row in json.loads(path.read_text())["generations"]:
            numbers, target = row["ground_truth"]
            facts = {"numbers": numbers, "target": target}
            for policy, count in counts.items():
                found = verdict(row["generations"], facts, policy=policy)
                count[found.outcome] += 1
                assert found.reason in REASONS or found.labels["solution"] in {
                    solution.text for solution in solve(numbers, target)
                }
    assert counts["strict"] == {Outcome.CORRECT: 10, Outcome.WRONG: 64}
    assert counts["lenient"][Outcome.CORRECT] >= 10
