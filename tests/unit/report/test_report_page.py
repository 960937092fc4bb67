"""The page: what it shows, what it must not do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.measure import MeasureConfig, measure_run
from rewardable.report import figure_svg, render_report, report_html, write_figure
from rewardable.report.text import visible
from rewardable.results import Example, Table


class Page(HTMLParser):
    """Counts elements, collects text and the data block."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.block = ""
        self._in_script = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.block += data
        else:
            self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


@pytest.fixture(scope="module")
def tables(fake: ModuleType) -> dict[str, Table]:
    run, policies = fake.narrowing_run(40, 32, ungraded=0.01)
    config = MeasureConfig(
        base=policies[0].key,
        trained=tuple(policy.key for policy in policies[1:]),
        main_task="countdown",
        future_tasks=("countdown-division",),
        draws=200,
    )
    return measure_run(run, config)


@pytest.fixture(scope="module")
def html(tables: dict[str, Table]) -> str:
    """The page, drawn once."""
    return report_html(tables, title="t")


def quoting(tables: dict[str, Table], *texts: str) -> dict[str, Table]:
    """Return few tables that quote ``texts`` as prompt key, prompt and completion."""
    common = {"task": "countdown", "policy": "base", "spec": "T=1", "rank": 0, "side": "before"}
    common |= {"call": "lost", "n": 8, "c": 4, "outcome": "correct", "times": 2}
    examples = tuple(
        Example(labels={**common, "prompt": text}, prompt=text, completion=text) for text in texts
    )
    few = {name: tables[name] for name in ("verdict", "overview")}
    return {**few, "examples": replace(tables["examples"], examples=examples)}


def test_verdict_comes_first_in_words(tables: dict[str, Table], tmp_path: Path) -> None:
    path = render_report(tables, tmp_path / "report.html", title="An audit")
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    shown = " ".join(page.text)
    plain = tables["verdict"].select(topic="plain", headline=True, task="countdown")[0]
    assert str(plain.labels["text"]) in shown
    assert shown.index("is right more often") < shown.index("All policies at a glance")
    assert "not training seeds" in shown
    assert list(tmp_path.iterdir()) == [path]


def test_every_section_is_there(tables: dict[str, Table], html: str) -> None:
    page = Page(html)
    shown = " ".join(page.text)
    for heading in (
        "All policies at a glance", "What a budget of samples reaches", "Coverage of solutions",
        "Coverage of entry families", "What happened to each prompt", "Truncated answers",
        "What later training could learn from", "Diversity, entropy and length",
        "Prompts that fell most", "Methods and provenance", "ungraded (timeout: 5 s",
    ):  # fmt: skip
        assert heading in shown
    assert page.count("svg") >= 10
    assert all(attrs.get("role") == "img" for tag, attrs in page.elements if tag == "svg")


def test_the_page_needs_no_network_and_runs_no_script(tables: dict[str, Table], html: str) -> None:
    page = Page(html)
    scripts = [attrs for tag, attrs in page.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "tables"}]
    loading = {"src", "href", "data", "action", "poster", "srcset", "xlink:href"}
    for tag, attrs in page.elements:
        for name in loading & set(attrs):
            assert attrs[name].startswith(("#", "data:")), (tag, attrs)
        assert not any(name.startswith("on") for name in attrs)
    assert "@import" not in html
    assert not re.search(r"url\((?!['\"]?(#|data:))", html)


def test_the_tables_are_in_the_page(tables: dict[str, Table], html: str) -> None:
    block = json.loads(Page(html).block)
    assert set(block) == set(tables)
    rows = block["curves"]["rows"]
    assert len(rows) == len(tables["curves"].rows)
    assert rows[0]["estimate"]["value"] == tables["curves"].rows[0].estimate.value


def test_case_r01_texts_of_models_stay_texts(
    tables: dict[str, Table], cases: dict[str, dict[str, Any]]
) -> None:
    texts = cases["R01"]["input"]["rows"]
    harmless = [f"harmless {i}" for i in range(len(texts))]
    plain = Page(report_html(quoting(tables, *harmless), title="t"))
    page = Page(report_html(quoting(tables, *texts), title=" ".join(texts)))
    assert page.count("script") == 1
    assert page.elements == plain.elements
    block = json.loads(page.block)
    for text, example in zip(texts, block["examples"]["examples"], strict=True):
        assert page.text.count(text) == 2
        assert f"prompt {text}" in page.text
        assert example["completion"] == text
        assert example["labels"]["prompt"] == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b\x1b[31m", "a␀b␛[31m"),
        ("lone \ud800 surrogate", "lone \N{REPLACEMENT CHARACTER} surrogate"),
        ("turned \u202e around", "turned ⟨U+202E⟩ around"),
        ("kept\n\tas it is", "kept\n\tas it is"),
        ("naïve 数学 🙂 \u2028", "naïve 数学 🙂 \u2028"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(
    tables: dict[str, Table], text: str, shown: str, tmp_path: Path
) -> None:
    assert visible(text) == shown
    path = render_report(quoting(tables, text), tmp_path / "r.html", title=text)
    page = Page(path.read_text(encoding="utf-8"))
    assert shown in page.text
    assert json.loads(page.block)["examples"]["examples"][0]["completion"] == text


def test_not_a_number_is_null(tables: dict[str, Table]) -> None:
    row = tables["curves"].rows[0]
    broken = replace(row, estimate=replace(row.estimate, value=float("nan")))
    curves = replace(tables["curves"], rows=(broken, *tables["curves"].rows[1:]))
    page = Page(report_html({**tables, "curves": curves}, title="t"))
    assert json.loads(page.block)["curves"]["rows"][0]["estimate"]["value"] is None


def test_names_of_policies_are_escaped_in_figures_too(fake: ModuleType) -> None:
    run, policies = fake.narrowing_run(24, 16, future=False)
    name = '</text></svg><script>alert(1)</script>"'
    run.policies_[2] = replace(policies[2], name=name)
    config = MeasureConfig(
        base=policies[0].key, trained=(policies[2].key,), draws=200, main_task="countdown"
    )
    page = Page(report_html(measure_run(run, config), title="t"))
    assert page.count("script") == 1
    assert name in "".join(page.text)


def test_one_policy_makes_a_report(fake: ModuleType) -> None:
    run, policies = fake.narrowing_run(24, 16, future=False)
    tables = measure_run(run, MeasureConfig(base=policies[0].key, draws=200))
    shown = " ".join(Page(report_html(tables, title="t")).text)
    assert "base at T=1 alone" in shown
    assert "What happened to each prompt" not in shown


def test_several_temperatures_get_their_section(fake: ModuleType) -> None:
    run, policies = fake.narrowing_run(24, 16, future=False)
    run.specs_.append(replace(run.specs_[0], temperature=0.6))
    for i, policy in enumerate(policies):
        behaviour = fake.Behaviour(rate_P=[0.5] * 24, spread=0.3)
        run.add_arm("countdown", policy, 16, behaviour, i, spec=1)
    config = MeasureConfig(
        base=policies[0].key, trained=(policies[1].key,), draws=200,
        spec_keys=tuple(spec.key for spec in run.specs_),
    )  # fmt: skip
    shown = " ".join(Page(report_html(measure_run(run, config), title="t")).text)
    assert "Is it only sharpening?" in shown
    assert "step 100 T=0.6 minus base T=1" in shown


def test_missing_tables_leave_their_sections_out(tables: dict[str, Table]) -> None:
    some = {name: tables[name] for name in ("verdict", "overview", "curves")}
    shown = " ".join(Page(report_html(some, title="t")).text)
    assert "What a budget of samples reaches" in shown
    assert "Truncated answers" not in shown


def test_the_same_tables_give_the_same_page(tables: dict[str, Table]) -> None:
    assert report_html(tables, title="t") == report_html(tables, title="t")


def test_figure_for_a_readme(tables: dict[str, Table], tmp_path: Path) -> None:
    svg = figure_svg(tables)
    assert svg.startswith("<svg")
    for text in ("step 200", "k samples", "Share of all correct solutions"):
        assert text in svg
    png = write_figure(tables, tmp_path / "figure.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert write_figure(tables, tmp_path / "figure.svg").read_text("utf-8") == svg
    with pytest.raises(ConfigError, match=r"\.svg or \.png"):
        write_figure(tables, tmp_path / "figure.gif")
    with pytest.raises(DataError, match="no curve of task"):
        figure_svg({})
