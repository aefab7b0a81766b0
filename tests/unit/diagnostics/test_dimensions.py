from __future__ import annotations

import pytest

from ludus.config.settings import FleetConfig, RunConfig, ServersConfig
from ludus.diagnostics import dimensions
from ludus.diagnostics.dimensions import Configuration, Dimension, RunFacts, Value


def facts(cores: int = 16, hosts: int = 0, matches: int = 64, servers: int = 0, *, cuda: bool = False) -> RunFacts:
    fleet, served = FleetConfig(hosts=hosts, matches=matches), ServersConfig(count=servers)
    config = RunConfig(game="toy", fleet=fleet, servers=served)
    kind = "cuda" if cuda else "cpu"
    return RunFacts(config, cores, fleet.hosts_on(cores), 1, cuda, kind, kind)


def named(**values: Value) -> Configuration:
    return Configuration(tuple(values.items()))


def test_values_lie_around_those_of_the_run_which_come_first() -> None:
    values = dimensions.candidates(facts(), {}, ())
    assert values["fleet.hosts"] == (16, 12, 20, 8)
    assert values["fleet.matches"] == (64, 32, 128)
    assert values["fleet.parts"] == (1, 2)


def test_on_two_cores_no_number_of_hosts_is_tried_twice() -> None:
    assert dimensions.candidates(facts(cores=2), {}, ())["fleet.hosts"] == (2, 3, 1)


def test_devices_are_varied_with_a_gpu_only_and_servers_where_the_run_starts_some() -> None:
    assert not {"device", "policy.device", "servers.count"} & dimensions.candidates(facts(), {}, ()).keys()
    assert dimensions.candidates(facts(cuda=True), {}, ())["policy.device"] == ("cuda", "cpu")
    assert dimensions.candidates(facts(servers=2), {}, ())["servers.count"] == (2, 4, 1)


def test_a_fixed_setting_is_not_varied_and_a_given_one_replaces_the_usual_values() -> None:
    values = dimensions.candidates(
        facts(), {"fleet.matches": (64, 8), "learner.minibatch": (512, 128)}, ("fleet.hosts",)
    )
    assert "fleet.hosts" not in values
    assert (values["fleet.matches"], values["learner.minibatch"]) == ((64, 8), (512, 128))


def test_the_number_of_actors_is_tried_up_to_half_of_the_cores() -> None:
    assert dimensions.candidates(facts(cores=16), {}, ())["actors.count"] == (1, 2, 4, 8)
    assert "actors.count" not in dimensions.candidates(facts(cores=2), {}, ())


def test_a_new_dimension_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Dimension("rollout.queue", "queue", lambda run: [run.config.rollout.queue, 2])
    monkeypatch.setattr(dimensions, "DIMENSIONS", (line,))
    assert dimensions.candidates(facts(), {}, ()) == {"rollout.queue": (1, 2)}


def test_the_present_setting_is_first_and_the_others_follow_by_their_distance() -> None:
    every = dimensions.configurations({"a": (1, 2, 3), "b": ("x", "y")}, lambda each: True)
    assert every[:4] == [named(a=1, b="x"), named(a=2, b="x"), named(a=1, b="y"), named(a=3, b="x")]
    assert len(every) == len(set(every)) == 6


def test_what_does_not_fit_is_left_out_but_never_the_present_setting() -> None:
    assert dimensions.configurations({"a": (4, 2, 8)}, lambda each: each.value("a", 0) == 2) == [named(a=4), named(a=2)]


def test_the_combination_has_the_best_value_of_every_setting_alone() -> None:
    rates = {
        named(a=1, b="x"): [10.0],
        named(a=2, b="x"): [12.0],
        named(a=3, b="x"): [11.0],
        named(a=1, b="y"): [13.0],
        named(a=3, b="y"): [99.0],  # two values differ, so it says nothing about either
    }
    assert dimensions.combined(rates) == named(a=2, b="y")


def test_a_configuration_names_its_settings_as_tables_do() -> None:
    assert str(Configuration((("fleet.hosts", 2), ("learner.minibatch", 256)))) == "hosts 2, learner.minibatch 256"
