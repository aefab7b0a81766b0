"""`ludus train --profile` with real hosts in Python, JavaScript and Java, and the profilers of each."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest
from tests.commands import ludus

from ludus.diagnostics.profiling import recorders
from ludus.diagnostics.profiling.recorders import JavaRecorder
from ludus.diagnostics.profiling.targets import ProfiledProcess

BUSY = """
public class Busy {
    static double work(long end) {
        double sum = 0;
        while (System.nanoTime() < end) for (int i = 0; i < 100000; i++) sum += Math.sqrt(sum + i);
        return sum;
    }
    public static void main(String[] args) {
        while (true) System.out.println(work(System.nanoTime() + 2000000000L));
    }
}
"""
ROOT = Path(__file__).parents[2]
SHORT = (
    *("--set", "budget.minutes=0.15", "--set", "evaluation.matches=2", "--set", "evaluation.every_updates=100000"),
    *("--set", "fleet.hosts=1", "--set", "fleet.matches=32", "--set", "learner.decisions=512"),
    *("--set", "learner.minibatch=256"),
)
needs_py_spy = pytest.mark.skipif(recorders.py_spy() is None, reason="py-spy is not installed")
needs_jdk = pytest.mark.skipif(shutil.which("jcmd") is None, reason="no JDK on this machine")


def processes(folder: Path) -> dict[str, set[str]]:
    """The functions of the table by process; checks that the speedscope file has the same processes."""
    page = json.loads((folder / "hottest.json").read_text())
    assert page["troubles"] == []
    table: dict[str, set[str]] = {}
    for line in page["frames"]:
        table.setdefault(line["process"], set()).add(line["function"])
        assert 0 < line["self_share"] <= line["total_share"] + 1e-9 <= 1.1
    profile = json.loads((folder / "profile.speedscope.json").read_text())
    assert table.keys() <= {each["name"] for each in profile["profiles"]}
    return table


@needs_py_spy
def test_python_processes_of_a_run_are_profiled_into_its_folder(tmp_path: Path) -> None:
    words = ("train", "nim", "--run-dir", "run", *SHORT, "--profile", "all", "--profile-seconds", "3")
    done = ludus(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert processes(tmp_path / "run" / "profile-1").keys() == {"learner", "actor 0", "host 0"}
    assert "Hottest frames" in done.stdout
    assert "Profile: run/profile-1" in done.stdout
    assert "profiling learner, actor, hosts for 3 s" in (tmp_path / "run" / "run.log").read_text()
    assert psutil.Process().children(recursive=True) == []


def test_a_node_host_that_blocks_on_stdin_profiles_itself(tmp_path: Path) -> None:
    game = f"command:node {ROOT / 'examples/hosts/connect_four.js'}"
    done = ludus(
        tmp_path, "train", "--game", game, "--run-dir", "run", *SHORT, "--profile", "hosts", "--profile-seconds", "3"
    )
    assert done.returncode == 0, done.stderr
    assert processes(tmp_path / "run" / "profile-1").keys() == {"host 0"}
    assert list((tmp_path / "run" / "profile-1").glob("node-*.cpuprofile"))
    assert list((tmp_path / "run" / "profile-1").glob("*.ready")) == []


@needs_jdk
def test_a_java_host_is_recorded_by_flight_recorder(tmp_path: Path) -> None:
    game = f"command:java {ROOT / 'src/ludus/sdk/java/Host.java'} {ROOT / 'examples/hosts/TicTacToe.java'}"
    done = ludus(
        tmp_path, "train", "--game", game, "--run-dir", "run", *SHORT, "--profile", "hosts", "--profile-seconds", "4"
    )
    assert done.returncode == 0, done.stderr
    [folder] = (tmp_path / "run").glob("profile-*")
    assert list(folder.glob("*.jfr"))
    assert processes(folder).keys() <= {"host 0"}  # it may have waited for the actor all the time


@needs_jdk
def test_flight_recorder_finds_the_method_that_works(tmp_path: Path) -> None:
    (tmp_path / "Busy.java").write_text(BUSY)
    with subprocess.Popen(["java", str(tmp_path / "Busy.java")], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            executable = psutil.Process(process.pid).exe()
            recorder = JavaRecorder(ProfiledProcess("host 0", "hosts", process.pid, "java", executable), tmp_path)
            process.stdout.readline()  # a second later
            samples = recorder.result()
        finally:
            process.kill()
    assert any(frame.function == "Busy.work" for stack in samples.stacks for frame in stack)


def test_a_game_names_how_its_hosts_are_profiled(tmp_path: Path) -> None:
    page = {"shared": {"frames": [{"name": "turn"}]}, "profiles": [{"samples": [[0]], "weights": [1.0]}]}
    (tmp_path / "page.json").write_text(json.dumps(page))
    hook = json.dumps(["cp", str(tmp_path / "page.json"), "{file}"])
    game = f"command:python -m ludus.sdk {ROOT / 'examples/hosts/tictactoe.py'}"
    done = ludus(
        *(tmp_path, "train", "--game", game, "--run-dir", "run", *SHORT, "--set", f"options.profile={hook}"),
        *("--profile", "hosts", "--profile-seconds", "1"),
    )
    assert done.returncode == 0, done.stderr
    assert processes(tmp_path / "run" / "profile-1") == {"host 0": {"turn"}}


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    assert "--profile-seconds: needs --profile" in ludus(tmp_path, "train", "nim", "--profile-seconds", "3").stderr
    bad = ludus(tmp_path, "train", "nim", "--profile", "learners")
    assert bad.stderr.startswith("ludus: --profile: there is no kind of process 'learners'")
    assert list(tmp_path.iterdir()) == []
