"""The real installer: the real Node, the real npm, the real simulator."""

from __future__ import annotations

import subprocess

from ludus.games.showdown import install

LOAD = "const {Dex} = require(process.argv[1]); console.log(Dex.formats.get('gen1randombattle').exists)"


def test_installed_simulator_loads_on_the_installed_node() -> None:
    found = install.ensure()
    answer = subprocess.run(
        [found.node, "-e", LOAD, found.root], capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.stdout.strip() == "true", answer.stderr


def test_second_call_finds_the_same_and_reports_no_progress() -> None:
    stages: list[str] = []
    first = install.ensure()
    assert install.ensure(progress=lambda stage, fraction: stages.append(stage)) == first
    assert stages == []


def test_status_agrees_with_what_was_installed() -> None:
    found = install.ensure()
    seen = install.status()
    assert seen.installed
    assert seen.problem == ""
    assert found.root.is_relative_to(seen.folder)
    assert int(seen.node_version.split(".")[0]) >= 20
