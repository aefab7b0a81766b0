from __future__ import annotations

from ludus.wire.seeds import match_seed


def test_seed_is_the_upper_53_bits_of_splitmix64() -> None:
    first_outputs = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)  # published, for seed 0
    assert [match_seed(0, number) for number in range(3)] == [value >> 11 for value in first_outputs]


def test_seeds_of_neighbours_differ_and_javascript_can_hold_them() -> None:
    seeds = {match_seed(seed, number) for seed in range(50) for number in range(50)}
    assert len(seeds) == 2500
    assert max(seeds) < 2**53
