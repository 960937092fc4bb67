from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from rewardable.errors import ConfigError
from rewardable.tasks import load_task, task_names
from rewardable.tasks.catalog import CATALOG
from rewardable.tasks.options import Span, configure, spec_of, split_spec


@dataclass(frozen=True, kw_only=True)
class Options:
    count: int = 3
    rate: float = 0.5
    on: bool = False
    path: str = ""
    folder: Path = Path()
    span: Span = field(default=Span(1, 2))
    mode: Literal["a", "b"] = "a"


@pytest.mark.parametrize("name", CATALOG)
def test_every_name_loads(name):
    assert load_task(name).name == name
    assert name in dict(task_names())


def test_options_are_read_by_type():
    _, options = split_spec("x:count=4,rate=1e-3,on=yes,path=/tmp/a.jsonl,span=3-5,mode=b")
    assert configure(Options, options, task="x") == Options(
        count=4, rate=1e-3, on=True, path="/tmp/a.jsonl", span=Span(3, 5), mode="b"
    )


def test_a_spec_can_be_written_back():
    config = Options(count=4, on=True, span=Span(7, 7))
    spec = spec_of("x", config)
    assert spec == "x:count=4,on=true,span=7"
    assert configure(Options, split_spec(spec)[1], task="x") == config
    assert spec_of("x", config, leave_out=("count", "span")) == "x:on=true"
    assert spec_of("x", Options()) == "x"


def test_user_modules():
    assert split_spec("my.module:attr") == ("my.module:attr", {})
    assert split_spec("my.module:attr:a=1") == ("my.module:attr", {"a": "1"})
    task = load_task("rewardable.tasks.countdown.config:CountdownSteps:numbers=4")
    assert task.name == "countdown-steps:numbers=4"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("countdwn", "Did you mean 'countdown'"),
        ("countdown:nubmers=4", "Did you mean 'numbers'"),
        ("countdown:numbers=x", "LOW-HIGH"),
        ("countdown:numbers=5-3", "LOW <= HIGH"),
        ("countdown:integers_only=maybe", "true or false"),
        ("countdown:min_solutions=many", "int"),
        ("countdown:style=step", "Did you mean 'steps'"),
        ("countdown:numbers", "KEY=VALUE"),
        ("countdown:split=all,split=test", "twice"),
        ("no.such.module:attr", "cannot load"),
        ("rewardable.tasks:nothing", "cannot load"),
        ("rewardable.tasks:load_task", "dataclass"),
    ],
)
def test_mistakes_are_config_errors(spec, message):
    with pytest.raises(ConfigError, match=message):
        load_task(spec)
