"""The installer with a Node that is a shell script: it plays npm, well or badly, and counts how often it is called."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from ludus.errors import SetupError
from ludus.games import cache
from ludus.games.showdown import install
from ludus.games.showdown import node as nodes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake Node is a shell script")

WORKS = "mkdir -p node_modules/pokemon-showdown/dist/sim && echo > node_modules/pokemon-showdown/dist/sim/index.js"


@dataclass
class FakeNode:
    executable: Path
    calls: Path

    @property
    def installs(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "showdown"


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., FakeNode]:
    def make(npm: str = WORKS, version: str = "v22.1.0") -> FakeNode:
        prefix = tmp_path / "fake"
        script = prefix / "lib/node_modules/npm/bin/npm-cli.js"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.touch()
        node = FakeNode(prefix / "bin/node", tmp_path / "calls")
        node.executable.parent.mkdir(exist_ok=True)
        node.executable.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\necho "$@" >> {node.calls}\n{npm}\n'
        )
        node.executable.chmod(0o755)
        return node

    return make


def test_install_leaves_a_marked_folder_and_nothing_else(home: Path, fake: Callable[..., FakeNode]) -> None:
    found = install.ensure(str(fake().executable))
    assert found.root.parts[-2:] == ("node_modules", "pokemon-showdown")
    assert (found.root / "dist/sim/index.js").is_file()
    assert sorted(path.name for path in home.iterdir()) == sorted(
        [found.root.parents[1].name, "install.lock", "install.log"]
    )


def test_npm_is_told_to_keep_to_the_lock_file_and_to_run_no_scripts(home: Path, fake: Callable[..., FakeNode]) -> None:
    node = fake()
    install.ensure(str(node.executable))
    told = node.calls.read_text()
    assert " ci " in told
    assert "--omit=optional" in told
    assert "--ignore-scripts" in told


def test_second_call_does_nothing(home: Path, fake: Callable[..., FakeNode]) -> None:
    node = fake()
    first = install.ensure(str(node.executable))
    assert install.ensure(str(node.executable)) == first
    assert node.installs == 1


def test_folder_without_marker_is_installed_again(home: Path, fake: Callable[..., FakeNode]) -> None:
    node = fake()
    root = install.ensure(str(node.executable)).root
    (root.parents[1] / "installed.json").unlink()
    (root / "half-written").touch()
    assert not install.status(str(node.executable)).installed
    assert not (install.ensure(str(node.executable)).root / "half-written").exists()
    assert node.installs == 2


@pytest.mark.parametrize("marker", ['{"version": "0.11.10", "lock": "0"}', '{"version": "0.1', ""])
def test_marker_of_another_version_or_cut_short_is_not_believed(
    home: Path, fake: Callable[..., FakeNode], marker: str
) -> None:
    node = fake()
    folder = install.ensure(str(node.executable)).root.parents[1]
    (folder / "installed.json").write_text(marker)
    install.ensure(str(node.executable))
    assert json.loads((folder / "installed.json").read_text())["version"] == install.VERSION
    assert node.installs == 2


def test_leftovers_of_an_interrupted_install_are_removed(home: Path, fake: Callable[..., FakeNode]) -> None:
    (home / "partial-gone/node_modules/pokemon-showdown").mkdir(parents=True)
    install.ensure(str(fake().executable))
    assert list(home.glob("partial-*")) == []


def test_npm_killed_half_way_leaves_nothing_that_looks_finished(home: Path, fake: Callable[..., FakeNode]) -> None:
    node = fake(f"{WORKS}; kill -9 $$")
    with pytest.raises(SetupError, match="exit status -9"):
        install.ensure(str(node.executable))
    assert not install.status(str(node.executable)).installed
    assert list(home.glob("*/")) == []
    assert install.ensure(str(fake().executable)).root.is_dir()


def test_interrupt_from_the_keyboard_ends_npm_and_cleans_up(home: Path, fake: Callable[..., FakeNode]) -> None:
    node = fake("echo $$ > pid; exec sleep 60")

    def interrupt(stage: str, fraction: float) -> None:
        if pids := list(home.glob("partial-*/pid")):
            started.extend(int(pid.read_text() or 0) for pid in pids)
            if started[-1]:
                raise KeyboardInterrupt

    started: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        install.ensure(str(node.executable), interrupt)
    assert list(home.glob("partial-*")) == []
    with pytest.raises(ProcessLookupError):
        os.kill(started[-1], 0)


def test_only_one_of_many_callers_installs(home: Path, fake: Callable[..., FakeNode]) -> None:
    node = fake()
    with ThreadPoolExecutor(8) as pool:
        roots = {found.root for found in pool.map(install.ensure, [str(node.executable)] * 8)}
    assert len(roots) == 1
    assert node.installs == 1


def test_waiting_for_another_install_has_a_deadline(home: Path, tmp_path: Path) -> None:
    lock = tmp_path / "install.lock"
    with cache.exclusive(lock, 1.0), pytest.raises(SetupError, match="another process"), cache.exclusive(lock, 0.2):
        pass


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("npm error code ENOTFOUND", "check the network"),
        ("npm error code ENOSPC", "LUDUS_HOME"),
        ("npm error code EINTEGRITY", "differs from the lock file"),
        ("npm error code E404", "npm config get registry"),
        ("npm error something nobody has seen", "something nobody has seen"),
    ],
)
def test_failure_of_npm_says_what_to_do(home: Path, fake: Callable[..., FakeNode], said: str, told: str) -> None:
    with pytest.raises(SetupError, match=told):
        install.ensure(str(fake(f"echo '{said}' >&2; exit 1").executable))


def test_npm_that_never_ends_is_ended(
    home: Path, fake: Callable[..., FakeNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "NPM_DEADLINE_S", 0.3)
    with pytest.raises(SetupError, match="did not finish"):
        install.ensure(str(fake("exec sleep 60").executable))
    assert list(home.glob("partial-*")) == []


def test_full_disk_is_noticed_before_downloading(
    home: Path, fake: Callable[..., FakeNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = fake()
    monkeypatch.setattr(install, "NEEDED_MIB", 1 << 40)
    with pytest.raises(SetupError, match="MiB free"):
        install.ensure(str(node.executable))
    assert node.installs == 0


def test_cache_folder_that_cannot_be_made_is_a_clear_error(
    tmp_path: Path, fake: Callable[..., FakeNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path / "file"))
    with pytest.raises(SetupError, match="cannot install the simulator into"):
        install.ensure(str(fake().executable))


def test_node_that_is_too_old_is_refused_with_its_version(home: Path, fake: Callable[..., FakeNode]) -> None:
    node = fake(version="v18.20.1")
    with pytest.raises(SetupError, match=re.escape("is Node 18.20.1; 20 or newer")):
        install.ensure(str(node.executable))
    assert node.installs == 0
    assert "18.20.1" in install.status(str(node.executable)).problem


def test_system_node_is_the_first_on_the_path(
    home: Path, fake: Callable[..., FakeNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = fake()
    monkeypatch.setenv("PATH", f"{node.executable.parent}{os.pathsep}{os.environ['PATH']}")
    assert install.ensure("system").node == node.executable


def test_node_on_the_machine_is_not_used_unless_asked_for(
    fake: Callable[..., FakeNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = fake()
    monkeypatch.setenv("PATH", f"{node.executable.parent}{os.pathsep}{os.environ['PATH']}")
    assert nodes.find() != node.executable


def test_missing_system_node_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="no `node` on PATH"):
        nodes.find("system")


@pytest.mark.parametrize("node", ["/no/such/node", "wheeel"])
def test_path_without_a_node_is_a_clear_error(node: str) -> None:
    with pytest.raises(SetupError, match="is no Node executable"):
        nodes.find(node)


def test_program_that_is_not_node_is_a_clear_error(fake: Callable[..., FakeNode]) -> None:
    with pytest.raises(SetupError, match="no Node version"):
        nodes.find(str(fake(version="hello").executable))


def test_status_creates_nothing(home: Path, fake: Callable[..., FakeNode]) -> None:
    seen = install.status(str(fake().executable))
    assert not seen.installed
    assert seen.node_version == "22.1.0"
    assert "make setup" in seen.problem
    assert not home.exists()


def test_lock_file_has_a_hash_for_every_package_and_no_address() -> None:
    text = (install.MANIFEST / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    assert packages["node_modules/pokemon-showdown"]["version"] == install.VERSION
    assert all("integrity" in package for name, package in packages.items() if name)
    assert "resolved" not in text
    assert "://" not in text
