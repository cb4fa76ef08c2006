"""Photograph parts of the wine report for the guide; needs playwright and Chromium."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clusterscape import ConsensusClustering, report

FOLDER = Path(__file__).parent / "_static"
# Name of the picture: width of the window, state of the page, first and last element shown.
PICTURES = {
    "report-verdict": (1000, "", "header h1", "#verdict"),
    "report-landscape": (1000, "#clustering=4&pin=0", "#alternatives h2", "#alternatives"),
    "report-across-k": (760, "", "#across_k h2", "#across_k"),
}


def main() -> None:
    """Write the pictures to ``docs/_static``."""
    wine = load_wine(as_frame=True)
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, ConsensusClustering(random_state=0)).fit(wine.data)
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "wine.html"
        names = [str(wine.target_names[c]) for c in wine.target]
        report.write(model, file, X=wine.data, reference=names, title="Clusters of the wine data")
        opened = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, (width, state, first, last) in PICTURES.items():
            page = opened.new_page(viewport={"width": width, "height": 900})
            page.goto(file.as_uri() + state)
            page.wait_for_selector("html[data-ready=true]", state="attached")
            page.wait_for_timeout(300)
            _save(page, name, first, last)
        opened.close()


def _save(page: Any, name: str, first: str, last: str) -> None:
    above = page.locator(first).bounding_box()
    below = page.locator(last).bounding_box()
    top = above["y"] - 8
    area = {"x": 0, "y": top, "width": page.viewport_size["width"]}
    area["height"] = below["y"] + below["height"] - top + 8
    pixels = page.screenshot(full_page=True, clip=area, timeout=120_000)
    small = Image.open(io.BytesIO(pixels)).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
    small.save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
