"""Hooks of the documentation site (mkdocs.yml).

Pages of this repository are written for a checkout: README.md is the front page, lists may follow a paragraph
directly, and links may lead to any file. The hooks make a site of them:

- README.md becomes the home page, CHANGELOG.md and benchmarks/results/*.md become pages.
- A source file that a page links to becomes a page that shows it; a folder becomes a list of its files.
- Links follow. A link to a file that does not exist stays as it is, and `mkdocs build --strict` refuses it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
RESULTS = "benchmarks/results/"
LINK = re.compile(r"(?<=\]\()(?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")
LANGUAGES = {
    ".py": "python",
    ".js": "js",
    ".java": "java",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".toml": "toml",
}
BLOCK = re.compile(r"(?P<list>(?:[-*]|\d+\.) )|(?P<table>\|)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    repository_paths = {*PAGES, *_results()} - {"CONTRIBUTING.md"}  # docs/contributing.md has the whole of it
    pages = [file.src_uri for file in files.documentation_pages()]
    for path in (*(f"docs/{page}" for page in pages), *repository_paths):
        if path.endswith(".md"):
            repository_paths |= {target for target in _targets(path) if not target.startswith("docs/")}
    for path in sorted(repository_paths - {"CONTRIBUTING.md"}):
        uri = site_uri(path)
        if uri.startswith("source/"):
            files.append(File.generated(config, uri, content=code_page(path)))
        else:
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:  # Any: mkdocs has no type for what plugins get
    """Make links lead to pages of the site, and let every list and table begin after a blank line."""
    path = repository_path(page.file.src_uri)
    if path is None:
        return markdown
    return spaced(LINK.sub(lambda link: _site_link(link, path), markdown))


def site_uri(path: str) -> str:
    """Return the page of the site that shows a file of the repository."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith(RESULTS):
        return "results/" + path.removeprefix(RESULTS)
    return f"source/{path}/index.md" if (ROOT / path).is_dir() else f"source/{path}.md"


def repository_path(uri: str) -> str | None:
    """Return the file of the repository that a page of the site is made of, or None for a page of source code."""
    if uri.startswith("source/"):
        return None
    if uri.startswith("results/"):
        return RESULTS + uri.removeprefix("results/")
    roots = {page: path for path, page in PAGES.items() if path != "CONTRIBUTING.md"}
    return roots.get(uri, f"docs/{uri}")


def code_page(path: str) -> str:
    """Return a page that shows a source file or lists a folder."""
    if (ROOT / path).is_dir():
        links = (posixpath.relpath(file, path) for file in _files_of(path))
        return f"# {path}\n\n" + "".join(f"- [{link}]({link}.md)\n" for link in links)
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"# {path}\n\n````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n````\n"


def spaced(markdown: str) -> str:
    """Insert the blank lines that Python-Markdown needs before lists and tables, outside of code."""
    lines: list[str] = []
    in_code, block = False, ""
    for line in markdown.splitlines():
        in_code ^= line.lstrip().startswith("```")
        match = None if in_code else BLOCK.match(line)
        kind = (match.lastgroup or "") if match else ""
        continues = kind == block or (not kind and block and line.startswith(" "))
        if kind and not continues and lines and lines[-1].strip():
            lines.append("")
        block = kind if kind or not continues else block
        lines.append(line)
    return "\n".join(lines) + "\n"


def _results() -> Iterable[str]:
    folder = ROOT / RESULTS
    return (str(path.relative_to(ROOT).as_posix()) for path in folder.rglob("*") if path.suffix in {".md", ".png"})


def _targets(path: str) -> Iterable[str]:
    """Return the files of the repository that a page links to."""
    for link in LINK.finditer((ROOT / path).read_text(encoding="utf-8")):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link["path"]))
        if (ROOT / target).is_file():
            yield target
        elif (ROOT / target).is_dir():
            yield target
            yield from _files_of(target)


def _files_of(folder: str) -> list[str]:
    """Return the source files of a folder and its subfolders."""
    paths = sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in LANGUAGES)
    return [path.relative_to(ROOT).as_posix() for path in paths]


def _site_link(link: re.Match[str], path: str) -> str:
    parts: Mapping[str, str | None] = link.groupdict()
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), parts["path"] or ""))
    if not (ROOT / target).exists():
        return link[0]
    start = posixpath.dirname(site_uri(path)) or "."
    return posixpath.relpath(site_uri(target), start) + (parts["anchor"] or "")
