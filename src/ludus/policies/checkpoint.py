"""Checkpoints: one folder each, safetensors and JSON only, whole or not there at all.

<run>/checkpoints/u00000120/model.safetensors      the net's tensors (net.*) and the game's tables (table.*)
                            optimiser.safetensors  Adam's moments by parameter
                            matches.safetensors    matches under way and what is recorded of them (scale/underway.py),
                                                   in the latest checkpoint only
                            replay.safetensors     what may be learned from again, in the latest only
                            state.json             counters, generators, what game, what net
<run>/checkpoints/best.json                        which of them evaluated best
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from msgspec import Struct
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.config.schema import PolicyConfig
from ludus.errors import CheckpointError
from ludus.policies import nets, playing
from ludus.policies.lanes import open_lane
from ludus.policies.network import NetPolicy
from ludus.policies.weights import read_tensors
from ludus.spec import GameSpec, ObsSpec

MODEL, OPTIMISER, STATE = "model.safetensors", "optimiser.safetensors", "state.json"
MATCHES, REPLAY = "matches.safetensors", "replay.safetensors"
CHECKPOINTS = "checkpoints"  # folder of a run
UNFINISHED = ".unfinished-"


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


def find(path: Path) -> Path:
    """The checkpoint a path means: itself, or the latest of a run."""
    if (path / STATE).exists():
        return path
    names = names_in(path / CHECKPOINTS)
    if not names:
        what = "is neither a checkpoint nor a run with one" if path.exists() else "does not exist"
        raise CheckpointError(
            f"{path} {what}; name the folder of a run, as in runs/gen1-20250101-1, or of a checkpoint"
        )
    return path / CHECKPOINTS / names[-1]


def names_in(folder: Path) -> list[str]:
    """Whole checkpoints, oldest first."""
    return sorted(path.name for path in folder.glob("u*") if (path / STATE).exists())


def read_state(path: Path) -> State:
    try:
        return msgspec.json.decode((path / STATE).read_bytes(), type=State)
    except (OSError, msgspec.MsgspecError) as error:
        raise CheckpointError(f"cannot read {path / STATE}: {error}") from error


def read_spec(path: Path) -> GameSpec:
    """The game as it was when the checkpoint was written."""
    note = read_state(path).game
    tables = {
        name.removeprefix("table."): tensor.numpy()
        for name, tensor in read_tensors(path / MODEL).items()
        if name.startswith("table.")
    }
    return rebuild_game(note, tables)


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
    for name, wanted in now.items():
        if then[name] != wanted:
            raise CheckpointError(
                f"policy.{name}: {wanted} is configured, {path} was made with {then[name]}; go on with that, or train "
                "anew in another folder"
            )


def _shape(config: PolicyConfig, prefers: str) -> dict[str, object]:
    """What of a configuration decides which parameters a net has."""
    memory = config.memory
    return {
        "net": prefers if config.net == "auto" else config.net,
        "width": config.width,
        "layers": config.layers,
        "context": config.context,
        "heads": config.heads if config.net == "transformer" else 0,
        "memory.kind": memory.kind,
        "memory.width": memory.width if memory.kind != "none" else 0,
    }


def load_agent(
    path: Path, spec: GameSpec | None = None, *, greedy: bool = True, seed: int = 0, rows: int = 1
) -> NetPolicy:
    """The policy of a checkpoint, or of a run's latest one. It must fit the spec, where one is given. For how many rows
    it will choose at once, about, decides on which device."""
    checkpoint = find(path)
    state = read_state(checkpoint)
    if spec is None:
        spec = read_spec(checkpoint)
    else:
        check_fits(state, spec, checkpoint)
    net = nets.build(spec, state.policy, state.net)
    load_net(net, read_tensors(checkpoint / MODEL), checkpoint)
    generator = torch.Generator().manual_seed(seed)
    device = playing.choose(
        PolicyConfig(), state.net, rows=rows
    ).device  # not where it was trained, which may be elsewhere
    return NetPolicy(net, spec, version=state.version, generator=generator, greedy=greedy, lane=open_lane(device))


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
    obs = ObsSpec.pack({name: (dtype, tuple(shape)) for name, dtype, shape in note.leaves})
    return GameSpec(note.name, note.seats, note.actions, obs, note.schema, note.layout, tables)


def net_tensors(net: nn.Module) -> dict[str, Tensor]:
    return {f"net.{name}": tensor for name, tensor in net.state_dict().items()}


def table_tensors(spec: GameSpec) -> dict[str, Tensor]:
    return {f"table.{name}": torch.from_numpy(np.array(table)) for name, table in spec.tables.items()}


def load_net(net: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy tensors written by `net_tensors` into a net of the same shape."""
    named = {name.removeprefix("net."): tensor for name, tensor in tensors.items() if name.startswith("net.")}
    try:
        net.load_state_dict(named)
    except RuntimeError as error:
        raise CheckpointError(f"{path} holds another net than the configuration builds: {error}") from error


def encode_generator(generator: torch.Generator) -> str:
    return base64.b64encode(generator.get_state().numpy().tobytes()).decode()


def restore_generator(generator: torch.Generator, encoded: str) -> None:
    generator.set_state(torch.frombuffer(bytearray(base64.b64decode(encoded)), dtype=torch.uint8))
