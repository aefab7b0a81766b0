"""The measuring itself, on contestants that are a few lines of Python and count as told."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from benchmarks import contest
from benchmarks.contest import Contestant

ROOT = Path(__file__).parents[3]
OBEDIENT = """
import json, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    seconds = json.loads(line)["seconds"]
    print(json.dumps({"decisions": 100 * seconds, "seconds": seconds}), flush=True)
"""
DYING = "print('{\"ready\": true}', flush=True); input(); raise SystemExit(3)"


def contestant(name: str, program: str = OBEDIENT, processes: int = 1, pausing: bool = True) -> Contestant:
    return Contestant(name, [[sys.executable, "-c", program]] * processes, pausing)


def stops(pid: int) -> bool:
    """Waits for the next change of a child's state: a signal takes its time."""
    change = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return change is not None and change.si_code == os.CLD_STOPPED


def test_rates_of_all_processes_are_added() -> None:
    with contestant("two", processes=2) as two:
        two.wait_until_ready()
        assert two.measure(0.5) == 200.0


def test_everybody_is_measured_once_a_repeat_after_a_warm_up_that_does_not_count() -> None:
    both = [contestant("a"), contestant("b", processes=2)]
    with ExitStack() as running:
        contest.start(both, running)
        contest.run_interleaved(both, repeats=3, warm_up_s=0.1, seconds=0.1)
    assert [each.samples for each in both] == [[100.0] * 3, [200.0] * 3]
    assert [len(each.cores) for each in both] == [3, 3]
    assert [len(each.answers) for each in both] == [3, 3]


def test_turns_are_taken_in_parts_by_those_who_can_and_make_one_sample_each() -> None:
    order: list[tuple[str, float]] = []

    class Noting(Contestant):
        def measure(self, seconds: float) -> float:
            order.append((self.name, seconds))
            rate = super().measure(seconds)
            return rate * len(order)

    command = [[sys.executable, "-c", OBEDIENT]]
    cut, whole, other = Noting("cut", command), Noting("whole", command, steady=False), Noting("other", command)
    with ExitStack() as running:
        contest.start([cut, whole, other], running)
        contest.run_interleaved([cut, whole, other], repeats=1, warm_up_s=0.1, seconds=0.2, parts=2)
    assert order[3:] == [("cut", 0.1), ("whole", 0.2), ("other", 0.1), ("cut", 0.1), ("other", 0.1)]
    assert [cut.samples, whole.samples, other.samples] == [[550.0], [500.0], [700.0]]
    assert [len(each.cores) for each in (cut, whole, other)] == [1, 1, 1]


def test_all_are_asked_to_leave_before_one_is_waited_for() -> None:
    asked: list[str] = []

    class Leaving(Contestant):
        def leave(self) -> None:
            asked.append(self.name)
            super().leave()

    both = [Leaving(name, [[sys.executable, "-c", OBEDIENT]]) for name in ("a", "b")]
    with ExitStack() as running:
        contest.start(both, running)
    assert set(asked[:2]) == {"a", "b"}


def test_one_that_never_rests_is_stopped_between_its_measurements_and_ended_all_the_same() -> None:
    before = psutil.Process().children()
    with contestant("restless", pausing=False) as restless:
        restless.wait_until_ready()
        (child,) = [each for each in psutil.Process().children() if each not in before]
        assert stops(child.pid)
        assert restless.measure(0.1) == 100.0
        assert stops(child.pid)
    assert not child.is_running()


def test_one_that_dies_is_named_with_its_status() -> None:
    with contestant("dying", DYING) as dying:
        dying.wait_until_ready()
        with pytest.raises(RuntimeError, match="dying ended with status 3"):
            dying.measure(0.1)


def test_ratio_is_of_the_medians_and_its_spread_of_single_repeats() -> None:
    ratio = contest.ratio([10.0, 20.0, 30.0], [10.0, 10.0, 20.0])
    assert ratio == {"median": 2.0, "low": 1.0, "high": 2.0}


def test_summary_gives_median_and_spread() -> None:
    assert contest.summary([3.0, 1.0, 2.0]) == {"median": 2.0, "low": 1.0, "high": 3.0}


def test_a_stopped_one_dies_with_the_benchmark() -> None:
    benchmark = f"""
import sys
from benchmarks.contest import Contestant
with Contestant("restless", [[sys.executable, "-c", {OBEDIENT!r}]], pausing=False) as restless:
    restless.wait_until_ready()
    print(restless._processes[0].pid, flush=True)
    sys.stdin.read()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", benchmark], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    gone, _ = psutil.wait_procs([child], timeout=10)
    assert gone == [child]


def options() -> contest.Options:
    parser = contest.Options("What it measures.", contest.ROOT / "benchmarks" / "results" / "it.jsonl")
    parser.trials(repeats=(5, 2), seconds=(6.0, 1.2), warm_up=(20.0, 1.0))
    return parser


@pytest.mark.parametrize(
    ("words", "repeats", "seconds", "warm_up", "save"),
    [
        ((), 5, 6.0, 20.0, False),
        (("--quick", "--save"), 2, 1.2, 1.0, True),
        (("--quick", "--repeats", "9", "--warm-up", "3"), 9, 1.2, 3.0, False),
        (("--repeats", "0"), 0, 6.0, 20.0, False),
    ],
)
def test_what_is_not_said_is_as_quick_as_asked(
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    repeats: int,
    seconds: float,
    warm_up: float,
    save: bool,
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench_it.py", *words])
    arguments = options().arguments()
    assert (arguments.repeats, arguments.seconds, arguments.warm_up, arguments.save) == (
        repeats,
        seconds,
        warm_up,
        save,
    )


def test_help_says_both_defaults_and_where_results_go() -> None:
    page = " ".join(options().format_help().split())
    for words in (
        "measurements of each program (5; quick: 2)",
        "seconds of one measurement (6; quick: 1.2)",
        "seconds of warm-up before the first measurement (20; quick: 1)",
        "append the result to benchmarks/results/it.jsonl",
    ):
        assert words in page
