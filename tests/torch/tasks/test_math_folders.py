"""Data sets in a folder, read with ``datasets``."""

import json

import pytest

from rewardable.errors import DataError
from rewardable.tasks import load_task


def test_a_folder_is_read_by_datasets(tmp_path):
    pytest.importorskip("datasets")
    rows = [{"problem": f"What is {i}+{i}?", "answer": 2 * i, "level": 1} for i in range(3)]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    task = load_task(f"math500:path={tmp_path}")
    assert sorted(prompt.facts["answer"] for prompt in task.prompts(3, 0)) == ["0", "2", "4"]
    with pytest.raises(DataError, match="cannot load"):
        load_task(f"gsm8k:path={tmp_path},split=train").prompts(1, 0)
