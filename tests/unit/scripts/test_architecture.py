"""The page about the architecture names what is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def packages_named() -> dict[str, list[str]]:
    """Package to the modules that the tree on the page lists for it, on its line and on the indented lines below."""
    rows = re.findall(r"^  (\w+)/ +(.*(?:\n {10,}.*)*)$", PAGE, flags=re.MULTILINE)
    return {name: re.findall(r"\w+\.py", modules) for name, modules in rows if (ROOT / "src" / "ludus" / name).is_dir()}


def test_every_package_is_on_the_page() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "ludus").glob("*/__init__.py")}
    assert packages == set(packages_named())


def test_every_module_on_the_page_exists() -> None:
    missing = [
        f"{package}/{module}"
        for package, modules in packages_named().items()
        for module in modules
        if not (ROOT / "src" / "ludus" / package / module).exists()
    ]
    assert missing == []


def test_every_module_is_on_the_page() -> None:
    unlisted = [
        f"{package}/{path.name}"
        for package, modules in packages_named().items()
        for path in sorted((ROOT / "src" / "ludus" / package).glob("[a-z]*.py"))
        if path.name not in modules and package != "cli"  # one file per command
    ]
    assert unlisted == []


def test_the_contract_on_games_names_every_game_and_every_other_module() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    contract = next(contract for contract in contracts if "imports a concrete game" in contract["name"])
    games = ROOT / "src" / "ludus" / "games"
    concrete = {f"ludus.games.{path.parent.name}" for path in games.glob("*/__init__.py")}
    assert set(contract["forbidden_modules"]) == concrete
    modules = {f"ludus.{path.parent.name}" for path in games.parent.glob("*/__init__.py")} - {"ludus.games"}
    modules |= {f"ludus.{path.stem}" for path in games.parent.glob("[a-z]*.py")}
    modules |= {f"ludus.games.{path.stem}" for path in games.glob("[a-z]*.py")}
    assert set(contract["source_modules"]) == modules


def test_the_layers_on_the_page_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    checked = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    stated = re.search(r"`(cli > .*?)`", PAGE, flags=re.DOTALL)
    assert stated is not None
    layers = " > ".join(layer.replace("ludus.", "") for layer in checked)
    assert " ".join(stated[1].split()) == layers
