from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.errors import CheckpointError
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.archive import Checkpoints, removable
from ludus.policies.checkpoints.checkpoint import State, load_agent
from ludus.policies.nets import build
from ludus.policies.weights import read_tensors
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

SPEC = GameSpec(
    "fake",
    2,
    3,
    ObsSpec.pack({"id": ("uint16", (2,)), "x": ("float32", (4,))}),
    schema=2,
    layout={"columns": ["a", "b"], "targets": 1},
    tables={"moves": np.arange(6, dtype=np.float32).reshape(2, 3)},
)
NET = build(SPEC, PolicyConfig(width=8), "mlp", seed=1)


def state(version: int, spec: GameSpec = SPEC) -> State:
    return State(version, checkpoint.note_game(spec), {"format": "x"}, "mlp", PolicyConfig(width=8))


def model() -> dict[str, Tensor]:
    return {**checkpoint.net_tensors(NET), **checkpoint.table_tensors(SPEC)}


def save(run: Path, version: int, keep: int = 3) -> Path:
    return Checkpoints(run, keep).save(state(version), model(), {"step": torch.tensor(float(version))})


def test_checkpoint_comes_back_as_it_was_written(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(5)
    torch.rand(3, generator=generator)
    noted = msgspec.structs.replace(state(7), generators={"g": checkpoint.encode_generator(generator)})
    path = Checkpoints(tmp_path, 3).save(noted, model(), {"step": torch.tensor(7.0)})
    assert path.name == "u00000007"
    found = checkpoint.read_state(path)
    assert found == noted
    again = torch.Generator()
    checkpoint.restore_generator(again, found.generators["g"])
    assert torch.equal(torch.rand(9, generator=again), torch.rand(9, generator=generator))
    spec = checkpoint.read_spec(path)
    assert spec.fingerprint == SPEC.fingerprint
    np.testing.assert_array_equal(spec.tables["moves"], SPEC.tables["moves"])


def test_agent_needs_no_more_than_the_folder(tmp_path: Path) -> None:
    save(tmp_path, 7)
    agent = load_agent(tmp_path)
    given = load_agent(tmp_path / "checkpoints" / "u00000007", SPEC)
    n = 5
    zeros = np.zeros(n, np.int64)
    arrivals = Arrivals(
        zeros.astype(np.int32),
        zeros,
        np.random.default_rng(0).integers(0, 50, (n, SPEC.obs.nbytes)).astype(np.uint8),
        np.ones((n, 3), np.bool_),
        zeros.astype(np.float32),
        zeros.astype(np.bool_),
    )
    assert agent.version == 7
    np.testing.assert_array_equal(agent.act(arrivals).value, given.act(arrivals).value)


def test_last_ones_and_the_best_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, 2)
    for version, score in ((1, 0.3), (2, 0.9), (3, 0.5), (4, 0.6), (5, 0.7)):
        checkpoints.mark_best(save(tmp_path, version, keep=2), score)
    assert checkpoints.names() == ["u00000002", "u00000004", "u00000005"]
    best, latest = checkpoints.best(), checkpoints.latest()
    assert best is not None
    assert best.name == "u00000002"
    assert latest is not None
    assert latest.name == "u00000005"


def test_removable_leaves_the_newest_and_the_best() -> None:
    assert removable(["a", "b", "c", "d"], 2, "a") == ["b"]
    assert removable(["a"], 3, None) == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (replace(SPEC, name="other"), "made for game fake, this is game other"),
        (replace(SPEC, schema=3), "made for schema 2, this is schema 3"),
        (replace(SPEC, actions=4), "3 actions, .* this game has 4 actions"),
    ],
)
def test_checkpoint_of_another_game_is_refused_and_both_are_named(tmp_path: Path, spec: GameSpec, words: str) -> None:
    save(tmp_path, 1)
    with pytest.raises(CheckpointError, match=words):
        load_agent(tmp_path, spec)


def test_agent_plays_a_match_with_more_seats_but_a_run_does_not_resume_in_one(tmp_path: Path) -> None:
    path = save(tmp_path, 1)
    larger = replace(SPEC, seats=4, layout={**SPEC.layout, "teams": [0, 0, 1, 1]})
    assert load_agent(tmp_path, larger).version == 1
    with pytest.raises(CheckpointError, match="this game has 3 actions"):
        checkpoint.check_fits(checkpoint.read_state(path), larger, path)
    with pytest.raises(CheckpointError, match="made for game fake, this is game fake/4"):
        load_agent(tmp_path, replace(larger, name="fake/4"))


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_full_disk_gives_a_clear_error_and_leaves_the_checkpoint_before_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    save(tmp_path, 1)
    with monkeypatch.context() as patch:

        def full(*arguments: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(os, call, full)
        with pytest.raises(CheckpointError, match=r"u00000002 was not written: no space left .* u00000001 stays"):
            save(tmp_path, 2)
    assert os.listdir(tmp_path / "checkpoints") == ["u00000001"]
    assert load_agent(tmp_path).version == 1
    assert save(tmp_path, 2).exists()


def test_unfinished_folder_is_never_taken_for_a_checkpoint(tmp_path: Path) -> None:
    save(tmp_path, 1)
    unfinished = tmp_path / "checkpoints" / ".unfinished-u00000002"
    unfinished.mkdir()
    (unfinished / "state.json").write_text("{}")
    checkpoints = Checkpoints(tmp_path, 3)
    assert checkpoints.names() == ["u00000001"]
    save(tmp_path, 2)
    assert not unfinished.exists()


def test_broken_state_and_missing_checkpoint_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"neither a checkpoint nor a run with one; name the folder of a run"):
        load_agent(tmp_path)
    with pytest.raises(CheckpointError, match=r"nowhere does not exist; name the folder of a run"):
        load_agent(tmp_path / "nowhere")
    path = save(tmp_path, 1)
    (path / checksums.CHECKSUMS).unlink()
    (path / "state.json").write_text('{"version": "one"}')
    with pytest.raises(CheckpointError, match=r"cannot read .*state.json"):
        load_agent(path)


def test_net_of_another_shape_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, 1)
    other = build(SPEC, PolicyConfig(width=16), "mlp")
    with pytest.raises(CheckpointError, match="another net"):
        checkpoint.load_net(other, read_tensors(path / "model.safetensors"), path)


def test_saving_a_version_again_renews_what_is_under_way_and_the_state(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, 3)
    for training_s, matches in ((1.0, b"first"), (2.0, b"second"), (3.0, None)):
        if matches is not None:
            checkpoints.staged().write_bytes(matches)
        noted = msgspec.structs.replace(state(5), training_s=training_s)
        saved = checkpoints.save(noted, model(), {}, None if matches is None else checkpoints.staged())
    assert (saved / checkpoint.MATCHES).read_bytes() == b"second"
    assert checkpoint.read_state(saved).training_s == 2.0
    assert sorted(path.name for path in saved.iterdir()) == sorted(
        (checkpoint.MODEL, checkpoint.OPTIMISER, checkpoint.STATE, checkpoint.MATCHES, checksums.CHECKSUMS)
    )


def test_only_the_latest_checkpoint_keeps_what_was_under_way(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, 3)
    for version in (1, 2, 3):
        assert not checkpoints.holds(version)
        replay = checkpoints.staged(checkpoint.REPLAY)
        for staged in (checkpoints.staged(), replay):
            staged.write_bytes(b"under way")
        checkpoints.save(state(version), model(), {}, checkpoints.staged(), replay)
        assert checkpoints.holds(version)
    for file in (checkpoint.MATCHES, checkpoint.REPLAY):
        found = [(checkpoints.folder / name / file).exists() for name in checkpoints.names()]
        assert found == [False, False, True]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": 16}, "policy.width: 16 is configured, .* made with 8"),
        ({"layers": 3}, "policy.layers: 3 is configured, .* made with 2"),
        ({"net": "pointer"}, "policy.net: pointer is configured, .* made with mlp"),
        ({"recurrent": RecurrentConfig(kind="gru")}, "policy.recurrent.kind: gru is configured, .* made with none"),
    ],
)
def test_a_net_of_another_shape_is_refused_with_what_differs(change: dict[str, object], said: str) -> None:
    config = msgspec.structs.replace(PolicyConfig(width=8), **change)
    with pytest.raises(CheckpointError, match=said):
        checkpoint.check_net(state(3), config, "mlp", Path("runs/x"))


def test_what_does_not_shape_the_net_may_change() -> None:
    checkpoint.check_net(
        state(3), PolicyConfig(width=8, threads=2, recurrent=RecurrentConfig(width=9)), "mlp", Path("runs/x")
    )
    remembered = RecurrentConfig(kind="lstm", width=9)
    noted = msgspec.structs.replace(state(3), policy=PolicyConfig(width=8, recurrent=remembered))
    longer = msgspec.structs.replace(remembered, sequence_length=5, burn_in=2)
    checkpoint.check_net(noted, PolicyConfig(width=8, recurrent=longer), "mlp", Path("runs/x"))
    wider = msgspec.structs.replace(remembered, width=10)
    with pytest.raises(CheckpointError, match=r"policy.recurrent.width: 10 is configured, .* made with 9"):
        checkpoint.check_net(noted, PolicyConfig(width=8, recurrent=wider), "mlp", Path("runs/x"))
