"""Processes of a run are told apart by their command lines."""

from __future__ import annotations

import pytest

from ludus.processes import kinds


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["python", "-P", "-m", "ludus.actors.child", "12"], "actor"),
        (["python", "-m", "ludus.watch", "runs/one"], "page"),
        (["/opt/venv/bin/py-spy", "record", "--pid", "7"], "profiler"),
        (["python", "-c", "from multiprocessing.resource_tracker import main;main(9)"], "helper"),
        (["node", "host.js", "pokemon-showdown"], "host"),
    ],
)
def test_a_process_is_named_by_what_it_runs(words: list[str], kind: str) -> None:
    assert kinds.kind(words) == kind
