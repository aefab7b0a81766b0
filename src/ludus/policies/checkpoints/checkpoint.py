"""Checkpoints: one folder each, safetensors and JSON only, whole or not there at all.

<run>/checkpoints/u00000120/model.safetensors      the net's tensors (net.*) and the game's tables (table.*)
                            optimiser.safetensors  Adam's moments by parameter
                            matches.safetensors    matches under way and what is recorded of them (actors/in_flight.py),
                                                   in the latest checkpoint only
                            replay.safetensors     what may be learned from again, in the latest only
                            state.json             counters, generators, what game, what net
                            checksums.json         size and SHA-256 of each of these (checksums.py)
<run>/checkpoints/best.json                        which of them evaluated best
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from msgspec import Struct
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.config.settings import PolicyConfig
from ludus.errors import CheckpointError
from ludus.policies import nets, placement
from ludus.policies.checkpoints import allocation, checksums, old_names
from ludus.policies.checkpoints.checksums import CHECKSUMS
from ludus.policies.checkpoints.read_errors import reading, reason
from ludus.policies.gpu.streams import open_stream
from ludus.policies.nets import NO_NETS, NetFactory
from ludus.policies.nets.net import Net
from ludus.policies.network import NetPolicy
from ludus.policies.weights import read_tensors
from ludus.spec import GameSpec, ObsSpec, teams_in

MODEL, OPTIMISER, STATE = "model.safetensors", "optimiser.safetensors", "state.json"
MATCHES, REPLAY = "matches.safetensors", "replay.safetensors"
CHECKPOINTS = "checkpoints"  # folder of a run
NAME = re.compile(r"u(\d{8,12})", re.ASCII)  # of a checkpoint's folder: its version


class GameNote(Struct, frozen=True):
    """Enough of a GameSpec to build it again, with the tables of the model file."""

    name: str
    seats: int
    actions: int
    schema: int
    fingerprint: str
    leaves: list[tuple[str, str, list[int]]]
    layout: dict[str, Any]  # Any: the game's own constants
    net_fingerprint: str = ""


class State(Struct, frozen=True):
    """What is not a tensor. The dicts belong to those who fill them."""

    version: int
    game: GameNote
    options: dict[str, Any]  # Any: the game's own options
    net: str
    policy: PolicyConfig
    counters: dict[str, float] = {}
    training_s: float = 0.0
    generators: dict[str, str] = {}
    pool: list[int] = []
    actor: dict[str, Any] | None = None  # Any: the actor's own state; None when it had not played yet
    scores: dict[str, float] = {}
    curriculum: dict[str, Any] | None = None  # Any: the curriculum's own state; None: the run has none


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """The folder of a checkpoint, and its state."""

    path: Path
    state: State


def find(path: Path) -> Path:
    """Return the checkpoint that a path means: itself, or the latest of a run. Raises CheckpointError if there is none,
    or if its state or model is damaged."""
    checkpoint = _locate(path)
    with offering_another(checkpoint):
        for name in (STATE, MODEL):
            checksums.verified(checkpoint / name)
    return checkpoint


@contextmanager
def offering_another(path: Path, option: str = "") -> Iterator[None]:
    """Add to a CheckpointError of the block which checkpoint beside `path` is whole, and the option that takes it."""
    try:
        yield
    except CheckpointError as error:
        others = [name for name in reversed(names_in(path.parent)) if name != path.name]
        whole = next((name for name in others if is_whole(path.parent / name)), None)
        if whole is None:
            raise CheckpointError(f"{error}; no checkpoint beside it is whole") from error
        use = f"; go on from it with {option} {whole}" if option else ""
        raise CheckpointError(f"{error}; the latest whole checkpoint is {path.parent / whole}{use}") from error


def is_whole(path: Path) -> bool:
    """Return whether state, model and optimiser of a checkpoint can be read and match its checksums."""
    try:
        read_state(path)
        for name in (MODEL, OPTIMISER):
            read_tensors(path / name)
    except CheckpointError:
        return False
    return True


def _locate(path: Path) -> Path:
    if (path / STATE).exists() or (path / CHECKSUMS).exists():
        return path
    names = names_in(path / CHECKPOINTS)
    if not names:
        what = "is neither a checkpoint nor a run with one" if path.exists() else "does not exist"
        raise CheckpointError(
            f"{path} {what}; name the folder of a run, as in runs/gen1-20250101-1, or of a checkpoint"
        )
    return path / CHECKPOINTS / names[-1]


def names_in(folder: Path) -> list[str]:
    """Return the names of the checkpoints in a folder, oldest first. Some may be damaged."""
    names = (path.name for path in folder.glob("u*") if (path / STATE).exists() or (path / CHECKSUMS).exists())
    return sorted((name for name in names if NAME.fullmatch(name)), key=lambda name: int(name[1:]))


def read_state(path: Path) -> State:
    """Return the state of a checkpoint, verified and within the limits of allocation.py. Raises CheckpointError."""
    file = path / STATE
    with reading(file):
        size = file.stat().st_size
        if size > allocation.STATE_BYTES:
            raise ValueError(f"it has {size:,} bytes, expected at most {allocation.STATE_BYTES:,}")
        state = msgspec.convert(old_names.current_state(msgspec.json.decode(checksums.read(file))), State)
        name = NAME.fullmatch(path.name)
        if name is not None and int(name[1]) != state.version:
            raise ValueError(f"it is of version {state.version}, its folder is named {path.name}")
        if not 0 <= state.version <= allocation.VERSIONS:
            raise ValueError(f"it is of version {state.version}, expected 0 to {allocation.VERSIONS:,}")
        if len(state.pool) > allocation.POOL or any(not 0 <= version <= state.version for version in state.pool):
            raise ValueError(f"its pool of past selves is not of versions 0 to {state.version}: {state.pool[:20]}")
        allocation.check_game(state.game.seats, state.game.actions, state.game.leaves)
        return state


def read_spec(path: Path, state: State | None = None) -> GameSpec:
    """Return the game as it was when the checkpoint was written. Reads the state, unless the caller passes it. Raises
    CheckpointError."""
    return _spec_of(read_state(path) if state is None else state, read_tensors(path / MODEL), path)


def _spec_of(state: State, tensors: Mapping[str, Tensor], path: Path) -> GameSpec:
    tables = {
        name.removeprefix("table."): tensor.numpy() for name, tensor in tensors.items() if name.startswith("table.")
    }
    with reading(path / STATE):
        spec = rebuild_game(state.game, tables)
        teams_in(spec.layout, spec.seats)
    return spec


def check_fits(state: State, spec: GameSpec, path: Path, *, staged: bool = False) -> None:
    """Raise CheckpointError, saying both, unless a policy of this checkpoint understands this game. In the stages of a
    curriculum (`staged`) it is enough that its net does."""
    saved = state.game
    if staged and saved.net_fingerprint == spec.net_fingerprint:
        return
    for what, ours, theirs in (("game", saved.name, spec.name), ("schema", saved.schema, spec.schema)):
        if ours != theirs:
            raise CheckpointError(
                f"{path} was made for {what} {ours}, this is {what} {theirs}; train anew or use that one"
            )
    if saved.fingerprint != spec.fingerprint:
        raise CheckpointError(
            f"{path} was made for {saved.name} with options {state.options}: {saved.actions} actions, fingerprint "
            f"{saved.fingerprint}; this game has {spec.actions} actions, fingerprint {spec.fingerprint}"
        )


def check_net(state: State, policy: PolicyConfig, prefers: str, path: Path) -> None:
    """Raise CheckpointError, saying both, unless this configuration builds the net that the checkpoint holds."""
    now, then = (_shape(config, prefers) for config in (policy, msgspec.structs.replace(state.policy, net=state.net)))
    for name, configured in now.items():
        if then[name] != configured:
            raise CheckpointError(
                f"policy.{name}: {configured} is configured, {path} was made with {then[name]}; go on with that, or "
                "train anew in another folder"
            )


def _shape(config: PolicyConfig, prefers: str) -> dict[str, object]:
    """What of a configuration decides which parameters a net has."""
    recurrent = config.recurrent
    return {
        "net": prefers if config.net == "auto" else config.net,
        "width": config.width,
        "layers": config.layers,
        "context": config.context,
        "heads": config.heads if config.net == "transformer" else 0,
        "recurrent.kind": recurrent.kind,
        "recurrent.width": recurrent.width if recurrent.kind != "none" else 0,
    }


def load_agent(
    path: Path,
    spec: GameSpec | None = None,
    *,
    greedy: bool = True,
    seed: int = 0,
    rows: int = 1,
    game_nets: Mapping[str, NetFactory] = NO_NETS,
    state: State | None = None,
) -> NetPolicy:
    """The policy of a checkpoint, or of a run's latest one. It must fit the spec, where one is given. For how many rows
    it will choose at once, about, decides on which device. `game_nets`: the nets that its game brings. `state`: of the
    checkpoint, if the caller has read it."""
    checkpoint = _locate(path)
    with offering_another(checkpoint):
        state = read_state(checkpoint) if state is None else state
        tensors = read_tensors(checkpoint / MODEL)
    if spec is None:
        spec = _spec_of(state, tensors, checkpoint)
    else:
        check_fits(state, spec, checkpoint)
    net = _build_net(state, spec, tensors, checkpoint, game_nets)
    load_net(net, tensors, checkpoint)
    generator = torch.Generator().manual_seed(seed)
    device = placement.choose(
        PolicyConfig(), state.net, rows=rows
    ).device  # not where it was trained, which may be elsewhere
    return NetPolicy(net, spec, version=state.version, generator=generator, greedy=greedy, stream=open_stream(device))


def _build_net(
    state: State, spec: GameSpec, tensors: Mapping[str, Tensor], path: Path, game_nets: Mapping[str, NetFactory]
) -> Net:
    """Return the net that the state of a checkpoint describes, which may be a stranger's. Raises CheckpointError."""
    if state.policy.layers > max(len(tensors), 1):
        raise CheckpointError(f"{path} has {len(tensors)} tensors, too few for policy.layers: {state.policy.layers:,}")
    with reading(path, "cannot build the net of"), allocation.AllocationLimit.of(tensors.values()):
        return nets.build(spec, state.policy, state.net, game_nets=game_nets)


def note_game(spec: GameSpec) -> GameNote:
    leaves = [(leaf.name, leaf.dtype, list(leaf.shape)) for leaf in spec.obs.leaves]
    return GameNote(
        spec.name,
        spec.seats,
        spec.actions,
        spec.schema,
        spec.fingerprint,
        leaves,
        dict(spec.layout),
        spec.net_fingerprint,
    )


def rebuild_game(note: GameNote, tables: Mapping[str, NDArray[np.float32]]) -> GameSpec:
    """Raises CheckpointError for leaves that make no observation."""
    with reading(f"the observations of {note.name!r}"):
        obs = ObsSpec.pack({name: (dtype, tuple(shape)) for name, dtype, shape in note.leaves})
    return GameSpec(note.name, note.seats, note.actions, obs, note.schema, note.layout, tables)


def net_tensors(net: nn.Module) -> dict[str, Tensor]:
    return {f"net.{name}": tensor for name, tensor in net.state_dict().items()}


def table_tensors(spec: GameSpec) -> dict[str, Tensor]:
    return {f"table.{name}": torch.from_numpy(np.array(table)) for name, table in spec.tables.items()}


def load_net(net: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy tensors written by `net_tensors` into a net of the same shape."""
    net_state = {name.removeprefix("net."): tensor for name, tensor in tensors.items() if name.startswith("net.")}
    try:
        net.load_state_dict(net_state)
    except RuntimeError as error:
        raise CheckpointError(f"{path} holds another net than the configuration builds: {reason(error)}") from error


def encode_generator(generator: torch.Generator) -> str:
    return base64.b64encode(generator.get_state().numpy().tobytes()).decode()


def restore_generator(generator: torch.Generator, encoded: str) -> None:
    """Raises CheckpointError for what `encode_generator` did not write."""
    with reading("the state of a random generator", "cannot restore"):
        generator.set_state(torch.frombuffer(bytearray(base64.b64decode(encoded)), dtype=torch.uint8))
