"""The report's page: how large the file is, and how soon a click is painted.

Two ensembles of labels that differ from a planted clustering in a tenth to a half of the points:
200 partitions of 5,000 points, and 1,000 partitions of 50,000 points, of which the page shows a
sample. The page is opened in headless Chromium (Playwright), partitions are chosen one after the
other, and the time from the choice to the next painted frame is taken.

Bars: at most 1.0 MB and a median of 50 ms for the first; at most 15 MB for the second, which must
open; and the page is written in less time than the clustering took. Here the clusterings are given,
so "combine" is less than that: "fit" is the whole job on the same points with as many members, for
the first case. --check looks at the first only.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common

CLUSTERS, COLUMNS = 8, 6
CASES = {"200 x 5,000": (5_000, 200), "1,000 x 50,000": (50_000, 1_000)}
BARS = {"200 x 5,000": (1.0, 50.0), "1,000 x 50,000": (15.0, None)}
CLICKS = 40

# Chooses a clustering and resolves after the frame that shows it.
_CLICK = """index => new Promise(done => {
  const list = document.getElementById('partition');
  const start = performance.now();
  list.selectedIndex = index;
  list.dispatchEvent(new Event('change'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
})"""


def planted(n: int, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features, and partitions that disagree with the planted one here and there."""
    rng = np.random.default_rng(0)
    truth = rng.integers(CLUSTERS, size=n)
    X = rng.normal(size=(CLUSTERS, COLUMNS))[truth] * 4 + rng.normal(size=(n, COLUMNS))
    labels = np.empty((n, r), dtype=np.int8)
    for j in range(r):
        k = int(rng.integers(CLUSTERS - 3, 2 * CLUSTERS))
        name = rng.permutation(2 * CLUSTERS)
        moved = rng.random(n) < rng.uniform(0.1, 0.5)
        labels[:, j] = name[np.where(moved, rng.integers(k, size=n), truth)]
    return X, labels


def clicks(file: Path) -> tuple[float, list[float]]:
    """Return the milliseconds until the page is ready, and those of each click."""
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=browser, args=arguments)
        page = started.new_page(viewport={"width": 1100, "height": 900})
        begin = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready=true]", state="attached", timeout=120_000)
        opened = 1000 * (time.perf_counter() - begin)
        page.locator("#map").scroll_into_view_if_needed()
        took = [page.evaluate(_CLICK, i) for i in range(1, CLICKS + 1)]
        page.click("#pin")
        took += [page.evaluate(_CLICK, i) for i in range(CLICKS, 2 * CLICKS)]
        started.close()
    return opened, took


def measure(name: str) -> tuple[list[Any], list[str]]:
    """Return a row of the table, and the bars that were missed."""
    from clusterscape import ConsensusClustering, report

    n, r = CASES[name]
    X, labels = planted(n, r)
    begin = time.process_time()
    model = ConsensusClustering(CLUSTERS, random_state=0).fit_ensemble(labels, features=X)
    combined = time.process_time() - begin
    fitted = combined
    if n <= 5_000:
        begin = time.process_time()
        ConsensusClustering(CLUSTERS, n_partitions=r, n_references=0, random_state=0).fit(X)
        fitted = time.process_time() - begin
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        begin = time.process_time()
        report.write(model, file, X=X, max_partitions=r)
        written = time.process_time() - begin
        size = file.stat().st_size / 1e6
        opened, took = clicks(file)
    median = float(np.median(took))
    most, slowest = BARS[name]
    missed = []
    if size > most:
        missed.append(f"{name}: {size:.2f} MB (bar {most})")
    if slowest is not None and median > slowest:
        missed.append(f"{name}: {median:.0f} ms a click (bar {slowest:.0f})")
    if written > fitted:
        missed.append(f"{name}: written in {written:.1f} CPU s, clustered in {fitted:.1f}")
    whole = f"{fitted:.2f}" if n <= 5_000 else ""
    row = [name, whole, f"{combined:.2f}", f"{written:.2f}", f"{size:.2f}", f"{opened:.0f}",
           f"{median:.1f}", f"{max(took):.1f}"]  # fmt: skip
    return row, missed


def main() -> None:
    """Measure the cases and print the table."""
    options = _common.arguments(__doc__ or "")
    print(_common.versions())
    names = list(CASES)[:1] if options.check else list(CASES)
    measure(names[0])  # compiles the kernels
    rows, missed = [], []
    for name in names:
        row, wrong = measure(name)
        rows.append(row)
        missed += wrong
    header = ["", "fit CPU s", "combine CPU s", "write CPU s", "MB", "open ms", "click ms", "worst"]
    _common.show_table(header, rows)
    for line in missed:
        print(f"missed: {line}")
    _common.finish(f"{len(missed)} bars missed", not missed, options.check)


if __name__ == "__main__":
    main()
