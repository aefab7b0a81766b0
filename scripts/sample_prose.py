"""Draws a seeded sample of sentences, to grade how well a newcomer understands them.

    python scripts/sample_prose.py [--seed 1] [--count 480] [--of docs,docstrings] > sample.tsv

As many sentences come from each source: README.md and docs/ (`docs`), and docstrings, errors and help texts of
src/ludus. Each line has a number, the place, the sentence and an empty column for the grade. Grade 1 if someone who
knows PPO and Gymnasium, but not ludus, understands the sentence at first reading, else 0. The last grades are in
benchmarks/results/prose.md.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHORTEST = 5  # words; shorter ones are headings and labels
GENERATED = ("metrics.md", "CHANGELOG.md")


def of_docs() -> Iterator[tuple[str, str]]:
    """Yield place and sentence of the prose in README.md and docs/, without code, tables and headings."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.name in GENERATED:
            continue
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for block in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", text):
            if not block.lstrip().startswith(("#", "|", "<", "!", "```")):
                yield from ((str(path.relative_to(ROOT)), sentence) for sentence in sentences(block))


def of_docstrings() -> Iterator[tuple[str, str]]:
    """Yield place and sentence of every docstring in src/ludus."""
    for path in sorted((ROOT / "src" / "ludus").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            prose = (ast.get_docstring(node) or "").split("\n\n")
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
            for block in prose:
                if not re.search(r"[─►┌└]|^ {2,}|::$", block, flags=re.MULTILINE):
                    yield from ((place, sentence) for sentence in sentences(block))


def sentences(text: str) -> list[str]:
    """Split a paragraph into its sentences."""
    flat = " ".join(text.replace("\n", " ").split()).lstrip("-* ")
    parts = re.split(r"(?<=[.!?:])\s+(?=[A-Z`\"*\[])", flat)
    return [part for part in parts if len(part.split()) >= SHORTEST]


def of_errors() -> Iterator[tuple[str, str]]:
    """Yield place and sentence of the texts of errors in src/ludus, with expressions for their values."""
    for place, call in _calls():
        if ast.unparse(call.func).endswith("Error"):
            yield from _of_texts(place, call.args)


def of_help() -> Iterator[tuple[str, str]]:
    """Yield place and sentence of the help texts of options in src/ludus."""
    for place, call in _calls():
        yield from _of_texts(place, [keyword.value for keyword in call.keywords if keyword.arg == "help"])


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted((ROOT / "src" / "ludus").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def _of_texts(place: str, nodes: Iterable[ast.expr]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [each.value if isinstance(each, ast.Constant) else ast.unparse(each) for each in node.values]
            text = "".join(str(part) for part in parts).replace("f'{", "{").replace("}'", "}")
        else:
            continue
        yield from ((place, sentence) for sentence in sentences(text))


SOURCES: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "docs": of_docs,
    "docstrings": of_docstrings,
    "errors": of_errors,
    "help": of_help,
}


def sample(count: int, seed: int, sources: Sequence[str] = ("docs", "docstrings")) -> list[tuple[str, str]]:
    """Return places and sentences, `count` // number of sources from each; the last source gets what is left over."""
    draw = random.Random(seed)
    each, drawn = count // len(sources), []
    for source in sources:
        wanted = each if source != sources[-1] else count - each * (len(sources) - 1)
        drawn += draw.sample(list(SOURCES[source]()), wanted)
    return drawn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=480)
    parser.add_argument("--of", default="docs,docstrings", help=f"sources, separated by commas: {', '.join(SOURCES)}")
    arguments = parser.parse_args()
    chosen = sample(arguments.count, arguments.seed, arguments.of.split(","))
    for number, (place, sentence) in enumerate(chosen, 1):
        print(number, place, sentence, "", sep="\t")
