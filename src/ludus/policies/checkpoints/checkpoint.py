"""Reads one checkpoint: a folder of safetensors and JSON files. `archive.py` writes it atomically.

<run>/checkpoints/u00000120/model.safetensors      the net's tensors (net.*) and the game's tables (table.*)
                            optimiser.safetensors  Adam's moments by parameter
                            matches.safetensors    running matches and their unfinished segments, in the latest
                                                   checkpoint only (actors/in_flight.py)
                            replay.safetensors     replay buffer, in the latest checkpoint only
                            state.json             counters, random generators, game and net (`State`)
                            checksums.json         size and SHA-256 of each of these files (checksums.py)
<run>/checkpoints/best.json                        which checkpoint evaluated best
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
from ludus.policies.nets.attention import ATTENDING
from ludus.policies.nets.net import Net
from ludus.policies.network import NetPolicy
from ludus.policies.weights import read_tensors
from ludus.spec import GameSpec, ObsSpec, teams_in

MODEL, OPTIMISER, STATE = "model.safetensors", "optimiser.safetensors", "state.json"
MATCHES, REPLAY = "matches.safetensors", "replay.safetensors"
CHECKPOINTS = "checkpoints"  # folder of a run
NAME = re.compile(r"u(\d{8,12})", re.ASCII)  # name of a checkpoint's folder, with its version


class GameNote(Struct, frozen=True):
    """The parts of a GameSpec in state.json. With the tables of the model file, `rebuild_game` restores the spec."""

    name: str
    seats: int
    actions: int
    schema: int
    fingerprint: str
    leaves: list[tuple[str, str, list[int]]]
    layout: dict[str, Any]  # Any: the game's own constants
    net_fingerprint: str = ""


class State(Struct, frozen=True):
    """The content of state.json: everything in a checkpoint that is not a tensor."""

    version: int
    game: GameNote
    options: dict[str, Any]  # Any: the game's own options
    net: str
    policy: PolicyConfig
    counters: dict[str, float] = {}
    training_s: float = 0.0
    generators: dict[str, str] = {}
    pool: list[int] = []
    actor: dict[str, Any] | None = None  # Any: the first actor's own state; None when it had not played yet
    other_actors: list[dict[str, Any] | None] = []  # of the other actors of a run with several
    sampler: list[int] | None = None  # position in the dataset, of a run that also plays
    scores: dict[str, float] = {}
    curriculum: dict[str, Any] | None = None  # Any: the curriculum's own state; None: the run has none
    opponents: dict[str, Any] | None = None  # Any: what the run knows of its opponents (run/opponent_desk.py)


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """The folder of a checkpoint, and its state."""

    path: Path
    state: State


def find(path: Path) -> Path:
    """Return the folder of a checkpoint: `path` itself, or the latest checkpoint if `path` is a run. Raises
    CheckpointError if there is none, or if its state or model is damaged."""
    checkpoint = _locate(path)
    with offering_another(checkpoint):
        for name in (STATE, MODEL):
            checksums.verified(checkpoint / name)
    return checkpoint


@contextmanager
def offering_another(path: Path, option: str = "") -> Iterator[None]:
    """If the block raises CheckpointError, add to its message the latest undamaged checkpoint in the same folder and,
    if given, the command-line `option` that selects it."""
    try:
        yield
    except CheckpointError as error:
        others = [name for name in reversed(names_in(path.parent)) if name != path.name]
        whole = next((name for name in others if is_whole(path.parent / name)), None)
        if whole is None:
            raise CheckpointError(f"{error}; no checkpoint beside it is whole") from error
        use = f"; continue from it with {option} {whole}" if option else ""
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
    """Return the checkpoint at `path`, or the latest of the run at `path`. Raises CheckpointError if there is none."""
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
            raise ValueError(f"it has version {state.version}, but its folder is named {path.name}")
        if not 0 <= state.version <= allocation.VERSIONS:
            raise ValueError(f"it has version {state.version}, expected 0 to {allocation.VERSIONS:,}")
        if len(state.pool) > allocation.POOL or any(not 0 <= version <= state.version for version in state.pool):
            raise ValueError(f"its pool of past selves names versions outside 0 to {state.version}: {state.pool[:20]}")
        allocation.check_game(state.game.seats, state.game.actions, state.game.leaves)
        return state


def read_spec(path: Path, state: State | None = None) -> GameSpec:
    """Return the spec of the game for which the checkpoint was written. Pass its `state` if it was read already. Raises
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


def check_fits(state: State, spec: GameSpec, path: Path, *, staged: bool = False, any_seats: bool = False) -> None:
    """Raise CheckpointError, which names both games, if a policy of this checkpoint does not fit this game.

    staged: it is enough that the net fits, since the stages of a curriculum may be variants of a game. any_seats: the
    net must fit and the game must be the same, but the number of seats and teams may differ.
    """
    saved = state.game
    if (staged or (any_seats and saved.name == spec.name)) and saved.net_fingerprint == spec.net_fingerprint:
        return
    for what, ours, theirs in (("game", saved.name, spec.name), ("schema", saved.schema, spec.schema)):
        if ours != theirs:
            raise CheckpointError(
                f"{path} was made for {what} {ours}, this is {what} {theirs}; use that {what}, or train a new policy"
            )
    if saved.fingerprint != spec.fingerprint:
        raise CheckpointError(
            f"{path} was made for {saved.name} with options {state.options}: {saved.actions} actions, fingerprint "
            f"{saved.fingerprint}; this game has {spec.actions} actions, fingerprint {spec.fingerprint}"
        )


def check_net(state: State, policy: PolicyConfig, prefers: str, path: Path) -> None:
    """Raise CheckpointError, which names both settings, if `policy` would build another net than the checkpoint holds.
    `prefers` is the net that `policy.net: auto` means."""
    now, then = (_shape(config, prefers) for config in (policy, msgspec.structs.replace(state.policy, net=state.net)))
    for name, configured in now.items():
        if then[name] != configured:
            raise CheckpointError(
                f"policy.{name}: {configured} is configured, {path} was made with {then[name]}; continue with that, or "
                "start a new run in another folder"
            )


def _shape(config: PolicyConfig, prefers: str) -> dict[str, object]:
    """Return the settings that determine the shapes and the meaning of a net's parameters."""
    recurrent, net = config.recurrent, prefers if config.net == "auto" else config.net
    return {
        "net": net,
        "width": config.width,
        "layers": config.layers,
        "context": config.context,
        "heads": config.heads if net in ATTENDING else 0,
        "value.bins": config.value.bins,
        "value.limit": config.value.limit if config.value.bins > 1 else 0,
        "recurrent.kind": recurrent.kind,
        "recurrent.width": recurrent.width if recurrent.kind != "none" else 0,
    }


def load_agent(
    path: Path,
    spec: GameSpec | None = None,
    *,
    greedy: bool = True,
    temperature: float = 1.0,
    seed: int = 0,
    rows: int = 1,
    game_nets: Mapping[str, NetFactory] = NO_NETS,
    state: State | None = None,
) -> NetPolicy:
    """Return the policy of a checkpoint, or of the latest checkpoint of a run.

    spec: the game to play; default: the game of the checkpoint. greedy: take the most probable action instead of a
    sample. temperature: of samples; values other than 1 play on the CPU. seed: of the random numbers. rows: about how
    many rows it will choose for at once, which decides the device. game_nets: the nets of the game. state: the state of
    the checkpoint, if it was read already. Raises CheckpointError if the checkpoint is missing or damaged, or does not
    fit `spec`.
    """
    net, spec, state = read_net(path, spec, game_nets=game_nets, state=state)
    generator = torch.Generator().manual_seed(seed)
    device = placement.choose(
        PolicyConfig(), state.net, rows=rows
    ).device  # not the device in state.policy: it may not exist here
    if temperature != 1:
        device = torch.device("cpu")
    return NetPolicy(
        net,
        spec,
        version=state.version,
        generator=generator,
        greedy=greedy,
        temperature=temperature,
        stream=open_stream(device),
    )


def read_net(
    path: Path,
    spec: GameSpec | None = None,
    *,
    game_nets: Mapping[str, NetFactory] = NO_NETS,
    state: State | None = None,
) -> tuple[Net, GameSpec, State]:
    """Return the net of a checkpoint, the game it was read for, and the checkpoint's state. The arguments and the
    errors are those of `load_agent`."""
    checkpoint = _locate(path)
    with offering_another(checkpoint):
        state = read_state(checkpoint) if state is None else state
        tensors = read_tensors(checkpoint / MODEL)
    if spec is None:
        spec = _spec_of(state, tensors, checkpoint)
    else:
        check_fits(state, spec, checkpoint, any_seats=True)
    net = _build_net(state, spec, tensors, checkpoint, game_nets)
    load_net(net, tensors, checkpoint)
    return net, spec, state


def _build_net(
    state: State, spec: GameSpec, tensors: Mapping[str, Tensor], path: Path, game_nets: Mapping[str, NetFactory]
) -> Net:
    """Return the net that the state of a checkpoint describes, with initial weights. Raises CheckpointError if the net
    would be larger than `tensors`: the checkpoint may come from a stranger."""
    if state.policy.layers > max(len(tensors), 1):
        raise CheckpointError(f"{path} has {len(tensors)} tensors, too few for policy.layers: {state.policy.layers:,}")
    with reading(path, "cannot build the net of"), allocation.AllocationLimit.of(tensors.values()):
        return nets.build(spec, state.policy, state.net, game_nets=game_nets)


def note_game(spec: GameSpec) -> GameNote:
    """Return the parts of a spec that state.json holds."""
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
    """Return the spec of a game from state.json and the tables of the model file. Raises CheckpointError if the leaves
    are invalid."""
    with reading(f"the observations of {note.name!r}"):
        obs = ObsSpec.pack({name: (dtype, tuple(shape)) for name, dtype, shape in note.leaves})
    return GameSpec(note.name, note.seats, note.actions, obs, note.schema, note.layout, tables)


def net_tensors(net: nn.Module) -> dict[str, Tensor]:
    """Return the tensors of a net under their names in the model file."""
    return {f"net.{name}": tensor for name, tensor in net.state_dict().items()}


def table_tensors(spec: GameSpec) -> dict[str, Tensor]:
    """Return the tables of a spec under their names in the model file."""
    return {f"table.{name}": torch.from_numpy(np.array(table)) for name, table in spec.tables.items()}


def load_net(net: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy tensors that `net_tensors` returned into a net of the same shape. Raises CheckpointError if they do not
    fit."""
    net_state = {name.removeprefix("net."): tensor for name, tensor in tensors.items() if name.startswith("net.")}
    try:
        net.load_state_dict(net_state)
    except RuntimeError as error:
        raise CheckpointError(f"{path} holds another net than the configuration builds: {reason(error)}") from error


def encode_generator(generator: torch.Generator) -> str:
    """Return the state of a random generator as text for state.json."""
    return base64.b64encode(generator.get_state().numpy().tobytes()).decode()


def restore_generator(generator: torch.Generator, encoded: str) -> None:
    """Set the state that `encode_generator` returned. Raises CheckpointError if it is invalid."""
    with reading("the state of a random generator", "cannot restore"):
        generator.set_state(torch.frombuffer(bytearray(base64.b64decode(encoded)), dtype=torch.uint8))
