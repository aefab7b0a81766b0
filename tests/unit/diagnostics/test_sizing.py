from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.diagnostics import sizing
from ludus.diagnostics.sizing import MachineSize, Needs, Purpose, Sizes, choose
from ludus.errors import ConfigError

PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
SHOWDOWN = Needs(300.0, 1.0, 4096, "known")
LAPTOP, SMALL = MachineSize(2, 24 * 1024, "cpu"), MachineSize(1, 2048, "cpu")
SERVER, LARGE = MachineSize(16, 128 * 1024, "cuda"), MachineSize(64, 512 * 1024, "cpu")


def value(sizes: Sizes, setting: str) -> float:
    return next(choice.value for choice in sizes.choices if choice.setting == setting)


def taken_mib(machine: MachineSize, needs: Needs, sizes: Sizes) -> float:
    """What a run of these sizes takes, worked out anew: processes, hosts of training and evaluation, batches."""
    processes = {"cpu": 800, "mps": 1600, "cuda": 6000}[machine.device]
    hosts = value(sizes, "fleet.hosts") * (needs.host_mib + needs.match_mib * value(sizes, "fleet.matches"))
    return processes + 2 * hosts + 4 * value(sizes, "learner.decisions") * needs.row_bytes / 1024 / 1024


@pytest.mark.parametrize(
    ("machine", "hosts"),
    [(SMALL, [1, 1, 1, 1]), (LAPTOP, [1, 1, 2, 2]), (SERVER, [4, 8, 12, 16]), (LARGE, [16, 32, 48, 64])],
)
def test_hosts_are_a_share_of_the_cores(machine: MachineSize, hosts: list[int]) -> None:
    assert [value(choose(purpose, machine, SHOWDOWN, {}), "fleet.hosts") for purpose in PURPOSES] == hosts


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("machine", [SMALL, LAPTOP, SERVER, LARGE])
def test_no_more_memory_is_taken_than_is_free(machine: MachineSize, purpose: Purpose) -> None:
    sizes = choose(purpose, machine, SHOWDOWN, {})
    assert taken_mib(machine, SHOWDOWN, sizes) == pytest.approx(sizes.needed_mib)
    assert sizes.needed_mib <= sizes.usable_mib == pytest.approx(0.8 * machine.free_mib)


@given(
    cores=st.integers(1, 256),
    free_mib=st.floats(256, 2**20),
    device=st.sampled_from(["cpu", "mps", "cuda"]),
    host_mib=st.floats(1, 2000),
    match_mib=st.floats(0, 100),
    row_bytes=st.integers(8, 1 << 20),
    purpose=st.sampled_from(PURPOSES),
    seats=st.integers(1, 6),
)
def test_whatever_the_machine_sizes_fit_or_are_refused(
    cores: int,
    free_mib: float,
    device: str,
    host_mib: float,
    match_mib: float,
    row_bytes: int,
    purpose: Purpose,
    seats: int,
) -> None:
    machine = MachineSize(cores, free_mib, "cuda" if device == "cuda" else "mps" if device == "mps" else "cpu")
    needs = Needs(host_mib, match_mib, row_bytes, "", seats)
    try:
        sizes = choose(purpose, machine, needs, {})
    except ConfigError:
        smallest = {"fleet.hosts": 1, "fleet.matches": 1, "learner.decisions": 1024, "learner.minibatch": 128}
        assert choose(purpose, machine, needs, smallest).needed_mib > 0.8 * free_mib
        return
    assert taken_mib(machine, needs, sizes) <= 0.8 * free_mib + 1e-6
    assert 1 <= value(sizes, "fleet.hosts") <= cores
    assert value(sizes, "fleet.matches") >= 1
    assert value(sizes, "learner.decisions") % value(sizes, "learner.minibatch") == 0


def test_little_memory_costs_matches_first_and_hosts_next() -> None:
    heavy = Needs(300.0, 20.0, 4096, "known")
    found = [choose("overnight", MachineSize(16, mib, "cpu"), heavy, {}) for mib in (70_000, 35_000, 21_000, 8_000)]
    pairs = [(value(sizes, "fleet.hosts"), value(sizes, "fleet.matches")) for sizes in found]
    assert pairs[0] == (16, 64)
    assert pairs[1][0] == 16
    assert pairs[1][1] < 64
    assert pairs[2][1] == sizing.FEWEST_MATCHES
    assert pairs[3][0] < pairs[2][0]
    assert "less: memory" in found[1].choices[1].why


def test_batches_grow_with_the_rows_that_fill_them() -> None:
    small, large = (choose("overnight", machine, SHOWDOWN, {}) for machine in (LAPTOP, LARGE))
    assert value(small, "learner.decisions") == 4096
    assert value(large, "learner.decisions") == 64 * 64 * 2 * 32 // 8
    gpu = choose("overnight", SERVER, SHOWDOWN, {})
    assert value(gpu, "learner.decisions") == 16 * 64 * 2 * 32 // 4
    assert value(gpu, "learner.minibatch") == value(gpu, "learner.decisions") // 4


@pytest.mark.parametrize("setting", ["fleet.hosts", "fleet.matches", "learner.decisions", "budget.minutes"])
def test_what_is_given_wins(setting: str) -> None:
    sizes = choose("overnight", SERVER, SHOWDOWN, {setting: 3})
    assert value(sizes, setting) == 3
    assert setting not in sizes.settings()
    assert next(choice for choice in sizes.choices if choice.setting == setting).why == "set in the configuration"


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("machine", [MachineSize(4, 900, "cpu"), MachineSize(8, 6000, "cuda")])
def test_a_machine_that_is_too_small_is_refused_in_words(machine: MachineSize, purpose: Purpose) -> None:
    with pytest.raises(ConfigError, match=rf"--size {purpose}: at least [\d,]+ MiB are needed .*1 hosts of 1 matches"):
        choose(purpose, machine, SHOWDOWN, {})
