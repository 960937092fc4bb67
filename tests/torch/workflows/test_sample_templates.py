"""One chat template for all policies of a run, unless told; and no policy under two names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rewardable.errors import DataError
from rewardable.workflows.config import RunConfig
from rewardable.workflows.sample import open_run, sample
from rewardable.workflows.sources import resolve_source

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

PLAIN = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
OTHER = "{% for m in messages %}={{ m['content'] }}{% endfor %}"
SMALL = {"task": "countdown-steps", "n": 2, "prompts": 3, "max_new_tokens": 8}


def policy(folder: Path, template: str, *, shift: float = 0.0) -> str:
    """Copy the pocket policy with a chat template and, by ``shift``, with other weights."""
    shutil.copytree(resolve_source("pocket"), folder)
    if template:
        (folder / "chat_template.jinja").write_text(template)
    if shift:
        file = folder / "model.safetensors"
        weights = safetensors.load_file(file)
        weights["model.norm.weight"] = weights["model.norm.weight"] + shift
        safetensors.save_file(weights, file, metadata={"format": "pt"})
    return str(folder)


def templates(path: Path, config: RunConfig) -> list[str]:
    run = open_run(path, config)
    report = sample(run, config)
    assert report.failed == 0
    return [found.template for found in run.policies()]


def test_trained_policies_get_the_template_of_the_base(tmp_path: Path) -> None:
    base = policy(tmp_path / "base", PLAIN)
    trained = policy(tmp_path / "trained", OTHER, shift=0.01)
    first, second = templates(tmp_path / "run", RunConfig(policies=(base, trained), **SMALL))
    assert first == second != "raw"

    own = RunConfig(policies=(base, trained), own_templates=True, **SMALL)
    first, second = templates(tmp_path / "own", own)
    assert first != second


def test_a_base_without_template_keeps_the_others_without(tmp_path: Path) -> None:
    base = policy(tmp_path / "base", "")
    trained = policy(tmp_path / "trained", OTHER, shift=0.01)
    config = RunConfig(policies=(base, trained), **SMALL)
    assert templates(tmp_path / "run", config) == ["raw", "raw"]


def test_one_policy_under_two_names_is_refused(tmp_path: Path) -> None:
    base, twin = policy(tmp_path / "base", ""), policy(tmp_path / "twin", "")
    config = RunConfig(policies=(base, twin), **SMALL)
    with pytest.raises(DataError, match="same policy"):
        sample(open_run(tmp_path / "run", config), config)
