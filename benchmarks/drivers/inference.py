"""Variants of inference on a batch of random rows, for bench_inference.py."""

from __future__ import annotations

import importlib.util
import io
import math
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.games.registry import load, nets_of
from ludus.policies.cpu.drawing import draw
from ludus.policies.distributions import Distribution
from ludus.policies.gpu.graphs import Engine, Forward
from ludus.policies.gpu.streams import WARM_UPS, CudaStream, Run, Stream
from ludus.policies.hidden_states import RowStates
from ludus.policies.inference import GraphPath
from ludus.policies.nets import build
from ludus.policies.nets.net import Net, forward_fused
from ludus.policies.nets.recurrence import Recall
from ludus.policies.network import NetPolicy
from ludus.policies.weights import FlatWeights
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

Batch = Callable[[], object]
Ways = Mapping[str, Callable[[Arrivals], Batch]]  # each with one net for batches of all sizes

FLAT = GameSpec("flat", 2, 16, ObsSpec.pack({"x": ("float32", (512,))}), 1)
ENTITIES = GameSpec("entities", 2, 16, ObsSpec.pack({"each": ("float32", (31, 16)), "all": ("float32", (16,))}), 1)


@dataclass(frozen=True)
class Case:
    spec: GameSpec
    config: PolicyConfig

    def net(self) -> Net:
        return build(self.spec, self.config, "mlp", seed=1, game_nets=nets_of(load("showdown")))

    def arrivals(self, size: int) -> Arrivals:
        random = np.random.default_rng(size)
        obs = np.zeros((size, self.spec.obs.nbytes), np.uint8)
        for leaf in self.spec.obs.leaves:
            shape = (size, *leaf.shape)
            values = random.random(shape) / leaf.unit if leaf.is_real else random.integers(1, 19, shape)
            self.spec.obs.leaf(obs, leaf.name)[:] = values.astype(leaf.storage_dtype)
        legal = random.random((size, self.spec.actions)) < 0.7
        if self.spec.layout.get("slots") == 2:
            each = random.random((2, size, math.isqrt(self.spec.actions))) < 0.2  # of a slot about 9 of 47, as in play
            legal = (each[0, :, :, None] & each[1, :, None]).reshape(size, -1)
        legal[:, 0] = True
        zeros = np.zeros(size, np.int64)
        return Arrivals(
            np.arange(size, dtype=np.int32), zeros, obs, legal, zeros.astype(np.float32), zeros.astype(np.bool_)
        )


def doubles() -> GameSpec:
    """Return a spec with the sizes of gen9randomdoublesbattle."""
    leaves = {
        "species": ("uint16", (12,)),
        "ability": ("uint16", (12,)),
        "item": ("uint16", (12,)),
        "types": ("uint8", (12, 3)),
        "moves": ("uint16", (12, 4)),
        "pokemon": ("fixed16", (12, 24)),
        "move_state": ("fixed8", (12, 4, 4)),
        "boosts": ("int8", (4, 7)),
        "volatiles": ("uint8", (4, 51)),
        "field": ("fixed16", (69,)),
        "matchup": ("fixed8", (6, 4, 2, 5)),
        "threat": ("fixed8", (2, 4, 6, 5)),
        "duel": ("fixed8", (6, 2, 4)),
    }
    random = np.random.default_rng(0)
    sizes = {
        "move": (866, 76),
        "species": (1368, 27),
        "item": (538, 1),
        "ability": (312, 1),
        "effectiveness": (20, 20),
    }
    tables = {name: random.random(shape, dtype=np.float32) for name, shape in sizes.items()}
    layout = {"slots": 2, "targets": 5, "variants": ["plain", "tera"]}
    return GameSpec("showdown", 2, 47 * 47, ObsSpec.pack(leaves), 1, layout, tables)


def _showdown() -> GameSpec:
    """Return a spec with the sizes of gen1randombattle."""
    leaves = {
        "species": ("uint16", (12,)),
        "ability": ("uint16", (12,)),
        "item": ("uint16", (12,)),
        "types": ("uint8", (12, 3)),
        "moves": ("uint16", (12, 4)),
        "pokemon": ("fixed16", (12, 20)),
        "move_state": ("fixed8", (12, 4, 4)),
        "boosts": ("int8", (2, 7)),
        "volatiles": ("uint8", (2, 30)),
        "field": ("fixed16", (40,)),
        "matchup": ("fixed8", (6, 4, 1, 6)),
        "threat": ("fixed8", (1, 4, 6, 6)),
        "duel": ("fixed8", (6, 1, 4)),
    }
    random = np.random.default_rng(0)
    sizes = {"move": (165, 60), "species": (160, 30), "item": (20, 8), "ability": (20, 8), "effectiveness": (20, 20)}
    tables = {name: random.random(shape, dtype=np.float32) for name, shape in sizes.items()}
    layout = {"slots": 1, "targets": 1, "variants": ["plain"]}
    return GameSpec("showdown", 2, 10, ObsSpec.pack(leaves), 1, layout, tables)


CASES = {
    "mlp": Case(FLAT, PolicyConfig(net="mlp", width=128, layers=3)),
    "lstm": Case(FLAT, PolicyConfig(net="mlp", width=64, layers=2, recurrent=RecurrentConfig(kind="lstm", width=256))),
    "transformer": Case(ENTITIES, PolicyConfig(net="transformer", width=256, context=256, layers=6, heads=8)),
    "pointer": Case(_showdown(), PolicyConfig(net="pointer")),
    "pointer_doubles": Case(doubles(), PolicyConfig(net="pointer")),
    "tokens": Case(_showdown(), PolicyConfig(net="tokens", width=64, layers=2)),
    "tokens_128": Case(_showdown(), PolicyConfig(net="tokens", width=128, context=256, layers=3)),
    "tokens_256": Case(_showdown(), PolicyConfig(net="tokens", width=256, context=512, layers=6, heads=8)),
    "tokens_doubles": Case(doubles(), PolicyConfig(net="tokens", width=64, layers=2)),
}


class ApartStream(CudaStream):
    """Captures the operations as they are."""

    fuses = False


class EagerStream(ApartStream):
    """Launches operation by operation."""

    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        return run


def cuda_ways(case: Case, device: torch.device, skip: Sequence[str]) -> Ways:
    ways = {
        "eager": _programs(case, EagerStream(device), _plain),
        "autocast": _programs(case, EagerStream(device), _autocast),
        "graph": _programs(case, CudaStream(device), _plain),
    }
    if "compiled" not in skip:
        ways["compiled"] = _programs(case, EagerStream(device), _compiled)
    for name, stream in (("graph_bf16", CudaStream(device)), ("apart_bf16", ApartStream(device))):
        path = NetPolicy(case.net(), case.spec, stream=stream, bf16=True).path
        assert isinstance(path, GraphPath)
        ways[name] = partial(_again, path.engine, stream)
    ways["act"] = _acting(NetPolicy(case.net(), case.spec, stream=CudaStream(device)))
    ways["cpu"] = _acting(NetPolicy(case.net(), case.spec))
    return ways


def cpu_ways(case: Case, skip: Sequence[str]) -> Ways:
    ways = {
        "eager": _acting(NetPolicy(case.net(), case.spec)),
        "bf16": _acting(NetPolicy(case.net(), case.spec, bf16=True)),
        "autocast": _acting(NetPolicy(case.net(), case.spec), torch.autocast("cpu", torch.bfloat16)),
    }
    if "compiled" not in skip and shutil.which("g++") is not None:
        net = case.net()
        net.outputs = torch.compile(net.outputs, dynamic=True)  # type: ignore[method-assign]  # in place
        net.chooser = lambda spec: None  # type: ignore[method-assign]  # PyTorch runs the net
        ways["compiled"] = _acting(NetPolicy(net, case.spec))
    if "onnx" not in skip and importlib.util.find_spec("onnxruntime") and case is CASES["mlp"]:
        ways |= _onnx(case)
    return ways


def _acting(policy: NetPolicy, within: AbstractContextManager[object] | None = None) -> Callable[[Arrivals], Batch]:
    """Return a variant that does everything that a policy does."""

    def ready(arrivals: Arrivals) -> Batch:
        def batch() -> object:
            with within or nullcontext():
                return policy.act(arrivals)

        return batch

    return ready


def _programs(case: Case, stream: CudaStream, forward: Callable[[Net], Forward]) -> Callable[[Arrivals], Batch]:
    net = case.net().to(stream.device).eval()
    FlatWeights(net)
    states = None if net.core is None else RowStates(net.core)
    engine = Engine(forward(net), case.spec, stream, states=states, fused=partial(forward_fused, net))
    return partial(_again, engine, stream)


def _again(engine: Engine, stream: Stream, arrivals: Arrivals) -> Batch:
    """Return a batch that goes from rows in page-locked memory to actions in page-locked memory."""
    size = len(arrivals)
    engine.launch(arrivals, np.random.default_rng(0).random((engine.draws, size), dtype=np.float32))
    engine.collect()
    program = engine.program(size)

    def batch() -> object:
        stream.start(program.run)
        stream.wait()
        return program.sampled(size)

    return batch


def _plain(net: Net) -> Forward:
    return net.forward


def _autocast(net: Net) -> Forward:
    def forward(obs: dict[str, Tensor], legal: Tensor, recall: Recall | None) -> tuple[Distribution, Tensor]:
        with torch.autocast("cuda", torch.bfloat16):
            return net(obs, legal, recall)

    return forward


def _compiled(net: Net) -> Forward:
    return cast(Forward, torch.compile(_plain(net), dynamic=True))


def _onnx(case: Case) -> Ways:
    """Return the variants of onnxruntime: `onnx` samples with numpy, `onnx_adopt` loads new weights."""
    import onnxruntime  # type: ignore[import-not-found]  # only where it is installed

    class Flat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = case.net().eval()

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            hidden = cast(Any, self.net).body(x)  # Any: attributes of a module
            return cast(Any, self.net).policy(hidden), cast(Any, self.net).value(hidden)

    def session() -> Any:  # Any: onnxruntime has no types
        file: Any = io.BytesIO()  # Any: taken, though not typed as such
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # this way to export is the old one, and the quicker
            names, axes = ["x"], {"x": {0: "n"}}
            torch.onnx.export(Flat(), (torch.zeros(2, 512),), file, dynamo=False, input_names=names, dynamic_axes=axes)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])

    model, generator = session(), torch.Generator().manual_seed(0)

    def ready(arrivals: Arrivals) -> Batch:
        def batch() -> object:
            x = cast(NDArray[np.float32], case.spec.obs.leaf(arrivals.obs, "x"))
            logits, value = model.run(None, {"x": np.ascontiguousarray(x)})
            logits[~arrivals.legal] = -1e9
            uniform = torch.rand(len(x), generator=generator).numpy()
            return (*draw(logits, uniform), value)

        return batch

    return {"onnx": ready, "onnx_adopt": lambda arrivals: session}
