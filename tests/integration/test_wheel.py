"""The wheel of ludus, installed into an empty virtual environment, trains without the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ludus.bundle import own_wheel

ROOT = Path(__file__).parents[2]
DEADLINE_S = 150.0
SMALL = (
    "mode=serial",
    "fleet.matches=8",
    "learner.decisions=256",
    "learner.minibatch=128",
    "rollout.segment=8",
    "evaluation.matches=4",
    "policy.width=8",
    "budget.updates=2",
)


@dataclass(frozen=True)
class Installed:
    wheel: Path
    home: Path  # of the virtual environment

    def run(self, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the virtual environment in `folder`, without a way to find the source tree."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        program = self.home / ("Scripts" if os.name == "nt" else "bin") / words[0]
        return subprocess.run(
            [program, *words[1:]],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            stdin=subprocess.DEVNULL,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    wheel = own_wheel.build(ROOT, folder)
    home = folder / "venv"
    venv.create(home, symlinks=os.name != "nt")
    python = next(home.glob("bin/python")) if os.name != "nt" else home / "Scripts" / "python.exe"
    link_dependencies(folder / "dependencies", Path(site_packages(python)))
    pip("--python", str(python), "install", "--no-index", "--no-deps", str(wheel))
    return Installed(wheel, home)


def link_dependencies(folder: Path, site: Path) -> None:
    """Make all packages of this interpreter importable in `site`, except ludus and editable installs."""
    folder.mkdir()
    for source in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(source).iterdir():
            if not path.name.startswith(("ludus", "__editable__", "__pycache__")):
                (folder / path.name).symlink_to(path)
    (site / "dependencies.pth").write_text(f"{folder}\n")


def site_packages(python: Path) -> str:
    return output([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()


def pip(*words: str) -> None:
    output([sys.executable, "-m", "pip", "--quiet", "--isolated", *words])


def output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_distribution_is_called_ludus_rl(installed: Installed, tmp_path: Path) -> None:
    assert installed.wheel.name.startswith("ludus_rl-")
    code = "from importlib.metadata import version; import ludus; print(version('ludus-rl') == ludus.__version__)"
    assert installed.run(tmp_path, "python", "-c", code).stdout.strip() == "True"


def test_the_wheel_contains_every_file_of_the_package(installed: Installed) -> None:
    files = (path for path in (ROOT / "src" / "ludus").rglob("*") if path.is_file())
    sources = {path.relative_to(ROOT / "src").as_posix() for path in files if "__pycache__" not in path.parts}
    with zipfile.ZipFile(installed.wheel) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("ludus/")}
    assert packed == sources
    assert {Path(name).suffix for name in packed} >= {".py", ".js", ".java", ".json", ".yaml", ".html", ".typed"}


def test_an_installed_wheel_trains_a_toy_game_without_the_source_tree(installed: Installed, tmp_path: Path) -> None:
    place = installed.run(tmp_path, "python", "-c", "import ludus; print(ludus.__file__)")
    assert Path(place.stdout.strip()).is_relative_to(installed.home), place.stderr
    settings = [word for each in SMALL for word in ("--set", each)]
    done = installed.run(tmp_path, "ludus", "train", "nim", *settings, "--run-dir", "run")
    assert done.returncode == 0, done.stderr
    assert "final evaluation against random" in done.stdout
    assert (tmp_path / "run" / "report.md").is_file()


def test_an_installed_wheel_lists_every_game_with_its_presets(installed: Installed, tmp_path: Path) -> None:
    code = "import ludus\nfor game in ludus.games(): print(game.name, *game.presets)"
    done = installed.run(tmp_path, "python", "-c", code)
    assert done.returncode == 0, done.stderr
    listing = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert {"toy", "command", "gymnasium", "pettingzoo", "openspiel", "rocket", "openfront", "showdown"} <= set(listing)
    assert "nim" in listing["toy"]
    assert "gen1" in listing["showdown"]
