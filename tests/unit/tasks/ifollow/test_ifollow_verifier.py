"""Modes, parts, scopes and prompts of the instruction tasks."""

import json

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks import load_task
from rewardable.tasks.ifollow import InstructionVerifier
from rewardable.tasks.ifollow.language import language_of
from rewardable.tasks.ifollow.loose import variants
from rewardable.tasks.ifollow.sentences import sentences
from rewardable.tasks.ifollow.words import bare, runs, stripped, tokens, worded

COMMA, TITLE = "punctuation:no_comma", "detectable_format:title"


def judge(text, *names, question="q", **options):
    prompt = user_prompt("t", "1", question, {"instructions": list(names)})
    return InstructionVerifier(**options).verify(prompt, Completion(text=text))


def test_parts_reason_and_score():
    found = judge("Here, it is:\n<<T>> no mark", COMMA, TITLE, score="soft")
    assert found.parts == {"strict": 0.0, "loose": 1.0, COMMA: 0.0, TITLE: 1.0}
    assert (found.outcome, found.reason) == (Outcome.WRONG, f"not followed: {COMMA}")
    assert found.score == 0.5
    loose = judge("Here, it is:\n<<T>> no mark", COMMA, TITLE, mode="loose")
    assert loose.parts == {"strict": 0.0, "loose": 1.0, COMMA: 1.0, TITLE: 1.0}
    assert (loose.outcome, loose.reason, loose.score) == (Outcome.CORRECT, "", 1.0)


def test_names_tell_verifiers_apart():
    options = [{}, {"mode": "loose"}, {"scope": "reasoning"}, {"score": "soft"}, {"base": "x"}]
    assert len({InstructionVerifier(**one).name for one in options}) == len(options)


def test_variants_leave_out_lines_and_stars():
    assert list(variants("a\n*b*\nc")) == [
        "*b*\nc",
        "a\n*b*",
        "*b*",
        "a\nb\nc",
        "b\nc",
        "a\nb",
        "b",
    ]


@pytest.mark.parametrize(
    ("text", "scope", "parts"),
    [
        ("<think>a, b</think>\n\nplain", "response", 1.0),
        ("<think>plain</think> a, b", "response", 0.0),
        ("<think>plain</think> a, b", "reasoning", 1.0),
        ("a, b</think> plain", "reasoning", 0.0),
        ("plain <answer>a, b</answer>", "reasoning", 1.0),
        ("<think> </think> plain", "reasoning", 0.0),
        ("<answer>5</answer>", "reasoning", 0.0),
        ("plain", "reasoning", 1.0),
        ("<think>plain", "response", 0.0),
        ("<think>plain", "reasoning", 0.0),
    ],
)
def test_scope(text, scope, parts):
    assert judge(text, COMMA, scope=scope).parts[COMMA] == parts


def test_an_opening_tag_in_the_prompt_counts():
    open_prompt = "q\n<think>"
    assert judge("plain", COMMA, question=open_prompt).reason == "reasoning not closed"
    closed = judge("a, b</think>plain", COMMA, question=open_prompt)
    assert closed.outcome is Outcome.CORRECT


def test_facts_without_instructions_are_an_error():
    with pytest.raises(ConfigError, match="instructions"):
        judge("x")
    prompt = user_prompt("t", "1", "q", {"instructions": [COMMA], "kwargs": [{}, {}]})
    with pytest.raises(ConfigError, match="1 and 2"):
        InstructionVerifier().verify(prompt, Completion(text="x"))


def test_published_prompts(shared_data):
    path = shared_data / "data" / "ifeval" / "ifeval_input_data.jsonl"
    task = load_task(f"ifeval:path={path}")
    prompts = task.prompts(541, 0)
    assert len({prompt.key for prompt in prompts}) == 541
    assert task.prompts(20, 0) == prompts[:20] != task.prompts(20, 1)
    bench = load_task(f"ifbench:path={shared_data / 'data' / 'ifbench' / 'IFBench_test.jsonl'}")
    assert len(bench.prompts(294, 0)) == 294
    with pytest.raises(DataError, match=r"294 prompts \(6 with words:start_verb left out\), 295"):
        bench.prompts(295, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"instruction_id_list": ["made_up:rule"]}, "row 1 of ifeval.*made_up:rule"),
        ({"kwargs": [{"words": 3}]}, "row 1 of ifeval.*unknown parameter"),
        ({"kwargs": []}, "row 1 of ifeval"),
        ({"prompt": None, "kwargs": None}, "row 1 of ifeval"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path, change, message):
    good = {"prompt": "q", "instruction_id_list": [COMMA], "kwargs": [{"num_words": None}]}
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, [good, {**good, "prompt": "r", **change}])))
    with pytest.raises(DataError, match=message):
        load_task(f"ifeval:path={path}").prompts(1, 0)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="there is no"):
        load_task(f"ifeval:path={tmp_path / 'none.jsonl'}").prompts(1, 0)
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(DataError, match="one object a line"):
        load_task(f"ifeval:path={tmp_path / 'bad.jsonl'}").prompts(1, 0)


def test_constraints_are_distinct_and_checkable():
    task = load_task("constraints")
    prompts = task.prompts(400, 3)
    assert len({prompt.text for prompt in prompts}) == 400
    assert task.prompts(50, 3) == prompts[:50]
    kinds = {name for prompt in prompts for name in prompt.facts["instructions"]}
    assert len(kinds) == 11
    for prompt in prompts[:50]:
        task.verifier.verify(prompt, Completion(text="some text"))
    assert load_task("constraints:each=3").name == "constraints:each=3"
    with pytest.raises(ConfigError, match="1-4"):
        load_task("constraints:each=5")
    with pytest.raises(DataError, match="larger `each`"):
        load_task("constraints:each=1").prompts(1500, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Q saw J. Smith in the U.S. in May. He left.", 2),
        ('He said "no." Then (at last!) he left… quietly', 4),
        ("Use example.com, e.g. at 3.14 or i.e. now.", 1),
        ("One.Two. Three", 2),
        ("What?! No... Yes!!! \n\n . . ", 3),
        ("これは文です。二つ目です。", 2),
        ("1. Alpha beta.\n2. gamma delta.", 3),
        ("", 0),
        (" \n ", 0),
    ],
)
def test_sentences(text, expected):
    assert len(sentences(text)) == expected


def test_words():
    assert runs("don't stop_it") == ["don", "t", "stop_it"]
    assert bare("don't - stop") == ["dont", "stop"]
    assert stripped("(don't) - stop.") == ["don't", "stop"]
    assert tokens("I can't, U.S. end.") == ["I", "ca", "n't", ",", "U.S.", "end", "."]
    assert worded("I cannot (really) say 'so'.") == ["I", "can", "not", "really", "say", "so"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("This is a plain English sentence about nothing.", "en"),
        ("Dies ist ein schlichter deutscher Satz über nichts.", "de"),
        ("यह हिन्दी में लिखा हुआ एक सरल वाक्य है।", "hi"),
        ("12345 ?!", None),
    ],
)
def test_language(text, code):
    assert language_of(text) == code
