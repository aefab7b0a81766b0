"""A run whose files are damaged says which, and goes on from what is whole."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.running import Silent, counters, small_run, train

from ludus.config.settings import (
    CheckpointConfig,
    LearnerConfig,
    OpponentsConfig,
    PromoteConfig,
    ReplayConfig,
    RunConfig,
    StageConfig,
)
from ludus.errors import CheckpointError
from ludus.metrics import names
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.archive import BEST, Checkpoints
from ludus.policies.checkpoints.checkpoint import MATCHES, MODEL, OPTIMISER, REPLAY, STATE


def config(updates: int, mode: str = "serial") -> RunConfig:
    return small_run(
        updates,
        mode=mode,
        options={"game": "rps", "rounds": 40},
        learner=LearnerConfig(
            algorithm="vtrace", decisions=256, minibatch=128, replay=ReplayConfig(decisions=1024, reuse=2)
        ),
        opponents=OpponentsConfig(past=0.4, scripted=0.0, snapshot_every=1, pool=4),
        checkpoint=CheckpointConfig(every_s=1e-9, keep=10),
    )


@pytest.fixture(scope="module")
def four_updates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a checkpoint of every update."""
    folder = tmp_path_factory.mktemp("four_updates")
    train(config(4), folder, observer=Silent())
    return folder


@pytest.fixture
def run_dir(four_updates: Path, tmp_path: Path) -> Path:
    return shutil.copytree(four_updates, tmp_path / "run")


def latest(run_dir: Path) -> Path:
    path = Checkpoints(run_dir, 1).latest()
    assert path is not None
    return path


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("file", [MODEL, OPTIMISER, STATE])
def test_a_flipped_bit_stops_a_resume_and_the_latest_whole_checkpoint_is_offered(run_dir: Path, file: str) -> None:
    flip(latest(run_dir) / file)
    flip(run_dir / "checkpoints" / "u00000003" / OPTIMISER)
    before = sorted(run_dir.rglob("*"))
    words = rf"u00000004/{file} is damaged: .* is .*u00000002; continue from it with --resume-from u00000002"
    with pytest.raises(CheckpointError, match=words):
        train(config(6), run_dir, resume=True, observer=Silent())
    assert [path for path in sorted(run_dir.rglob("*")) if "logs" not in path.parts] == [
        path for path in before if "logs" not in path.parts
    ]


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_a_run_goes_on_from_an_older_checkpoint_and_sets_later_ones_aside(
    run_dir: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    Checkpoints(run_dir, 10).mark_best(latest(run_dir), 2.0)
    with caplog.at_level(logging.INFO):
        result = train(config(3, mode), run_dir, resume_from="u00000002", observer=Silent())
    assert result.version == 3
    assert counters(result)[names.UPDATES] == 3
    assert counters(result)[names.BEGUN_ANEW] == 1
    aside = run_dir / "set-aside-1"
    assert sorted(path.name for path in (aside / "checkpoints").iterdir()) == ["u00000003", "u00000004"]
    assert {"v00000003.safetensors", "v00000004.safetensors"} <= {path.name for path in (aside / "pool").iterdir()}
    assert msgspec.json.decode((aside / BEST).read_bytes())["name"] == "u00000004"
    assert "goes on from u00000002; 2 later checkpoints and 2 later past selves were moved to" in caplog.text
    assert checkpoint.is_whole(latest(run_dir))
    assert checkpoint.read_state(latest(run_dir)).pool[-1] == 3


def test_each_rewind_has_a_folder_of_its_own(run_dir: Path) -> None:
    path = run_dir / "checkpoints" / "u00000003"
    for updates in (4, 4):
        train(config(updates), run_dir, resume_from=str(path), observer=Silent())
    assert (run_dir / "set-aside-1" / "checkpoints" / "u00000004").is_dir()
    assert (run_dir / "set-aside-2" / "checkpoints" / "u00000004").is_dir()


@pytest.mark.parametrize("name", ["u00000009", "../../x", "", "/", "checkpoints"])
def test_a_checkpoint_that_is_not_of_the_run_is_refused_with_those_that_are(run_dir: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match=r"has no such checkpoint; there are u00000001, u00000002, u00000003"):
        train(config(6), run_dir, resume_from=name, observer=Silent())


@pytest.mark.parametrize(("file", "words"), [(MATCHES, "matches begin anew"), (REPLAY, "replay buffer begins anew")])
def test_damaged_matches_and_replay_begin_anew(
    run_dir: Path, file: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    flip(latest(run_dir) / file)
    with caplog.at_level(logging.WARNING):
        result = train(config(5), run_dir, resume=True, observer=Silent())
    assert result.version == 5
    assert f"{file} is damaged: expected" in caplog.text
    assert words in caplog.text
    assert counters(result).get(names.BEGUN_ANEW, 0) == (1 if file == MATCHES else 0)


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_a_run_goes_on_without_a_damaged_past_self(run_dir: Path, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    for version in (1, 2, 3):
        flip(run_dir / "pool" / f"v{version:08d}.safetensors")
    with caplog.at_level(logging.WARNING):
        result = train(config(6, mode), run_dir, resume=True, observer=Silent())
    assert result.version == 6
    assert "v00000002.safetensors is damaged: expected" in caplog.text
    assert "the run goes on without this past self" in caplog.text


def test_an_old_checkpoint_without_checksums_is_resumed_and_gets_them(run_dir: Path) -> None:
    for file in run_dir.rglob(checksums.CHECKSUMS):
        file.unlink()
    result = train(config(4), run_dir, resume=True, observer=Silent())  # nothing is left to learn: it is saved again
    assert result.version == 4
    assert names.BEGUN_ANEW not in counters(result)
    listed = checksums.load(latest(run_dir))
    assert listed is not None
    assert set(listed) == {MODEL, OPTIMISER, STATE, MATCHES, REPLAY}
    assert checkpoint.is_whole(latest(run_dir))


@pytest.mark.parametrize(
    "change",
    [
        {"actor": {"sampling": 5}},
        {"curriculum": {"stage": 1}},
        {"generators": {}},
        {"generators": {"minibatches": "?"}},
    ],
)
def test_a_state_of_the_wrong_shape_is_refused_in_one_line(run_dir: Path, change: dict[str, object]) -> None:
    path = latest(run_dir)
    (path / checksums.CHECKSUMS).unlink()
    data = msgspec.json.decode((path / STATE).read_bytes())
    (path / STATE).write_bytes(msgspec.json.encode({**data, **change}))
    stages = (StageConfig("one", promote=PromoteConfig(updates=100)), StageConfig("two"))
    chosen = msgspec.structs.replace(config(6), curriculum=stages if "curriculum" in change else ())
    with pytest.raises(CheckpointError) as refusal:
        train(chosen, run_dir, resume=True, observer=Silent())
    assert "\n" not in str(refusal.value)
