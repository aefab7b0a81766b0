"""Stacks that profilers have written, read and added up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ludus.diagnostics.profiling import recorders, run_profile, stacks
from ludus.diagnostics.profiling.kernels import KernelRecorder
from ludus.diagnostics.profiling.recorders import CommandRecorder, ProfileError
from ludus.diagnostics.profiling.run_profile import RunProfile
from ludus.diagnostics.profiling.stacks import StackFrame, StackSamples
from ludus.diagnostics.profiling.targets import ProfiledProcess
from ludus.errors import ConfigError, SetupError

TARGET = ProfiledProcess("host 0", "hosts", 1, "other", "")


def frames(samples: StackSamples) -> dict[str, tuple[float, float]]:
    return {line.frame.function: (line.self_share, line.total_share) for line in stacks.hottest([samples], 10)}


def test_own_time_and_time_with_callees_are_shares_of_the_time_that_was_watched() -> None:
    main, work = StackFrame("main"), StackFrame("work")
    samples = StackSamples("host 0", {(main, work): 3.0, (main,): 1.0}, 10.0)
    assert frames(samples)["work"] == pytest.approx((0.3, 0.3))
    assert frames(samples)["main"] == pytest.approx((0.1, 0.4))


def test_recursion_counts_once() -> None:
    again = StackFrame("again")
    assert frames(StackSamples("x", {(again, again, again): 1.0}, 1.0)) == {"again": (1.0, 1.0)}


def test_a_profile_of_v8_is_read_without_the_time_in_which_the_host_waits() -> None:
    def node(at: int, name: str, url: str = "file:///a/host.js", children: tuple[int, ...] = ()) -> dict[str, Any]:
        return {"id": at, "callFrame": {"functionName": name, "url": url, "lineNumber": 4}, "children": list(children)}

    data = {
        "nodes": [
            *(node(1, "(root)", "", (2, 5)), node(2, "loop", children=(3, 4)), node(3, "turn")),
            *(node(4, "read", ""), node(5, "(idle)", "")),
        ],
        "samples": [3, 4, 5, 2],
        "timeDeltas": [2_000_000, 3_000_000, 4_000_000, 1_000_000],
        "startTime": 0,
        "endTime": 10_000_000,
    }
    samples = stacks.of_cpuprofile(data, "host 0")
    assert samples.seconds == 10.0
    assert frames(samples).keys() == {"turn", "loop"}
    assert frames(samples)["turn"] == pytest.approx((0.2, 0.2))
    assert frames(samples)["loop"] == pytest.approx((0.1, 0.3))
    assert stacks.hottest([samples], 1)[0].frame.place == "a/host.js:5"


def test_what_is_written_for_speedscope_is_read_back() -> None:
    stack = (StackFrame("main", "a.py", 1), StackFrame("work", "a.py", 7))
    page = stacks.speedscope([StackSamples("learner", {stack: 2.5}, 5.0)], "run")
    assert stacks.of_speedscope(page, "learner", 5.0).stacks == {stack: 2.5}


@pytest.mark.parametrize("data", [{}, [], {"shared": {"frames": []}, "profiles": [{"samples": [[9]], "weights": [1]}]}])
def test_a_profile_of_another_shape_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="unknown form"):
        stacks.of_speedscope(data, "x", 1.0)
    with pytest.raises(ValueError, match="unknown form"):
        stacks.of_cpuprofile(data, "x")


def test_a_name_from_a_host_is_shown_as_text(tmp_path: Path) -> None:
    frame = stacks.of_flight_recorder(
        {"recording": {"events": [{"values": {"stackTrace": {"frames": [
            {"method": {"name": "<init>\x1b[2J|", "type": {"name": "a/B"}}, "lineNumber": 3}]}}}]}},
        "host 0",
        1.0,
    )  # fmt: skip
    result = run_profile.ProfileResult(tmp_path, stacks.hottest([frame], 5), ["host 1: said <b>"])
    page = run_profile.markdown(result)
    assert "a.B.&lt;init>?[2J\\|" in page
    assert "said &lt;b>" in page


def test_a_system_that_forbids_it_is_named_with_what_to_do(tmp_path: Path) -> None:
    words = ("sh", "-c", "echo 'Error: Permission Denied: Try running again' >&2; exit 1")
    recorder = CommandRecorder(TARGET, words, tmp_path / "x.json", tmp_path / "x.log")
    recorder._process.wait(10)
    with pytest.raises(ProfileError, match=r"the system does not allow to read this process.*SYS_PTRACE"):
        recorder.result()


def test_a_profiler_that_writes_nothing_or_rubbish_is_said(tmp_path: Path) -> None:
    silent = CommandRecorder(TARGET, ("sh", "-c", "echo no such process"), tmp_path / "x.json", tmp_path / "x.log")
    silent._process.wait(10)
    with pytest.raises(ProfileError, match="its profiler wrote nothing: no such process"):
        silent.result()
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ProfileError, match=r"x\.json cannot be read"):
        recorders.read_profile(tmp_path / "x.json", "x", 1.0)


def test_operators_of_torch_are_recorded_in_the_thread_that_trains(tmp_path: Path) -> None:
    import torch

    recorder = KernelRecorder(cuda=False)
    torch.ones(64, 64) @ torch.ones(64, 64)
    samples = recorder.stop(tmp_path)
    assert any("aten::mm" in stack[0].function for stack in samples.stacks)
    assert {path.name for path in tmp_path.iterdir()} == {"learner-gpu.txt", "learner-gpu.trace.json"}


def test_unknown_processes_and_a_missing_profiler_are_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_profile.kinds_of("learner, hosts") == ("learner", "hosts")
    assert run_profile.kinds_of("all") == ("learner", "actor", "hosts")
    with pytest.raises(ConfigError, match="--profile: there is no kind of process 'leaner'; did you mean learner"):
        run_profile.kinds_of("leaner")
    with pytest.raises(ConfigError, match="--profile-seconds: 0 is not between"):
        RunProfile(tmp_path, ("hosts",), 0)
    monkeypatch.setattr(recorders, "py_spy", lambda: None)
    with pytest.raises(SetupError, match="py-spy is missing"):
        RunProfile(tmp_path, ("actor",), 1.0)
    assert list(tmp_path.iterdir()) == []
