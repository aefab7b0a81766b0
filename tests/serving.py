"""Helpers for tests of policy servers: a small checkpoint, a server in a thread, rows to ask for."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.games import checkpoint_game
from ludus.games.toy.matches import spec_of
from ludus.games.toy.options import ToyOptions
from ludus.policies import nets
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import State
from ludus.serving import protocol
from ludus.serving.client import Client
from ludus.serving.library import PolicyLibrary
from ludus.serving.policy_sources import PolicySource, sources_of
from ludus.serving.protocol import Kind
from ludus.serving.server import Server, ServerSettings
from ludus.spec import GameSpec
from ludus.types import Arrivals
from ludus.wire.frames import HEADER

PATIENCE_S = 60.0
OPTIONS: Mapping[str, object] = {"game": "nim"}
SPEC = spec_of(ToyOptions(game="nim"))


def save_checkpoint(
    run: Path, version: int = 1, *, recurrent: bool = False, spec: GameSpec = SPEC, seed: int = 1
) -> Path:
    """Write a checkpoint of an untrained net into the folder of a run."""
    kind = "lstm" if recurrent else "none"
    config = PolicyConfig(width=8, recurrent=RecurrentConfig(kind="lstm" if recurrent else "none", width=8))
    assert config.recurrent.kind == kind
    net = nets.build(spec, config, "mlp", seed=seed)
    state = State(version, checkpoint.note_game(spec), dict(OPTIONS), "mlp", config)
    model = {**checkpoint.net_tensors(net), **checkpoint.table_tensors(spec)}
    return Checkpoints(run, 3).save(state, model, {"step": torch.tensor(float(version))})


@contextmanager
def served(
    *runs: Path | str, settings: ServerSettings | None = None, watched: tuple[Path, ...] = (), max_policies: int = 4
) -> Iterator[Server]:
    """A server in a thread of this process, which ends with the block."""
    sources: dict[str, PolicySource] = sources_of([str(run) for run in runs], watched=[str(run) for run in watched])
    stop = threading.Event()
    with Server(PolicyLibrary(sources, checkpoint_game, max_policies=max_policies), settings) as server:
        thread = threading.Thread(target=server.run, args=(stop.is_set,))
        thread.start()
        try:
            yield server
        finally:
            stop.set()
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "the server did not stop"


def address(server: Server, name: str) -> str:
    return f"{server.address}/{name}"


def connect(server: Server, name: str, **changes: object) -> Client:
    return Client(address(server, name), **{"timeout_s": PATIENCE_S, **changes})  # type: ignore[arg-type] # a test's own


def rows_of(
    n: int, *, seed: int = 0, spec: GameSpec = SPEC
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return row, obs, legal and opens of n rows that begin a match, with random observations."""
    generator = np.random.default_rng(seed)
    obs = np.zeros((n, spec.obs.nbytes), np.uint8)
    for leaf in spec.obs.leaves:
        spec.obs.write(obs, leaf.name, generator.normal(size=(n, *leaf.shape)).astype(np.float32))
    return np.arange(n, dtype=np.int32), obs, np.ones((n, spec.actions), np.bool_), np.ones(n, np.bool_)


def arrivals_of(n: int, *, seed: int = 0, spec: GameSpec = SPEC) -> Arrivals:
    row, obs, legal, opens = rows_of(n, seed=seed, spec=spec)
    return Arrivals(row, np.zeros(n, np.int64), obs, legal, np.zeros(n, np.float32), opens)


class RawClient:
    """Frames by hand over a socket, for clients that break the rules. Reads have a deadline."""

    def __init__(self, server: Server) -> None:
        self.socket = socket.create_connection((server.address.host, server.address.port), PATIENCE_S)
        self._frames = protocol.splitter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def hello(self, policy: str | None, client: str = "raw", **fields: object) -> tuple[Kind, memoryview]:
        """Say HELLO and return the frame that answers."""
        hello = {"protocol": protocol.VERSION, "client": client, "policy": policy, **fields}
        body = msgspec.json.encode(hello)
        self.socket.sendall(HEADER.pack(protocol.MAGIC, protocol.VERSION, Kind.HELLO, len(body)) + body)
        return self.next()

    def header(self, kind: int, size: int) -> None:
        """Send the header of a frame, without its body."""
        self.socket.sendall(HEADER.pack(protocol.MAGIC, protocol.VERSION, kind, size))

    def ask(self, batch: int, number: int, n: int = 2, *, opens: bool = True, seed: int = 0) -> bytes:
        """Return an ASK frame of n rows."""
        row, obs, legal, _ = rows_of(n, seed=seed)
        ask = protocol.Ask(
            batch,
            row.astype(np.uint32),
            np.full(n, number, np.uint32),
            np.full(n, opens, np.uint8),
            np.packbits(legal, axis=1, bitorder="little"),
            obs,
        )
        return protocol.encode_ask(ask)

    def next(self) -> tuple[Kind, memoryview]:
        """Return the next frame. Raises EOFError if the server closes first."""
        while True:
            for frame in self._frames:
                return frame
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError
            self._frames.feed(data)

    def refusal(self) -> protocol.Refusal:
        kind, body = self.next()
        assert kind is Kind.REFUSED, kind
        return protocol.decode_json(body, protocol.Refusal)

    def is_closed(self) -> bool:
        """Wait until the server closes the connection."""
        try:
            self.next()
        except (EOFError, ConnectionError):
            return True
        return False


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; fail if it does not in time."""
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s, f"waited {PATIENCE_S} s for {what}"
        time.sleep(0.01)
