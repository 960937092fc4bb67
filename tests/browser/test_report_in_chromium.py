"""The report in a real browser: quiet console, no request, readable on screen and phone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rewardable.measure import MeasureConfig, measure_run
from rewardable.report import render_report

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="module")
def report(fake: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run, policies = fake.narrowing_run(96, 128, ungraded=0.002)
    config = MeasureConfig(
        base=policies[0].key,
        trained=tuple(policy.key for policy in policies[1:]),
        main_task="countdown",
        future_tasks=("countdown-division",),
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    return render_report(measure_run(run, config), path, title="Base against two checkpoints")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if not CHROMIUM or not DRIVER:
        pytest.skip("no chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser: Any, report: Path) -> Any:
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(report.as_uri())
    return browser


def size(browser: Any, width: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )


def test_quiet_console_and_no_request(opened: Any, report: Path) -> None:
    assert opened.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    urls = {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }
    assert {url for url in urls if not url.startswith("data:")} == {report.as_uri()}


def test_the_verdict_is_what_one_sees_first(opened: Any) -> None:
    size(opened, 1000)
    plain = opened.find_element("css selector", ".verdict .plain")
    assert plain.is_displayed()
    assert "right more often than base but reaches less" in plain.text
    assert plain.rect["y"] + plain.rect["height"] < 400


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_is_wider_than_the_window(opened: Any, width: int) -> None:
    size(opened, width)
    assert opened.execute_script("return document.documentElement.scrollWidth") <= width
    charts = opened.find_elements("css selector", "figure svg")
    assert len(charts) >= 10
    assert all(120 < chart.rect["width"] <= width for chart in charts)


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_both_schemes_have_contrast(opened: Any, scheme: str, dark: bool) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    style = "return getComputedStyle({}).{}"
    ground = opened.execute_script(style.format("document.body", "backgroundColor"))
    label = opened.execute_script(
        style.format("document.querySelector('figure svg .mark-text text')", "fill")
    )
    assert (brightness(ground) < 0.3) is dark
    assert abs(brightness(ground) - brightness(label)) > 0.35


def brightness(colour: str) -> float:
    numbers = [float(x) for x in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(numbers) / 3 / 255


def test_the_data_block_is_readable_in_place(opened: Any) -> None:
    names = opened.execute_script(
        "return Object.keys(JSON.parse(document.getElementById('tables').textContent))"
    )
    assert {"verdict", "curves", "transitions"} <= set(names)


def test_it_prints(opened: Any) -> None:
    pdf = opened.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"]
    assert len(pdf) > 50_000
