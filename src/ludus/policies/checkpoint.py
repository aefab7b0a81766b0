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
import contextlib
import errno
import os
import shutil
from collections.abc import Mapping, Sequence
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
from ludus.policies.weights import read_tensors, write_bytes, write_tensors
from ludus.spec import GameSpec, ObsSpec

MODEL, OPTIMISER, STATE, BEST = "model.safetensors", "optimiser.safetensors", "state.json", "best.json"
MATCHES, REPLAY = "matches.safetensors", "replay.safetensors"
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


class Best(Struct, frozen=True):
    name: str
    score: float
    stage: int = 0  # of the curriculum; scores of a later one count more


class Checkpoints:
    """The checkpoints of one run. Keeps the last `keep` and the best."""

    def __init__(self, run_dir: Path, keep: int) -> None:
        self.folder = run_dir / "checkpoints"
        self._keep = keep

    def save(
        self,
        state: State,
        model: Mapping[str, Tensor],
        optimiser: Mapping[str, Tensor],
        matches: Path | None = None,
        replay: Path | None = None,
        *,
        between: bool = False,
    ) -> Path:
        """Write one, then remove what is not kept. Raises CheckpointError; what was there before stays valid.

        `matches` is a file with what is under way, written at `staged`; it is taken over. Where this version was saved
        before, it replaces the one there, and so does the state. `replay`, also taken over, is that of the version.
        `between` stages there are no matches: what was saved of them is removed, and the state replaced.
        """
        final = self._path(state.version)
        if final.exists():
            if matches is not None or between:
                self._renew(final, state, matches)
            return final
        unfinished = self.folder / f"{UNFINISHED}{final.name}"
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            write_tensors(unfinished / MODEL, model)
            write_tensors(unfinished / OPTIMISER, optimiser)
            if matches is not None:
                matches.rename(unfinished / MATCHES)
            if replay is not None:
                replay.rename(unfinished / REPLAY)
            write_bytes(unfinished / STATE, _encoded(state))
            _sync_folder(unfinished)
            unfinished.rename(final)
            _sync_folder(self.folder)
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise CheckpointError(_failure(final, error, self.names())) from error
        self._remove_old()
        return final

    def staged(self, name: str = MATCHES) -> Path:
        """Where to write the file with what is under way, or may come again, before `save`. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{UNFINISHED}{name}"

    def holds(self, version: int) -> bool:
        return self._path(version).exists()

    def names(self) -> list[str]:
        """Whole checkpoints, oldest first."""
        return sorted(path.name for path in self.folder.glob("u*") if (path / STATE).exists())

    def latest(self) -> Path | None:
        names = self.names()
        return self.folder / names[-1] if names else None

    def best(self) -> Best | None:
        try:
            return msgspec.json.decode((self.folder / BEST).read_bytes(), type=Best)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise CheckpointError(f"cannot read {self.folder / BEST}: {error}") from error

    def mark_best(self, path: Path, score: float, stage: int = 0) -> bool:
        """Remember this one as the best if none of its stage or a later one scored higher. Raises CheckpointError."""
        best = self.best()
        if best is not None and (best.stage, best.score) > (stage, score) and (self.folder / best.name).exists():
            return False
        unfinished = self.folder / f"{UNFINISHED}{BEST}"
        try:
            write_bytes(unfinished, msgspec.json.encode(Best(path.name, score, stage)))
            unfinished.replace(self.folder / BEST)
        except OSError as error:
            raise CheckpointError(_failure(self.folder / BEST, error, self.names())) from error
        self._remove_old()
        return True

    def _path(self, version: int) -> Path:
        return self.folder / f"u{version:08d}"

    def _renew(self, final: Path, state: State, matches: Path | None) -> None:
        note = final / f"{UNFINISHED}{STATE}"
        try:
            write_bytes(note, _encoded(state))
            if matches is None:
                (final / MATCHES).unlink(missing_ok=True)
            else:
                matches.replace(final / MATCHES)
            note.replace(final / STATE)
            _sync_folder(final)
        except OSError as error:
            note.unlink(missing_ok=True)
            raise CheckpointError(_failure(final, error, self.names())) from error

    def _remove_old(self) -> None:
        best = self.best()
        for name in removable(self.names(), self._keep, best.name if best else None):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in self.names()[:-1]:  # a run is resumed from its latest, and these files are the largest by far
            for file in (MATCHES, REPLAY):
                with contextlib.suppress(OSError):
                    (self.folder / name / file).unlink(missing_ok=True)


def removable(names: Sequence[str], keep: int, best: str | None) -> list[str]:
    """Which of these, oldest first, need not stay."""
    return [name for name in names[:-keep] if name != best]


def find(path: Path) -> Path:
    """The checkpoint a path means: itself, or the latest of a run."""
    if (path / STATE).exists():
        return path
    latest = Checkpoints(path, 1).latest()
    if latest is None:
        what = "is neither a checkpoint nor a run with one" if path.exists() else "does not exist"
        raise CheckpointError(
            f"{path} {what}; name the folder of a run, as in runs/gen1-20250101-1, or of a checkpoint"
        )
    return latest


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


def _encoded(state: State) -> bytes:
    return msgspec.json.format(msgspec.json.encode(state))


def _failure(path: Path, error: OSError, names: Sequence[str]) -> str:
    reason = "no space left on the disk" if error.errno == errno.ENOSPC else str(error)
    kept = f"{names[-1]} stays the latest" if names else "there is none yet"
    return f"checkpoint {path} was not written: {reason}; {kept}"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
