from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ludus.errors import CheckpointError
from ludus.policies.weights import FlatWeights, WeightsBoard, read_tensors, write_tensors


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


def test_parameters_become_views_of_one_vector_without_changing() -> None:
    module = net()
    before = {name: parameter.clone() for name, parameter in module.named_parameters()}
    flat = FlatWeights(module, gradients=True)
    assert all(torch.equal(before[name], parameter) for name, parameter in module.named_parameters())
    flat.vector.zero_()
    assert not any(parameter.any() for parameter in module.parameters())
    module(torch.ones(1, 3)).sum().backward()
    assert flat.gradient.norm() > 0
    assert torch.equal(flat.join(flat.split(flat.gradient)), flat.gradient)


def test_vector_of_one_net_makes_another_play_the_same() -> None:
    first, second = net(), net()
    FlatWeights(second).load(FlatWeights(first).numpy())
    seen = torch.ones(1, 3)
    assert torch.equal(first(seen), second(seen))


def test_board_shows_the_newest_whole_weights_to_a_reader_beside_its_writer() -> None:
    floats = 50_000
    memory = memoryview(bytearray(WeightsBoard.nbytes(floats)))
    writer, reader = WeightsBoard(memory), WeightsBoard(memory)
    writer.publish(np.zeros(floats, np.float32), 0)
    finished = threading.Event()

    def write() -> None:
        for version in range(1, 300):
            writer.publish(np.full(floats, version, np.float32), version)
        finished.set()

    thread = threading.Thread(target=write)
    thread.start()
    seen = []
    while not finished.is_set():
        newest = reader.read()
        if newest is not None:
            vector, version = newest
            assert (vector == version).all()
            seen.append(version)
    thread.join()
    assert seen == sorted(seen)
    last = reader.read()
    assert last is not None
    assert last[1] == reader.version == 299


def test_weights_under_way_are_not_taken() -> None:
    memory = memoryview(bytearray(WeightsBoard.nbytes(4)))
    board = WeightsBoard(memory)
    board.publish(np.ones(4, np.float32), 1)
    head = np.frombuffer(memory, np.int64, 3)
    head[0] += 1
    assert board.read() is None
    head[0] += 1
    np.frombuffer(memory, np.float32, offset=WeightsBoard.HEADER)[2] = 9  # the checksum tells
    assert board.read() is None


def test_tensors_come_back_from_their_file_and_a_broken_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.arange(6.0).reshape(2, 3).T})
    assert read_tensors(path)["a"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(CheckpointError, match="cannot read"):
        read_tensors(path)
    with pytest.raises(CheckpointError, match="cannot read"):
        read_tensors(tmp_path / "missing")
