"""The gate around its statistics: commits side by side, arguments, exit codes, and one real comparison."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import gate
from benchmarks.gating import benches, measuring, trees
from benchmarks.gating.benches import Bench
from benchmarks.gating.measuring import Measured
from benchmarks.gating.statistics import BASE, CONTROL, HEAD, Answer, verdict
from benchmarks.gating.trees import GateError, Tree

WORKER = """
import json, pathlib, sys
cost = float(pathlib.Path(sys.argv[1], "src", "cost").read_text())
print('{"ready": true}', flush=True)
for line in sys.stdin:
    units = json.loads(line)["units"]
    print(json.dumps({"cpu_s": cost * units, "wall_s": 2 * cost * units, "units": units}), flush=True)
"""


class Counted(Bench):
    """A benchmark whose cost is a number in a file of the commit."""

    def command(self, name: str, tree: Tree, trial: int = 1) -> list[str]:
        return [sys.executable, "-c", WORKER, str(tree.folder)]


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def repository(folder: Path, *costs: str) -> Path:
    git(folder, "init", "--quiet")
    (folder / "src").mkdir()
    for cost in costs:
        (folder / "src" / "cost").write_text(cost)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--allow-empty", "-m", f"Cost {cost}")
    return folder


def measured(tmp_path: Path, before: str, after: str) -> Measured:
    with trees.side_by_side("HEAD~1..HEAD", repository(tmp_path, before, after)) as (base, head):
        return measuring.measure("counted", Counted("", 3, 1), base, head, budget_s=60.0, say=lambda line: None)


def test_both_commits_lie_side_by_side_and_are_removed(tmp_path: Path) -> None:
    root = repository(tmp_path, "1", "2")
    with trees.side_by_side("HEAD~1..HEAD", root) as (base, head):
        assert [(each.folder / "src" / "cost").read_text() for each in (base, head)] == ["1", "2"]
        assert base.environment["PYTHONPATH"].split(os.pathsep)[0] == str(base.folder / "src")
    assert not base.folder.exists()
    worktrees = subprocess.run(["git", "-C", str(root), "worktree", "list"], capture_output=True, text=True, check=True)
    assert len(worktrees.stdout.splitlines()) == 1


@pytest.mark.parametrize("revisions", ["HEAD~9..HEAD", "nothing..HEAD", "--help..HEAD"])
def test_a_commit_that_does_not_exist_is_refused(tmp_path: Path, revisions: str) -> None:
    with pytest.raises(GateError), trees.side_by_side(revisions, repository(tmp_path, "1", "2")):
        pass


def test_a_commit_that_costs_more_is_slower_and_one_that_costs_the_same_is_not(tmp_path: Path) -> None:
    for folder in ("slow", "same"):
        (tmp_path / folder).mkdir()
    slow, same = measured(tmp_path / "slow", "1.0", "1.05"), measured(tmp_path / "same", "1.0", "1.0")
    assert slow.verdict.sentence.startswith("slower by 5.0%")
    assert same.verdict.sentence == "not slower than 3%"
    assert slow.row(HEAD)["median"] == 1.05
    assert slow.wall_ratios[CONTROL] == [1.0] * slow.verdict.trials


def test_a_commit_with_which_the_benchmark_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(GateError, match="counted cannot be measured at"):
        measured(tmp_path, "1.0", "not a number")


def test_the_exit_code_tells_slower_from_cannot_tell() -> None:
    def result(answer: Answer) -> Measured:
        ratio = {Answer.SLOWER: 1.1, Answer.NOT_SLOWER: 1.0}.get(answer)
        ratios = {HEAD: [ratio] * 6, CONTROL: [1.0] * 6} if ratio else {HEAD: [], CONTROL: []}
        return Measured(verdict=verdict(ratios))

    slower, passed, unsure = (result(answer) for answer in (Answer.SLOWER, Answer.NOT_SLOWER, Answer.CANNOT_TELL))
    assert gate.exit_code({"a": passed}) == gate.PASSED
    assert gate.exit_code({"a": passed, "b": unsure}) == gate.CANNOT_TELL
    assert gate.exit_code({"a": passed, "b": unsure, "c": slower}) == gate.SLOWER


def test_benchmarks_are_chosen_by_name() -> None:
    assert list(benches.chosen("")) == list(benches.BENCHES)
    assert list(benches.chosen("fleet, learner")) == ["fleet", "learner"]
    with pytest.raises(GateError, match="--bench flet: is none of"):
        benches.chosen("flet")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1h30m", 5400.0), ("45", 45.0)])
def test_budgets_are_durations(text: str, seconds: float) -> None:
    assert measuring.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "ten", "0s", "-5m", "5 minutes"])
def test_a_budget_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(GateError, match="--budget"):
        measuring.seconds(text)


@pytest.mark.parametrize("name", ["fleet", "encoder"])
def test_a_real_benchmark_runs_the_code_of_its_commit(name: str, tmp_path: Path) -> None:
    """Both commits are this working tree: the programs start, answer, and give positive costs."""
    tree = Tree("HEAD", trees.ROOT)
    few = Bench("", 5, 5, node=benches.BENCHES[name].node)
    result = measuring.measure(name, few, tree, tree, budget_s=0.1, say=lambda line: None)
    assert result.verdict.trials == 1
    assert all(result.costs[who][0] > 0 for who in (BASE, HEAD, CONTROL))
