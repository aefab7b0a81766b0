from __future__ import annotations

from pathlib import Path

import pytest
from tests import fuzz_seeds
from tests.fuzzing import TARGETS, find

INPUTS = 300
SLOW = {"yaml": 100, "config": 30, "sets": 60}  # fewer, as each builds a whole configuration


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    fuzz_seeds.write_seeds(folder)
    return folder


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_takes_real_inputs(seeds: Path, tmp_path: Path, name: str) -> None:
    for data in fuzz_seeds.read_seeds(seeds, TARGETS[name].seeds):
        TARGETS[name].read(data, tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_raises_only_what_it_promises(seeds: Path, tmp_path: Path, name: str) -> None:
    originals = fuzz_seeds.read_seeds(seeds, TARGETS[name].seeds)
    for number in range(SLOW.get(name, INPUTS)):
        data = fuzz_seeds.damaged(originals[number % len(originals)], number)
        error = find(TARGETS[name], data, tmp_path)
        assert error is None, f"input {number}: {data[:200]!r}"


def test_the_same_seed_damages_in_the_same_way() -> None:
    data = bytes(range(100))
    assert fuzz_seeds.damaged(data, 7) == fuzz_seeds.damaged(data, 7)
    assert len({fuzz_seeds.damaged(data, seed) for seed in range(50)}) > 40
