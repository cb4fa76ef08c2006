"""The report's page in a real browser: what people click, and what they then see."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from clusterscape import ConsensusClustering, Ensemble, report
from clusterscape.cli.app import app
from clusterscape.combine import EAC

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

pytestmark = [
    pytest.mark.skipif(
        BROWSER is None and not os.environ.get("CI"),
        reason="there is no browser; 'make browser' installs one where it can",
    ),
    # One process drives one browser for all tests of this file.
    pytest.mark.xdist_group("browser"),
]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.8, size=(30, 3)) for c in (0, 3, 6)])
    table = pd.DataFrame(X, columns=["length", "<b>width</b>", "mass"])
    table.index = pd.Index([f"p{i:03d}" for i in range(90)])
    model = ConsensusClustering(n_partitions=30, random_state=0).fit(table)
    assert model.n_clusters_ == 3
    file = tmp_path_factory.mktemp("report") / "report.html"
    report.write(model, file, X=table, reference=np.repeat(["x", "y", "<i>z</i>"], 30))
    return file.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """Open the page; fail on any error of its scripts, and on any request for another file."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    opened.on(
        "request",
        lambda request: (
            None if request.url.startswith((address, "blob:")) else wrong.append(request.url)
        ),
    )
    opened.goto(address)
    ready(opened)
    yield opened
    context.close()
    assert not wrong


def ready(page: Any) -> None:
    page.wait_for_selector("html[data-ready=true]", state="attached")


def picture(page: Any, canvas: str) -> str:
    """Return the pixels of a canvas."""
    return page.evaluate("id => document.getElementById(id).toDataURL()", canvas)


def is_blank(page: Any, canvas: str) -> bool:
    return page.evaluate(
        """id => { const c = document.getElementById(id);
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return !d.some(v => v); }""",
        canvas,
    )


def test_every_section_is_there_and_drawn(page: Any) -> None:
    titles = page.locator("main h2").all_text_contents()
    assert len(titles) >= 10
    assert page.locator("nav a").all_text_contents() == titles
    for canvas in ("map", "data", "settings", "matrix-image"):
        assert not is_blank(page, canvas)
    assert page.locator("#points-table tbody tr").count() == 20
    assert "<b>width</b>" in page.locator("#input").inner_text()
    assert page.locator("#input b, #reference i").count() == 0


def test_the_answer_is_painted_before_anything_is_awaited(browser: Any, address: str) -> None:
    page = browser.new_page()
    # No stream can be unpacked: what is seen was drawn at once.
    page.add_init_script("delete window.DecompressionStream;")
    page.goto(address)
    assert not is_blank(page, "data")
    assert not is_blank(page, "glance")
    assert "too old" in page.locator("#chosen").inner_text()
    page.close()


def test_the_first_screen_shows_the_verdict_and_its_picture(browser: Any, address: str) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(address)
    ready(page)
    for part in (".headline", "#glance", ".sure", ".glance figcaption"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800, part
    seen = picture(page, "glance")
    page.select_option("#partition", index=9)
    assert picture(page, "glance") == seen  # it is the answer, whatever is chosen below
    page.set_viewport_size({"width": 390, "height": 844})  # a phone: above the words
    assert page.locator("#glance").bounding_box()["y"] < 600
    page.close()


def test_choosing_a_clustering_recolours_the_points(page: Any) -> None:
    before = picture(page, "data"), picture(page, "map"), page.locator("#chosen").inner_text()
    page.select_option("#partition", index=9)
    after = picture(page, "data"), picture(page, "map"), page.locator("#chosen").inner_text()
    assert all(a != b for a, b in zip(before, after, strict=True))
    assert "Adjusted Rand index with the answer" in after[2]
    page.click("#to-answer")
    assert picture(page, "data") == before[0]


def test_a_click_on_the_map_chooses_the_nearest(page: Any) -> None:
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    for x in np.linspace(0.05, 0.95, 19):
        for y in np.linspace(0.05, 0.95, 19):
            page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
            if page.locator("#partition").input_value() != "0":
                assert "clustering=" in page.url
                return
    raise AssertionError("no dot of the map could be hit")


def test_a_pin_shows_what_changed(page: Any) -> None:
    assert page.locator("#comparison").is_hidden()
    page.click("#pin")
    page.select_option("#partition", index=9)
    text = page.locator("#changed").inner_text()
    moved = int(text.split("Adjusted Rand index")[1].split(". ")[1].split(" of ")[0])
    assert 0 < moved < 90
    assert not is_blank(page, "flows")
    cells = page.locator("#contingency td").all_text_contents()
    assert sum(int(c) for c in cells if c) == 90
    page.click("#unpin")
    assert page.locator("#comparison").is_hidden()


def painted(page: Any) -> int:
    """Return how many pixels of the map of points are strongly coloured."""
    return page.evaluate(
        """() => { const c = document.getElementById('data');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let count = 0;
        for (let i = 0; i < d.length; i += 4) count += d[i + 3] > 200 && Math.max(d[i], d[i + 1],
          d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60;
        return count; }"""
    )


def test_points_that_do_not_change_are_pale(page: Any) -> None:
    page.select_option("#partition", index=9)
    every = painted(page)
    page.click("#to-answer")
    page.click("#pin")
    page.select_option("#partition", index=9)
    text = page.locator("#changed").inner_text()
    moved = int(text.split("Adjusted Rand index")[1].split(". ")[1].split(" of ")[0])
    assert painted(page) / every == pytest.approx(moved / 90, abs=0.15)


def test_points_are_searched_sorted_and_found_on_the_map(page: Any) -> None:
    page.fill("#search", "p07")
    assert page.locator("#points-table tbody tr").count() == 10
    page.click("#points-table thead button >> nth=0")
    names = page.locator("#points-table tbody th").all_text_contents()
    assert names == sorted(names)
    page.click("#points-table thead button >> nth=0")
    assert page.locator("#points-table tbody th").all_text_contents() == names[::-1]
    before = picture(page, "data")
    page.click("#points-table tbody button >> nth=0")
    assert page.locator("#point").inner_text().startswith(f"Point {names[-1]}: cluster")
    assert picture(page, "data") != before


def test_the_address_restores_the_state(page: Any, address: str) -> None:
    page.select_option("#partition", index=4)
    page.click("#pin")
    page.select_option("#partition", index=9)
    page.fill("#search", "p01")
    saved, seen = page.url, picture(page, "data")
    page.goto("about:blank")
    page.goto(saved)
    ready(page)
    assert page.locator("#partition").input_value() == "9"
    assert page.locator("#search").input_value() == "p01"
    assert page.locator("#comparison").is_visible()
    assert picture(page, "data") == seen


def test_a_link_to_a_section_keeps_what_was_chosen(page: Any) -> None:
    page.click("nav a[href='#points']")
    assert page.evaluate("location.hash") == "#points"  # nothing was chosen yet
    page.select_option("#partition", index=4)
    page.click("nav a[href='#matrix']")
    page.wait_for_url(lambda url: url.endswith("section=matrix"))
    saved = page.url
    page.goto("about:blank")
    page.goto(saved)
    ready(page)
    assert page.locator("#partition").input_value() == "4"
    for _ in range(100):  # it scrolls there smoothly
        above = page.evaluate("document.getElementById('matrix').getBoundingClientRect().y")
        if abs(above) < 5:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"the section is {above} pixels away")


def test_a_part_that_cannot_be_drawn_leaves_the_others(
    browser: Any, address: str, tmp_path: Path
) -> None:
    whole = Path(address.removeprefix("file://")).read_text("utf8")
    broken = tmp_path / "broken.html"
    broken.write_text(re.sub(r'("matrix":.*?"values":)"[^"]*"', r'\1"*"', whole), "utf8")
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(broken.as_uri())
    ready(page)
    assert page.locator("#matrix > p").last.inner_text().startswith("This part could not be drawn")
    assert not is_blank(page, "data")
    assert page.locator("#points-table tbody tr").count() == 20
    page.set_viewport_size({"width": 700, "height": 700})  # drawn again, said once
    assert page.locator("#matrix > p").count() == 2
    assert not wrong
    page.close()


# What a person can act on: all that is drawn, is not switched off, and is no part of a list.
CONTROLS = """() => [...document.querySelectorAll(
  'a[href], button, input, select, textarea, summary, [tabindex], [role=button]')]
  .filter(e => !e.disabled && e.tabIndex >= 0 && e.checkVisibility())"""


def walked(page: Any) -> list[int]:
    """Press Tab from the top to the end, and return the controls that got the focus, in turn."""
    page.evaluate(f"window.controls = ({CONTROLS})(); window.controls[0].focus()")
    found = [0]
    for _ in range(500):
        page.keyboard.press("Tab")
        found.append(page.evaluate("window.controls.indexOf(document.activeElement)"))
        if page.evaluate("document.activeElement === document.body"):
            return found[:-1]
    raise AssertionError("the focus never leaves the page")


def test_the_keyboard_alone_reaches_everything(page: Any) -> None:
    page.click("#pin")  # all of the comparison is shown, and its pin can be removed
    page.select_option("#partition", index=9)
    found = walked(page)
    kinds = page.evaluate("window.controls.map(e => e.tagName)")
    # Links, the list of clusterings, pins, headers, points and folded parts, in the page's order.
    assert {"A", "BUTTON", "INPUT", "SELECT", "SUMMARY"} <= set(kinds)
    missed = sorted(set(range(len(kinds))) - set(found))
    assert not missed, page.evaluate("them => them.map(i => window.controls[i].outerHTML)", missed)
    assert found == list(range(len(kinds)))
    # Nothing can be clicked but a control, or a picture whose clusterings the list holds too.
    pointers = page.evaluate(
        """[...document.querySelectorAll('body *')].filter(e =>
        getComputedStyle(e).cursor === 'pointer' && e.getClientRects().length &&
        !e.closest('a, button, input, select, summary, label')).map(e => e.id)"""
    )
    assert set(pointers) <= {"map", "settings", "data"}


def test_the_keyboard_alone_works_every_control(page: Any) -> None:
    def press(selector: str, *keys: str) -> None:
        page.focus(selector)
        for key in keys:
            page.keyboard.press(key)

    press("#partition", "ArrowDown")
    assert "clustering=1" in page.url
    press("#pin", "Enter")
    press("#partition", "ArrowDown")
    assert page.locator("#comparison").is_visible()
    press("#unpin", "Space")
    assert page.locator("#comparison").is_hidden()
    press("#to-answer", "Enter")
    assert page.locator("#partition").input_value() == "0"
    heads = page.locator("#points-table thead button")
    for i in range(heads.count()):  # each header sorts, and sorts the other way round
        seen = []
        for _ in range(2):
            heads.nth(i).focus()
            page.keyboard.press("Enter")
            seen.append(page.locator("#points-table thead th").nth(i).get_attribute("aria-sort"))
        assert sorted(seen) == ["ascending", "descending"]
    press("#later", "Enter")
    assert page.locator("#which").inner_text().startswith("21 to 40")
    press("#earlier", "Enter")
    assert page.locator("#which").inner_text().startswith("1 to 20")
    press("#search", "p", "0", "7")
    assert page.locator("#which").inner_text() == "10 points"
    before = picture(page, "data")
    press("#points-table tbody button >> nth=0", "Enter")
    assert page.locator("#point").inner_text().startswith("Point p07")
    assert picture(page, "data") != before
    with page.expect_download():
        press("#download", "Enter")
    folds = page.locator("summary")
    for i in range(folds.count()):
        folds.nth(i).focus()
        page.keyboard.press("Enter")
    assert page.locator("details:not([open])").count() == 0
    for link in page.locator("nav a").all():
        link.focus()
        page.keyboard.press("Enter")
        assert link.get_attribute("href").lstrip("#") in page.evaluate("location.hash")


def test_the_table_downloads_what_it_shows(page: Any) -> None:
    page.fill("#search", "p00")
    with page.expect_download() as waiting:
        page.click("#download")
    lines = Path(waiting.value.path()).read_text().splitlines()
    assert lines[0].startswith("id,label,confidence")
    assert len(lines) == 11


def test_sections_stand_in_their_order(page: Any) -> None:
    found = page.evaluate("[...document.querySelectorAll('main section')].map(s => s.id)")
    assert found == [
        "verdict",
        "input",
        "alternatives",
        "clusters",
        "across_k",
        "matrix",
        "points",
        "reference",
        "methods",
        "glossary",
        "failures",
        "reproduce",
    ]


def test_clusters_across_k_have_the_colours_of_the_map(page: Any) -> None:
    fills = page.evaluate(
        "[...document.querySelectorAll('.tree .cluster')].map(c => getComputedStyle(c).fill)"
    )
    assert len(fills) == 2 + 3 + 4 + 5
    assert len(set(fills)) == 5
    assert "rgb(0, 114, 178)" in fills  # cluster 0 in every picture


def test_distances_are_said_in_words(page: Any) -> None:
    before = page.locator("#near").inner_text(), page.locator("#kinds").inner_text()
    assert before[0].startswith("Mean distance to the others: ")
    assert "Nearest to it, by distance: " in before[0]
    assert "Mean distance by algorithm: " in before[1]
    page.select_option("#partition", index=9)
    assert page.locator("#near").inner_text() != before[0]
    assert page.locator("#kinds").inner_text() != before[1]


def test_a_click_beside_the_settings_chooses_too(page: Any) -> None:
    assert not is_blank(page, "settings")
    # The height of the highest dot is the distance of the farthest clustering.
    spot = page.evaluate(
        """() => { const c = document.getElementById('settings'), r = devicePixelRatio;
        const d = c.getContext('2d').getImageData(60 * r, 0, c.width - 80 * r, c.height - 40 * r);
        for (let y = 0; y < d.height; y++) for (let x = 0; x < d.width; x++)
          if (d.data[4 * (y * d.width + x) + 3]) return [x / r + 60, y / r + 4];
        }"""
    )
    page.click("#settings", position={"x": spot[0], "y": spot[1]})
    shown = page.locator("#partition").input_value()
    assert shown != "0"
    rows = page.locator("#partition option").all_text_contents()
    agrees = [float(text.rsplit(" ", 1)[1]) for text in rows[1:]]
    assert agrees[int(shown) - 1] < np.median(agrees)
    assert f"clustering={shown}" in page.url


def test_the_table_says_how_many_points_it_shows(page: Any) -> None:
    said = page.locator("#which")
    assert said.inner_text() == "1 to 20 of 90 points"
    page.fill("#search", "p007")
    assert said.inner_text() == "1 point"
    page.fill("#search", "p00")
    assert said.inner_text() == "10 points"
    page.fill("#search", "nobody")
    assert said.inner_text() == "no point has such an id"


def test_a_few_points_among_many_are_found(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [1990, 10])
    X = rng.normal(size=(2000, 2))
    X[-10:] = np.column_stack([np.linspace(-1, 1, 10), np.zeros(10)])  # in the midst of the others
    model = EAC(2).fit(Ensemble.from_labels([labels, labels, np.arange(2000) % 2]))
    page = browser.new_page()
    report.write(model, tmp_path / "some.html", X=X, max_points=1500)
    page.goto((tmp_path / "some.html").as_uri())
    ready(page)
    assert "agrees 0.00" in page.locator("#partition option").last.inner_text()  # not -0.00
    page.fill("#search", "nobody")  # not all points are here
    assert page.locator("#which").inner_text() == "none of the points shown has such an id"
    # The colour of cluster 1 is seen, on top of the points of cluster 0.
    seen = page.evaluate(
        """() => { const c = document.getElementById('data');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let count = 0;
        for (let i = 0; i < d.length; i += 4)
          count += d[i] > 200 && d[i + 2] < 80 && d[i + 3] > 200;
        return count; }"""
    )
    shown = page.evaluate("JSON.parse(document.getElementById('report-data').textContent)")
    few = sum(c == 1 for c in shown["points"]["label"])
    assert 0 < few < 10
    assert seen > 12 * few  # symbols of 7 pixels, not of 6
    page.close()


def test_thousands_of_points_keep_their_colours_in_the_dark(browser: Any, tmp_path: Path) -> None:
    labels = np.repeat([0, 1], [2900, 100])
    X = np.random.default_rng(0).normal(size=(3000, 2))
    model = EAC(2).fit(Ensemble.from_labels([labels, labels, np.arange(3000) % 2]))
    report.write(model, tmp_path / "many.html", X=X)
    blue = {}
    for scheme in ("light", "dark"):
        page = browser.new_context(color_scheme=scheme).new_page()
        page.goto((tmp_path / "many.html").as_uri())
        ready(page)
        blue[scheme] = page.evaluate(
            """() => { const c = document.getElementById('data');
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            let count = 0;
            for (let i = 0; i < d.length; i += 4)
              count += d[i + 3] > 200 && d[i + 2] - d[i] > 90;
            return count; }"""
        )
        page.close()
    assert blue["dark"] > 0.8 * blue["light"]  # rims that help dark colours do not hide them


def test_agreements_in_words_are_the_same_everywhere(page: Any) -> None:
    page.click("#pin")
    for index in (3, 9, 17):
        page.select_option("#partition", index=index)
        told = page.locator("#chosen").inner_text().split("with the answer: ")[1][:5]
        assert page.locator("#changed").inner_text().startswith(f"Adjusted Rand index {told}.")


def test_the_printed_page_is_white_in_dark_mode(browser: Any, address: str) -> None:
    page = browser.new_context(color_scheme="dark").new_page()
    page.goto(address)
    ready(page)
    page.emulate_media(media="print", color_scheme="dark")
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == "rgb(255, 255, 255)"
    assert not is_blank(page, "data")
    assert page.locator("nav").is_hidden()
    # The two maps of the page stand side by side on A4, and words under a picture are not larger.
    page.set_viewport_size({"width": 720, "height": 1000})
    first, second = (page.locator(f"#{name}").bounding_box() for name in ("map", "data"))
    assert first["y"] == pytest.approx(second["y"], abs=2)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    words = page.locator("#verdict p").first.evaluate(size)
    assert page.locator("figcaption").first.evaluate(size) <= words
    page.close()


def strange_names() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.6, size=(20, 5)) for c in (0, 4, 8)])
    names = ["<script>alert(1)</script>", "\"'`&amp;", "😀", "עברית\u202eabc", "x" * 300]
    ids = [
        f"{['</script>', '<img src=x onerror=alert(1)>', 'y' * 300][i % 3]}{i}" for i in range(60)
    ]
    table = pd.DataFrame(X, columns=names, index=ids)
    model = ConsensusClustering(3, n_partitions=10, n_references=0, random_state=0).fit(table)
    classes = np.repeat(["<script>", "z" * 300, ""], 20)
    title = "</title><script>alert(2)</script>"
    return {"model": model, "X": table, "reference": classes, "title": title}


def many_clusters() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(40), 6)
    votes = [np.where(rng.random(240) < 0.1, rng.integers(0, 40, 240), labels) for _ in range(6)]
    return {"model": EAC(40).fit(Ensemble.from_labels(votes)), "X": rng.normal(size=(240, 3))}


def one_cluster() -> dict[str, Any]:
    X = np.random.default_rng(0).normal(size=(40, 3))
    return {"model": ConsensusClustering(1, n_partitions=6, random_state=0).fit(X), "X": X}


def one_point() -> dict[str, Any]:
    X = np.array([[1.0, 2.0, 3.0]])
    model = ConsensusClustering(n_partitions=3, n_references=0, random_state=0).fit(X)
    return {"model": model, "X": X}


def no_features() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    votes = [rng.integers(-1, 3, 40) for _ in range(5)]
    return {"model": EAC(3).fit(Ensemble.from_labels(votes))}


def one_opinion() -> dict[str, Any]:
    model = EAC(2).fit(Ensemble.from_labels([np.repeat([0, 1], 10)] * 3))
    return {"model": model, "X": np.random.default_rng(0).normal(size=(20, 2))}


@pytest.mark.filterwarnings("ignore::clusterscape.combine.OneOpinionWarning")
@pytest.mark.parametrize(
    "case", [strange_names, many_clusters, one_cluster, one_point, no_features, one_opinion]
)
def test_strange_results_break_nothing(browser: Any, tmp_path: Path, case: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    given = case()
    file = tmp_path / "report.html"
    report.write(given.pop("model"), file, **given)
    assert "could not be made" not in file.read_text("utf8")
    wrong: list[str] = []
    page = browser.new_context(bypass_csp=True, viewport={"width": 360, "height": 740}).new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    page.on("dialog", lambda dialog: (wrong.append("a name was run"), dialog.dismiss()))
    page.on(
        "request", lambda request: wrong.append(request.url) if "html" not in request.url else 0
    )
    page.goto(file.as_uri())
    ready(page)
    page.click("#pin")
    page.select_option("#partition", index=page.locator("#partition option").count() - 1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    found = Axe().run(page).response["violations"]
    assert not [v["id"] for v in found if v["impact"] in ("serious", "critical")]
    assert not wrong
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation(browser: Any, address: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    # The checker's own script is no part of the page, so its rules must let it pass.
    page = browser.new_context(color_scheme=scheme, bypass_csp=True).new_page()
    page.goto(address)
    ready(page)
    page.click("#pin")
    page.select_option("#partition", index=9)
    found = Axe().run(page).response["violations"]
    serious = [v["id"] for v in found if v["impact"] in ("serious", "critical")]
    assert not serious, serious
    page.close()


def test_the_printed_page_unfolds_sections_and_says_how_many_points(
    browser: Any, address: str
) -> None:
    page = browser.new_page()
    page.goto(address)
    ready(page)
    assert page.locator("details[open]").count() == 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("#which").is_visible()  # 20 points are not all
    assert not page.locator("#later").is_visible()
    head = page.locator("#points-table thead")
    said = head.inner_text()
    assert head.locator("button").count() == 0  # with buttons it stands on the first sheet alone
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="screen")
    assert head.inner_text() == said
    page.click("#points-table thead button >> nth=0")
    assert "Point ▲" in head.inner_text()
    page.close()


def test_the_page_fits_the_width_of_a_phone(browser: Any, address: str) -> None:
    page = browser.new_context(viewport={"width": 360, "height": 740}).new_page()
    page.goto(address)
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()


def test_choices_made_on_a_served_page_are_written(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(c, 0.4, size=(10, 2)) for c in (0, 3)])
    model = ConsensusClustering(2, n_partitions=8, n_references=0, random_state=0).fit(X)
    content = report.collect(model, X=X)
    content["questions"] = [["3", "14"], ["2", "5"]]
    made = report.render(content, choices=report.Choices())
    server = report.ReportServer(made, tmp_path / "choices.json")
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(server.address)
    ready(page)
    assert page.locator("#questions li").count() == 2
    page.click("#questions li >> nth=0 >> text=Apart")
    assert page.locator("#questions li").count() == 1
    page.fill("#name-1", "far ones")
    page.keyboard.press("Tab")
    page.click("#points-table tbody button >> nth=0")
    page.click("#mark")
    page.click("#remember")
    page.click("#points-table tbody button >> nth=3")
    page.click("#apart")
    page.wait_for_function("document.getElementById('saved').textContent.startsWith('Written')")
    page.wait_for_selector("#pairs li")
    page.wait_for_timeout(200)
    page.close()
    server.stop()
    thread.join()
    kept = report.Choices.read(tmp_path / "choices.json")
    assert kept.names == {"1": "far ones"}
    assert len(kept.marked) == 1
    assert list(kept.cannot_link[0]) == ["3", "14"]
    assert kept.cannot_link[1][0] == kept.marked[0]
    assert not wrong


def test_what_is_chosen_while_exploring_is_read_by_the_other_commands(
    browser: Any, tmp_path: Path
) -> None:
    """A run, its page in a browser, and each verb that reads what was chosen there."""
    table = tmp_path / "table.csv"
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(c, 0.3, size=(12, 2)) for c in (0, 4, 8)])
    points = pd.DataFrame(X, columns=["a", "b"], index=[f"p{i:02d}" for i in range(36)])
    points.to_csv(table, index_label="id")
    out, file = tmp_path / "out", tmp_path / "out" / "choices.json"
    clusterscape("run", table, "-k", "3", "-r", "10", "--references", "0", "-o", out)
    with exploring(out, table) as address:
        page = browser.new_page()
        page.goto(address)
        ready(page)
        page.select_option("#partition", index=3)
        page.click("#take")
        page.fill("#name-0", "north")
        page.keyboard.press("Tab")
        page.select_option("#merge-a", "1")
        page.select_option("#merge-b", "2")
        page.click("#merge")
        page.fill("#search", "p07")
        page.click("#points-table tbody button >> nth=0")
        page.click("#mark")
        page.click("#questions li >> nth=0 >> text=Together")
        page.wait_for_function(
            "document.querySelectorAll('#merged li').length === 1 && "
            "document.getElementById('saved').textContent.startsWith('Written')"
        )
        page.wait_for_timeout(200)
        page.close()
    kept = report.Choices.read(file)
    assert (kept.partition, kept.names, list(kept.marked)) == (3, {"0": "north"}, ["p07"])
    assert [list(group) for group in kept.merged] == [[1, 2]]
    assert len(kept.must_link) == 1

    given = ("--choices", file)
    joined = pd.read_csv(io.StringIO(clusterscape("export", out, table, *given)))
    assert joined.loc[joined["marked"], "id"].tolist() == ["p07"]
    assert set(joined["cluster"]) == {"north", *map(str, set(joined["label"]) - {0})}
    shown = json.loads(clusterscape("report", out, table, *given, "--json"))
    sizes = joined["label"].value_counts().sort_index().tolist()
    assert shown["verdict"]["sizes"] == sizes
    assert shown["clusters"]["rows"][0]["name"] == "north"
    drawn = json.loads(
        clusterscape("plot", "scatter", out, table, *given, "--json", "-o", tmp_path / "s.png")
    )
    assert drawn["table"]["cluster"] == joined["label"].tolist()
    placed = json.loads(clusterscape("predict", out, table, *given, "--json"))
    assert "north" in placed["clusters"]
    again = json.loads(clusterscape("constrain", table, *given, "-k", "3", "--json"))
    assert again["violated_must_links"] == 0
    with exploring(out, table) as address:  # the page begins with what was chosen
        page = browser.new_page()
        page.goto(address)
        ready(page)
        assert page.locator("#name-0").input_value() == "north"
        assert page.locator("#marks").inner_text() == "Marked: p07."
        assert page.locator("#merged li").count() == 1
        page.close()


def clusterscape(*arguments: object) -> str:
    """Run a verb, and return what it prints."""
    result = CliRunner().invoke(app, [*map(str, arguments), "-q"])
    assert result.exit_code == 0, result.output
    return result.output


@contextmanager
def exploring(*arguments: object) -> Iterator[str]:
    """Serve a page as a person would, in a process of its own, and give its address."""
    words = [sys.executable, "-m", "clusterscape", "explore", *map(str, arguments)]
    with subprocess.Popen([*words, "--no-browser"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
