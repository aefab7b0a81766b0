"""Lists names in src/ludus that do not keep to docs/glossary.md: python scripts/words.py [src/ludus/fleet ...]

Three kinds of names are listed, with their place:
- variables, attributes, parameters and functions that are bare participles (`found`, `said`), which say what happened
  and not what the thing is;
- classes whose name another module defines as well;
- modules whose name another package has as well, unless it is the name of a role that every package may fill.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "ludus"

PARTICIPLES = frozenset(
    {
        *("asked", "begun", "brought", "came", "chosen", "drawn", "found", "given", "gone"),
        *("grown", "handed", "heard", "held", "kept", "known", "left", "lost", "made"),
        *("met", "named", "noted", "owed", "picked", "read", "said", "seen", "sent"),
        *("shown", "stood", "stored", "taken", "told", "wanted"),
    }
)
PUBLIC = frozenset(  # they keep their name: fields of interfaces that games implement, and parameters in checkpoints
    {"sdk/match.py: lost", "policies/nets/attention.py: asked", "policies/nets/entity_tokens.py: named"}
)
VERBS = frozenset({"left", "read"})  # allowed as names of functions: `read()` reads

# Names of modules that several packages use for the same thing. Any other name is used once. Modules in cli/ are named
# after their command, and those in games/ belong to their game, so neither is compared.
ROLES = frozenset({"__init__", "__main__", "loop", "mlp", "process", "start"})


def participles(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of each binding of a bare participle in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                refused = PARTICIPLES
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                refused = PARTICIPLES - VERBS
            case _:
                continue
        public = path.is_relative_to(SOURCE) and f"{path.relative_to(SOURCE)}: {name}" in PUBLIC
        if name.strip("_") in refused and not public:
            yield node.lineno, name


def shared_classes(source: Path = SOURCE) -> dict[str, list[Path]]:
    """Return each class name that several modules define, with the modules."""
    places: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}


def shared_modules(source: Path = SOURCE) -> dict[str, list[Path]]:
    """Return each module name that several packages use for different things, with the modules."""
    places: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        if path.stem not in ROLES and path.relative_to(source).parts[0] not in ("cli", "games"):
            places[path.stem].append(path)
    return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}


def main(arguments: list[str]) -> None:
    folders = [Path(argument).resolve() for argument in arguments] or [SOURCE]
    files = sorted({path for folder in folders for path in ([folder] if folder.is_file() else folder.rglob("*.py"))})
    total = 0
    for path in files:
        for line, name in sorted(participles(path)):
            print(f"{path.relative_to(ROOT)}:{line}: {name}")
            total += 1
    for kind, shared in (("class", shared_classes()), ("module", shared_modules())):
        for name, paths in shared.items():
            if set(paths) & set(files):
                print(f"{kind} {name}: {', '.join(str(path.relative_to(ROOT)) for path in paths)}")
    print(f"{total} participles")


if __name__ == "__main__":
    main(sys.argv[1:])
