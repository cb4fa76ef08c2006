"""The code that people copy runs: every Python block of the README and of the guide."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from sources import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "docs" / "guide").glob("*.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Return the Python blocks of a page with the line they start on."""
    text = page.read_text(encoding="utf8")
    return [(text.count("\n", 0, m.start(1)), m.group(1)) for m in _BLOCK.finditer(text)]


PAGES = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Blocks of a page build on each other, and may write files.
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__page__"}
    for line, code in blocks(page):
        if ">>>" not in code:
            exec(compile("\n" * line + code, str(page), "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), line)
        report: list[str] = []
        result = doctest.DocTestRunner(optionflags=FLAGS).run(
            test, out=report.append, clear_globs=False
        )
        names.update(test.globs)
        assert result.failed == 0, "".join(report)


def test_the_readme_example_is_ten_lines() -> None:
    code = [line for _, block in blocks(ROOT / "README.md")[:1] for line in block.splitlines()]
    assert 5 <= len([line for line in code if line.strip()]) <= 10


def test_the_readme_shows_what_its_example_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf8")
    shown = re.search(r"^```\n\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    assert shown, "the output of the first example is missing"
    exec(compile(blocks(ROOT / "README.md")[0][1], "README.md", "exec"), {})
    assert shown.group(1).split() == capsys.readouterr().out.split()


def test_every_relative_link_of_the_guide_leads_somewhere() -> None:
    # auto_examples/ is made when the site is built.
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md"]:
        if {"_build", "auto_examples"} & set(page.parts):
            continue
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf8")):
            found = (page.parent / target).exists() or "auto_examples" in target
            assert found, f"{page.name} points at {target}, which does not exist"


def test_examples_are_numbered_from_one() -> None:
    files = sorted(
        (ROOT / "examples").glob("plot_*.py"), key=lambda file: int(file.name.split("_")[1])
    )
    for number, file in enumerate(files, start=1):
        title = file.read_text(encoding="utf8").splitlines()[1]
        # Two digits: the gallery sorts by name.
        assert file.name.startswith(f"plot_{number:02d}_"), f"{file.name} is example {number}"
        assert title.startswith(f"{number}. "), f"{file.name}: the title {title!r} has no number"


@pytest.mark.parametrize(
    "verb",
    [
        "generate",
        "compare",
        "combine",
        "forest",
        "explore",
        "validate",
        "semisupervised",
        "report",
        "plot",
        "io",
    ],
)
def test_every_part_of_the_library_has_an_example(verb: str) -> None:
    examples = [f.read_text(encoding="utf8") for f in (ROOT / "examples").glob("plot_*.py")]
    assert any(re.search(rf"\b(cs|clusterscape)\.{verb}\b", text) for text in examples)


def test_links_of_the_readme_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf8")
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (ROOT / target).exists(), f"the README points at {target}, which does not exist"


def test_the_summary_of_the_forests_has_the_figures_of_the_results() -> None:
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf8")
    page = (ROOT / "docs" / "guide" / "how-good.md").read_text(encoding="utf8")
    figures = re.findall(r"^mean gain -([\d.]+), ", results, re.MULTILINE)
    figures += re.findall(r"^CF at most ([\d.]+) points", results, re.MULTILINE)
    assert len(figures) == 5
    lines = [line for line in page.replace("\n  ", " ").split("\n") if "forest" in line]
    assert not set(figures) - set(re.findall(r"\d+\.\d+", "\n".join(lines)))


def test_every_table_begins_with_a_head() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        lines = page.read_text(encoding="utf8").splitlines()
        for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
            if line.startswith("|") and not before.startswith("|"):
                assert re.fullmatch(r"[|: -]+", after), f"{page.name}: {line[:60]!r} has no head"
