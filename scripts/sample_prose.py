"""Draws a seeded sample of sentences from docs and docstrings, to grade how well a newcomer understands them.

    python scripts/sample_prose.py [--seed 1] [--count 480] > sample.tsv

Half of the sentences come from README.md and docs/, half from the docstrings of src/ludus. Each line has a number, the
place, the sentence and an empty column for the grade. Grade 1 if someone who knows PPO and Gymnasium, but not ludus,
understands the sentence at first reading, else 0.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
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


def sample(count: int, seed: int) -> list[tuple[str, str]]:
    """Return `count` places and sentences, half of them from each source."""
    draw = random.Random(seed)
    docs, docstrings = list(of_docs()), list(of_docstrings())
    return draw.sample(docs, count // 2) + draw.sample(docstrings, count - count // 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=480)
    arguments = parser.parse_args()
    for number, (place, sentence) in enumerate(sample(arguments.count, arguments.seed), 1):
        print(number, place, sentence, "", sep="\t")
