"""The documentation site, built with the real mkdocs and without the network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ludus

ROOT = Path(__file__).parents[2]
DEADLINE_S = 120
PARTS = ("docs", "scripts", "src", "examples", "benchmarks/results", "tests/data/teams")
FILES = ("mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE")


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=DEADLINE_S)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    process = build(ROOT, folder)
    assert process.returncode == 0, process.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("")
        folder = name.parent if name.name == "index" else name
        assert (site / folder / "index.html").is_file(), page
    assert "make train" in (site / "index.html").read_text()


def test_the_reference_describes_the_public_names(site: Path) -> None:
    pages = "".join(page.read_text() for page in (site / "api").rglob("*.html"))
    headings = set(re.findall(r'id="(?:ludus\.)?(?:[a-z_]+\.)*(\w+)"', pages))
    assert set(ludus.__all__) <= headings
    assert "Number of matches against each opponent" in pages  # from the docstring of evaluate
    assert "95% Wilson interval of the win rate" in pages  # from the comment of a field


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    address = r"(?:https?:)?//[^\">\s]*"
    loads = re.compile(
        rf'<(?:script|img|iframe)[^>]*\ssrc="?{address}|<link[^>]*\shref="?{address}|url\(["\']?{address}'
    )
    loaded = {match[0] for page in pages for match in loads.finditer(page.read_text())}
    assert len(pages) > 20
    assert loaded == set()


def test_dead_links_and_anchors_fail_the_build(tmp_path: Path) -> None:
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "docs" / "curriculum.md").open("a") as page:
        page.write("\n[page](nowhere.md) [anchor](metrics.md#nowhere) [source](../src/nowhere.py)\n")
    process = build(tmp_path, tmp_path / "site")
    assert process.returncode != 0
    for target in ("nowhere.md", "#nowhere", "nowhere.py"):
        assert re.search(f"WARNING.*curriculum.md.*{target}", process.stderr), target
