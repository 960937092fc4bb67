from __future__ import annotations

from typing import Any

import pytest

from rewardable.workflows.regrade import facts_of


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("She sells 9 eggs. #### 18", {"answer": "18"}),
        ("18", {"answer": "18"}),
        (18, {"answer": "18"}),
        (["18"], {"answer": "18"}),
        (["18", "19"], {}),
        (None, {}),
        ({"target": 24, "numbers": [4, 6]}, {"target": 24, "numbers": [4, 6]}),
        ('{"target": 24, "numbers": [4, 6]}', {"target": 24, "numbers": [4, 6]}),
        ("{1, 2}", {"answer": "{1, 2}"}),
    ],
)
def test_references_of_dumps_as_facts(answer: Any, facts: dict[str, Any]) -> None:
    assert facts_of({"answer": answer}) == facts
    assert facts_of({"answer": answer, "level": 3}) == {**facts, "level": 3}


def test_a_prompt_without_a_reference() -> None:
    assert facts_of({}) == {}
