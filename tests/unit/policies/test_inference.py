from __future__ import annotations

import pytest
from tests.unit.policies.nets.test_transformer import SPEC as CARDS
from tests.unit.policies.test_network import SPEC

from ludus.config.settings import PolicyConfig
from ludus.policies.gpu.streams import DirectStream
from ludus.policies.inference import ChooserPath, GraphPath, TorchPath
from ludus.policies.nets import build
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec


@pytest.mark.parametrize(
    ("net", "spec", "stream", "bf16", "path", "launches"),
    [
        ("mlp", SPEC, False, False, ChooserPath, False),
        ("mlp", SPEC, False, True, TorchPath, False),
        ("transformer", CARDS, False, False, TorchPath, False),
        ("mlp", SPEC, True, False, GraphPath, True),
        ("mlp", SPEC, True, True, GraphPath, True),
    ],
)
def test_path_depends_on_device_precision_and_net(
    net: str, spec: GameSpec, stream: bool, bf16: bool, path: type, launches: bool
) -> None:
    policy = NetPolicy(build(spec, PolicyConfig(), net), spec, stream=DirectStream() if stream else None, bf16=bf16)
    assert type(policy.path) is path
    assert policy.launches is launches
