"""A game in a package of its own does everything that a game of ludus does (examples/closest, docs/games.md)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from tests.commands import LUDUS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "closest"
DEADLINE_S = 100.0
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven")


@dataclass(frozen=True)
class Installed:
    site: Path  # with the package and its entry points
    home: Path  # where the package keeps its data
    run: Path  # a trained run

    def ludus(self, *words: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        return self.execute(*LUDUS, *words, home=home)

    def execute(self, *command: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in an environment in which the package is installed."""
        paths = os.pathsep.join(map(str, (self.site, ROOT / "src")))
        return subprocess.run(
            command,
            cwd=self.site.parent,
            env={**os.environ, "PYTHONPATH": paths, "CLOSEST_HOME": str(home or self.home), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            stdin=subprocess.DEVNULL,
        )

    def output(self, *words: str) -> str:
        done = self.ludus(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The package, built and installed into a folder, with a run that its preset has trained."""
    folder = tmp_path_factory.mktemp("package")
    sources = Path(shutil.copytree(PACKAGE, folder / "sources"))  # setuptools writes beside the sources
    pip = (sys.executable, "-m", "pip", "--quiet", "--isolated", "install", "--no-index", "--no-deps")
    site = folder / "site"
    done = subprocess.run(
        [*pip, "--no-build-isolation", "--target", str(site), str(sources)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    package = Installed(site, folder / "home", folder / "run")
    settings = ("mode=serial", "evaluation.matches=20", "evaluation.every_updates=1000")
    sets = [word for each in settings for word in ("--set", each)]
    assert "closest: installed" in package.output("train", "closest", *sets, "--run-dir", str(package.run))
    return package


def test_its_preset_trains_its_own_net(installed: Installed) -> None:
    (model,) = installed.run.glob("checkpoints/u00000020/model.safetensors")
    assert {name: value.shape for name, value in load_file(model).items()} == {
        "net.policy.weight": (8, 8),
        "net.value.weight": (8, 1),
    }


def test_it_is_evaluated_against_its_own_opponents_and_replayed(installed: Installed, tmp_path: Path) -> None:
    words = ("--opponents", "random,exact", "--matches", "40", "--save-replays", str(tmp_path), "--json")
    results = json.loads(installed.output("eval", str(installed.run), *words))["results"]
    scores = {result["opponent"]: (result["wins"], result["ties"]) for result in results}
    assert scores["random"][0] > 36
    assert scores["exact"][1] > 36
    path = min(tmp_path.glob("*.ludus.json"))
    assert "It ends as recorded after 4 turns" in installed.output("replay", str(path))
    assert "clock " in path.with_name(path.name.removesuffix(".ludus.json") + ".html").read_text()


def test_its_command_is_a_command_of_ludus(installed: Installed) -> None:
    assert "Example: ludus closest" in installed.output("closest", "--help")
    assert installed.output("closest", str(installed.run)).splitlines() == [f"{word}: {word}" for word in NUMBERS]


def test_its_checks_are_lines_of_the_doctor(installed: Installed, tmp_path: Path) -> None:
    done = installed.ludus("doctor", home=tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert any(line.split()[:3] == ["missing", "closest", "words"] for line in lines), lines


def test_it_is_listed_checked_and_shown_in_the_live_table(installed: Installed) -> None:
    code = (
        "from ludus.games import hooks, listing, registry\n"
        "game = registry.load('closest')\n"
        "print(*(info.presets for info in listing.games() if info.name == game.name))\n"
        "print(*(finding.state for finding in hooks.findings_of(game)))\n"
        "print(*hooks.table_lines_of(game)({'fact/exact': 0.25}))\n"
    )
    done = installed.execute(sys.executable, "-c", code)
    assert done.stdout.splitlines() == ["('closest',)", "ok", "('exact', '25%')"], done.stderr
