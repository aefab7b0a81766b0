"""A run that is stopped and resumed is the run it would have been: equal weights on the toy games."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from tests.running import (
    ENDLESS,
    NEVER,
    Silent,
    assert_equal_runs,
    counters,
    latest,
    recorded,
    running,
    small_run,
    train,
    with_updates,
)

from ludus.actors import in_flight
from ludus.actors.resolved import resolve
from ludus.config import load
from ludus.config.settings import (
    CheckpointConfig,
    EvaluationConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    RecurrentConfig,
    RunConfig,
)
from ludus.errors import CheckpointError
from ludus.games import catalogue
from ludus.metrics import accounts, names
from ludus.metrics.observer import Numbers
from ludus.policies.checkpoints import archive, checkpoint, checksums
from ludus.run import reporting


@pytest.fixture(autouse=True)
def _progress_is_shown_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "PROGRESS_S", 0.05)


class Interrupter(Silent):
    """Presses Ctrl-C once, when so many updates are made and progress is shown."""

    def __init__(self, updates: int) -> None:
        self._updates = updates

    def on_progress(self, numbers: Numbers) -> None:
        if float(numbers.get(names.UPDATES, 0)) >= self._updates:
            self._updates = sys.maxsize
            os.kill(os.getpid(), signal.SIGINT)


def config(updates: int, game: str = "rps", *, mode: str = "serial", hosts: int = 2, **options: object) -> RunConfig:
    """Matches last for several updates; past selves are thinned while they still play."""
    return small_run(
        updates,
        mode=mode,
        options={"game": game, "pile": 40, "rounds": 40, **options},
        fleet=FleetConfig(hosts=hosts, matches=8, backoff_s=0.01),
        learner=LearnerConfig(decisions=256, minibatch=128, lr=3e-3, lr_schedule="constant"),
        opponents=OpponentsConfig(
            past=0.4, scripted=0.4, scripted_names=("random", "perfect"), snapshot_every=1, pool=2
        ),
        evaluation=EvaluationConfig(("perfect",), matches=4, quick_matches=4, every_updates=NEVER),
    )


@pytest.mark.parametrize(
    ("game", "truncate_after", "recurrent"),
    [("nim", 0, None), ("rps", 27, None), ("rps", 27, "lstm")],
)
def test_three_updates_and_three_more_are_six(
    tmp_path: Path, game: str, truncate_after: int, recurrent: Literal["lstm"] | None
) -> None:
    three, six = (config(updates, game, truncate_after=truncate_after) for updates in (3, 6))
    if recurrent is not None:
        policy = PolicyConfig(width=16, recurrent=RecurrentConfig(recurrent, 8, sequence_length=5, burn_in=2))
        three, six = (msgspec.structs.replace(chosen, policy=policy) for chosen in (three, six))
    whole = train(six, tmp_path / "whole", observer=Silent())
    train(three, tmp_path / "parts", observer=Silent())
    parts = train(six, tmp_path / "parts", resume=True, observer=Silent())
    assert_equal_runs(whole, parts)


def as_written_before_the_renaming(run_dir: Path) -> None:
    """Rewrite a run as earlier versions wrote it: `policy.memory`, and arrays named `memory`."""
    config_file = run_dir / "config.yaml"
    assert "  recurrent:" in config_file.read_text()
    config_file.write_text(config_file.read_text().replace("  recurrent:", "  memory:"))
    folder = archive.Checkpoints(run_dir, 3).latest()
    assert folder is not None
    state = (folder / checkpoint.STATE).read_text()
    assert '"recurrent"' in state
    (folder / checkpoint.STATE).write_text(state.replace('"recurrent"', '"memory"'))
    with safe_open(folder / checkpoint.MATCHES, "np") as file:
        header = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no mapping
    old = {name.replace("hidden_state", "memory"): array for name, array in arrays.items()}
    assert {"bank.memory", "rollout.segments.open.memory"} <= old.keys()
    save_file(old, folder / checkpoint.MATCHES, header)
    (folder / checksums.CHECKSUMS).unlink()


def test_a_recurrent_run_of_an_earlier_version_goes_on_exactly(tmp_path: Path) -> None:
    policy = PolicyConfig(width=16, recurrent=RecurrentConfig("gru", 8, sequence_length=5, burn_in=2))
    three, six = (msgspec.structs.replace(config(updates, "rps"), policy=policy) for updates in (3, 6))
    whole = train(six, tmp_path / "whole", observer=Silent())
    train(three, tmp_path / "parts", observer=Silent())
    load.save(three, tmp_path / "parts" / "config.yaml")
    as_written_before_the_renaming(tmp_path / "parts")
    saved = load.load(tmp_path / "parts" / "config.yaml", ("budget.updates=6",), options_of=catalogue.options_of)
    assert saved.policy == policy
    parts = train(saved, tmp_path / "parts", resume=True, observer=Silent())
    assert_equal_runs(whole, parts)


@pytest.mark.parametrize(
    "learner",
    [
        {"algorithm": "rnad", "rnad": {"schedule": [[2, 1]]}},
        {"algorithm": "ppo_kl", "ppo_kl": {"refresh": 2, "portfolio": 2, "result_share": 0.5}},
    ],
    ids=["rnad", "ppo_kl"],
)
def test_what_an_algorithm_remembers_goes_on_too(tmp_path: Path, learner: dict[str, object]) -> None:
    plain = {"decisions": 256, "minibatch": 128, "lr": 3e-3, "lr_schedule": "constant"}
    settings = msgspec.convert({**plain, **learner}, LearnerConfig)
    chosen = msgspec.structs.replace(config(7), learner=settings)
    whole = train(chosen, tmp_path / "whole", observer=Silent())
    train(with_updates(chosen, 3), tmp_path / "parts", observer=Silent())
    parts = train(chosen, tmp_path / "parts", resume=True, observer=Silent())
    assert_equal_runs(whole, parts)


def alone(chosen: RunConfig) -> RunConfig:
    """Every decision is the learner's, and matches are long."""
    return msgspec.structs.replace(
        chosen, opponents=OpponentsConfig(past=0.0, scripted=0.0), options={"game": "rps", "rounds": 300}
    )


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_ctrl_c_loses_no_decision(tmp_path: Path, mode: str) -> None:
    chosen = alone(config(ENDLESS, mode=mode))
    first = train(chosen, tmp_path, observer=Interrupter(5))
    assert first.interrupted
    assert counters(first)[names.DECISIONS] == counters(first)[names.LEARNED] + recorded(first)
    again = train(chosen, tmp_path, resume=True, observer=Interrupter(first.version + 5))
    assert again.version > first.version
    assert counters(again)[names.LEARNED] == again.version * chosen.learner.decisions
    assert counters(again)[names.DECISIONS] == counters(again)[names.LEARNED] + recorded(again)
    assert names.VOIDED not in counters(again)
    assert names.BEGUN_ANEW not in counters(again)


def test_a_serial_run_that_is_interrupted_within_a_batch_goes_on_exactly(tmp_path: Path) -> None:
    first = train(config(ENDLESS, slow_s=0.002), tmp_path / "parts", observer=Interrupter(2))
    assert first.interrupted
    chosen = config(first.version + 2, slow_s=0.002)
    parts = train(chosen, tmp_path / "parts", resume=True, observer=Silent())
    whole = train(chosen, tmp_path / "whole", observer=Silent())
    assert_equal_runs(whole, parts)


def killed(chosen: RunConfig, run_dir: Path) -> int:
    """Run it in a process that is killed after its first checkpoint; the version it can be resumed from."""
    with running(chosen, run_dir) as process:
        process.kill()
        assert process.wait() == -signal.SIGKILL
    found = archive.Checkpoints(run_dir, 1).latest()
    assert found is not None
    return checkpoint.read_state(found).version


ALWAYS = CheckpointConfig(every_s=1e-9, keep=1_000_000)


def test_a_run_that_is_killed_goes_on_from_its_checkpoint_exactly(tmp_path: Path) -> None:
    chosen = msgspec.structs.replace(config(ENDLESS, slow_s=0.002), checkpoint=ALWAYS)
    updates = killed(chosen, tmp_path / "killed") + 2
    limited = with_updates(chosen, updates)
    parts = train(limited, tmp_path / "killed", resume=True, observer=Silent())
    whole = train(limited, tmp_path / "whole", observer=Silent())
    assert_equal_runs(whole, parts)


def test_an_overlapped_run_that_is_killed_goes_on_with_what_its_checkpoint_has(tmp_path: Path) -> None:
    chosen = msgspec.structs.replace(alone(config(ENDLESS, mode="overlapped")), checkpoint=ALWAYS)
    updates = killed(chosen, tmp_path) + 2
    again = train(with_updates(chosen, updates), tmp_path, resume=True, observer=Silent())
    assert again.version == updates
    assert counters(again)[names.DECISIONS] == counters(again)[names.LEARNED] + recorded(again)
    assert names.VOIDED not in counters(again)
    assert names.BEGUN_ANEW not in counters(again)


@pytest.fixture(scope="module")
def two_updates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a serial run; either mode can go on with it."""
    folder = tmp_path_factory.mktemp("two_updates")
    train(config(2, hosts=1), folder, observer=Silent())
    return folder


def copied(run_dir: Path, to: Path) -> Path:
    """Its file of matches."""
    shutil.copytree(run_dir, to, dirs_exist_ok=True)
    found = archive.Checkpoints(to, 1).latest()
    assert found is not None
    return found / checkpoint.MATCHES


@pytest.mark.parametrize(
    ("mode", "trouble"), [("serial", "missing"), ("overlapped", "damaged"), ("serial", "other hosts")]
)
def test_without_a_usable_file_matches_begin_anew_which_is_counted_and_logged(
    tmp_path: Path, two_updates: Path, mode: str, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = copied(two_updates, tmp_path)
    lost = accounts.under_way(checkpoint.read_state(file.parent).counters)
    if trouble == "missing":
        file.unlink()
    elif trouble == "damaged":
        file.write_bytes(file.read_bytes()[:5000])
    chosen = config(4, mode=mode, hosts=2 if trouble == "other hosts" else 1)
    with caplog.at_level(logging.WARNING):
        again = train(chosen, tmp_path, resume=True, observer=Silent())
    assert again.version == 4
    assert counters(again)[names.BEGUN_ANEW] == 1
    assert counters(again)[names.VOIDED_BY("anew")] == lost
    assert 0 < accounts.under_way(counters(again)) <= chosen.fleet.hosts * chosen.fleet.matches
    assert "matches begin anew" in caplog.text


def test_a_run_cannot_be_resumed_with_another_memory(tmp_path: Path, two_updates: Path) -> None:
    copied(two_updates, tmp_path)
    other = PolicyConfig(width=16, recurrent=RecurrentConfig("gru", sequence_length=8))
    chosen = msgspec.structs.replace(config(4, hosts=1), policy=other)
    with pytest.raises(CheckpointError, match=r"policy.recurrent.kind: gru is configured, .* was made with none"):
        train(chosen, tmp_path, resume=True, observer=Silent())


def test_past_selves_that_left_the_pool_while_they_play_are_kept(tmp_path: Path) -> None:
    chosen = config(5)
    result = train(chosen, tmp_path, observer=Silent())
    found = in_flight.read(latest(result) / checkpoint.MATCHES, resolve(chosen))
    playing = {name for _, seats in found.note.bank.pairings for name in seats if name.startswith("past:")}
    pool = {f"past:{version}" for version in checkpoint.read_state(latest(result)).pool}
    assert playing - pool
    assert {name.replace(":", ".") for name in playing - pool} <= found.arrays.keys()


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_a_match_that_diverges_is_voided_and_the_run_goes_on(tmp_path: Path, two_updates: Path, mode: str) -> None:
    chosen = config(6, mode=mode, hosts=1)  # a second host could play all that is left while this one restarts
    file = copied(two_updates, tmp_path)
    found = in_flight.read(file, resolve(chosen))
    arrays = {name: array.copy() for name, array in found.arrays.items()}
    arrays["fleet.obs"][0] ^= 255  # as if the simulator were another one by now
    (file.parent / checksums.CHECKSUMS).unlink()  # else the file is taken for damaged
    in_flight.write(file, in_flight.InFlight(found.note, arrays))
    again = train(chosen, tmp_path, resume=True, observer=Silent())
    assert again.version == 6
    assert counters(again)[names.VOIDED_BY("diverged")] == 1
    assert counters(again)[names.VOIDED] == 1
