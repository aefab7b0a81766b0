"""Whatever bytes stand in a checkpoint, reading them raises CheckpointError in one line, and takes little memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as save_arrays
from tests.unit.policies.checkpoints.test_checkpoint import SPEC, model, save, state

from ludus.actors import in_flight
from ludus.actors.in_flight import ActorState, InFlight, InFlightHeader
from ludus.actors.resolved import resolve
from ludus.config.settings import FleetConfig, LearnerConfig, PolicyConfig, RecurrentConfig, ReplayConfig, RunConfig
from ludus.errors import CheckpointError
from ludus.fleet import saved_state
from ludus.fleet.saved_state import FleetState, HostState
from ludus.league.matchmaking import CurrentOpponent, MatchmakerState
from ludus.learner.feed import Feed
from ludus.learner.replay_buffer import ReplayBuffer
from ludus.metrics.core import Metrics
from ludus.policies.bank import BankState
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.archive import BEST, Best, Checkpoints
from ludus.policies.checkpoints.checkpoint import MODEL, OPTIMISER, STATE, load_agent
from ludus.policies.weights import read_tensors
from ludus.wire.bodies import ArrivalsBody

QUICK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
RUN = resolve(RunConfig(game="showdown", fleet=FleetConfig(hosts=1, matches=2)))


@st.composite
def mutated(draw: st.DrawFn, original: bytes) -> bytes:
    """The bytes of a real file with some of them changed, removed, repeated or put in."""
    data = bytearray(original)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        length = draw(st.integers(0, 40))
        data[at : at + length] = draw(st.one_of(st.binary(max_size=40), st.just(bytes(data[at : at + 2 * length]))))
    return bytes(data)


NASTY = [b"", b"\xff", b"[" * 50_000, b'{"a":' * 50_000, b"1" * 5000, b'"\xed\xa0\x80"', (2**63).to_bytes(8, "little")]


def only_a_checkpoint_error(read: Callable[[], object]) -> None:
    message = ""
    try:
        read()
    except CheckpointError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 1500


def try_bytes(path: Path, original: bytes, read: Callable[[], object]) -> None:
    @QUICK
    @given(st.one_of(st.binary(max_size=300), st.sampled_from(NASTY), mutated(original)))
    @example(original)
    def run(data: bytes) -> None:
        path.write_bytes(data)
        only_a_checkpoint_error(read)

    run()


@pytest.fixture
def unlisted(tmp_path: Path) -> Path:
    """A checkpoint without checksums, so that damage is not found by them."""
    path = save(tmp_path, 7)
    (path / checksums.CHECKSUMS).unlink()
    return path


def test_any_state_is_read_or_refused(unlisted: Path) -> None:
    try_bytes(unlisted / STATE, (unlisted / STATE).read_bytes(), lambda: checkpoint.read_state(unlisted))


def test_any_state_is_played_or_refused(unlisted: Path) -> None:
    try_bytes(unlisted / STATE, (unlisted / STATE).read_bytes(), lambda: load_agent(unlisted))


def test_any_model_is_played_or_refused(unlisted: Path) -> None:
    try_bytes(unlisted / MODEL, (unlisted / MODEL).read_bytes(), lambda: load_agent(unlisted))


def test_any_tensors_are_read_or_refused(unlisted: Path) -> None:
    path = unlisted / OPTIMISER
    try_bytes(path, path.read_bytes(), lambda: read_tensors(path))


def test_any_checksums_are_read_or_refused(tmp_path: Path) -> None:
    path = save(tmp_path, 7)
    file = path / checksums.CHECKSUMS
    try_bytes(file, file.read_bytes(), lambda: checkpoint.find(tmp_path))


def test_any_best_json_is_read_or_refused(tmp_path: Path) -> None:
    path = save(tmp_path, 7)
    checkpoints = Checkpoints(tmp_path, 3)
    checkpoints.mark_best(path, 0.5)
    file = checkpoints.folder / BEST

    def read() -> None:
        best = checkpoints.best()
        assert best is None or (checkpoints.folder / best.name).parent == checkpoints.folder

    try_bytes(file, file.read_bytes(), read)


def saved_matches() -> tuple[InFlightHeader, dict[str, np.ndarray[Any, Any]]]:  # Any: columns of several types
    came = ArrivalsBody.empty(SPEC.actions, SPEC.obs.nbytes)
    host = HostState(0, 2, np.array([0, 1]), np.zeros(4, np.int32), np.zeros(0, np.int32), came)
    fleet_note, arrays = saved_state.pack(FleetState(1, (host,)))
    actor = ActorState("", MatchmakerState("{}", {}, CurrentOpponent(), CurrentOpponent()))
    note = InFlightHeader(
        0, SPEC.fingerprint, RUN.config.rollout.segment, actor, {}, BankState([None], [0] * 4, []), fleet_note
    )
    return note, {f"fleet.{name}": array for name, array in arrays.items()}


def test_any_saved_matches_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / checkpoint.MATCHES
    in_flight.write(path, InFlight(*saved_matches()))
    assert in_flight.read(path, RUN).note.game == SPEC.fingerprint
    try_bytes(path, path.read_bytes(), lambda: in_flight.read(path, RUN))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("number", np.zeros((1, 3), np.int64)),
        ("number", np.zeros((1, 2), np.float64)),
        ("count", np.full((1, 4), -1, np.int32)),
        ("count", np.full((1, 4), 2**30, np.int32)),
        ("came", np.array([5])),
        ("choice", np.zeros(3, np.int32)),
        ("obs", np.zeros((0, 0, 0), np.uint8)),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(tmp_path: Path, name: str, array: np.ndarray[Any, Any]) -> None:
    note, arrays = saved_matches()
    path = tmp_path / checkpoint.MATCHES
    in_flight.write(path, InFlight(note, {**arrays, f"fleet.{name}": array}))
    with pytest.raises(CheckpointError, match=r"cannot read .*matches.safetensors: "):
        in_flight.read(path, RUN)


def test_any_replay_buffer_is_read_or_refused(tmp_path: Path) -> None:
    replay = ReplayBuffer(4, reuse=2, seed=1)
    path = tmp_path / checkpoint.REPLAY
    path.write_bytes(save_arrays({**replay.state(), "due": np.array([0, 0])}))
    config = LearnerConfig(algorithm="vtrace", replay=ReplayConfig(decisions=32))
    feed = Feed(None, Metrics(), config, ReplayBuffer(4, reuse=2, seed=1))  # type: ignore[arg-type]  # plays no part here
    feed.restore(path)
    try_bytes(path, path.read_bytes(), lambda: feed.restore(path))


GAME: dict[str, object] = msgspec.to_builtins(checkpoint.note_game(SPEC))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 8}, "it has version 8, but its folder is named u00000007"),
        ({"version": -1}, "version"),
        ({"pool": [9]}, "pool of past selves"),
        ({"pool": [-1]}, "pool of past selves"),
        ({"game": {**GAME, "actions": 10**12}}, "1,000,000,000,000 actions, expected at most"),
        ({"game": {**GAME, "seats": 10**9}}, "1,000,000,000 seats, expected at most"),
        ({"game": {**GAME, "leaves": [["x", "float32", [10**6, 10**6]]]}}, "bytes, expected at most|bytes of"),
        ({"game": {**GAME, "leaves": [["x", "float32", [10**30]]]}}, "leaf 'x' of its game has shape"),
        ({"game": {**GAME, "leaves": [["x", "float32", [-4]]]}}, "leaf 'x' of its game has shape"),
        ({"game": {**GAME, "leaves": [["x", "object", [4]]]}}, "dtype 'object'"),
        ({"game": {**GAME, "layout": {"teams": [5]}}}, "layout.teams"),
        ({"policy": {"width": 10**9}}, "cannot build the net of .* larger than the model file accounts for"),
        ({"policy": {"width": 8, "layers": 10**9}}, "too few for policy.layers"),
        (
            {"policy": {"width": 8, "recurrent": {"kind": "lstm", "width": 10**7}}},
            "larger than the model file accounts",
        ),
        ({"net": "pointer"}, "cannot build the net of"),
        ({"net": "nonsense"}, "unknown net 'nonsense'"),
    ],
)
def test_a_state_that_asks_for_too_much_is_refused_before_memory_is_taken(
    unlisted: Path, change: dict[str, object], words: str
) -> None:
    data = json.loads((unlisted / STATE).read_bytes())
    (unlisted / STATE).write_text(json.dumps({**data, **change}))
    with pytest.raises(CheckpointError, match=words):
        load_agent(unlisted)


def test_a_state_that_is_too_large_is_not_read(unlisted: Path) -> None:
    with (unlisted / STATE).open("ab") as file:
        file.truncate(2**40)
    with pytest.raises(CheckpointError, match=r"it has 1,099,511,627,776 bytes, expected at most"):
        checkpoint.read_state(unlisted)


def test_a_copied_checkpoint_may_have_any_name(tmp_path: Path) -> None:
    shutil.copytree(save(tmp_path, 7), tmp_path / "champion")
    assert load_agent(tmp_path / "champion").version == 7


def test_a_net_with_a_memory_is_built_within_its_limit(tmp_path: Path) -> None:
    from ludus.policies.nets import build

    policy = PolicyConfig(width=8, recurrent=RecurrentConfig(kind="lstm", width=64))
    noted = msgspec.structs.replace(state(3), policy=policy)
    tensors = {**model(), **checkpoint.net_tensors(build(SPEC, policy, "mlp"))}
    Checkpoints(tmp_path, 1).save(noted, tensors, {})
    assert load_agent(tmp_path).version == 3


@pytest.mark.parametrize("name", ["../../x", "u1", "U00000001", "u00000001/..", ""])
def test_best_json_names_a_checkpoint_of_its_folder_or_is_refused(tmp_path: Path, name: str) -> None:
    checkpoints = Checkpoints(tmp_path, 3)
    save(tmp_path, 1)
    (checkpoints.folder / BEST).write_bytes(msgspec.json.encode(Best(name, 1.0)))
    with pytest.raises(CheckpointError, match="expected a checkpoint such as u00000120"):
        checkpoints.best()
