from __future__ import annotations

from ludus.metrics import names


def test_every_name_is_stated_once_with_a_meaning() -> None:
    stated = [metric.name for metric in names.METRICS] + [family.prefix for family in names.FAMILIES]
    assert len(stated) == len(set(stated))
    assert all(metric.meaning for metric in names.METRICS)
    assert all("/" in metric.name for metric in names.METRICS)


def test_every_constant_of_the_page_is_in_its_list() -> None:
    listed = {metric.name for metric in names.METRICS} | {activity.name for activity in names.ACTIVITIES}
    constants = {
        value
        for key, value in vars(names).items()
        if key.isupper() and isinstance(value, str) and not key.startswith("FACT_")
    }
    assert constants == listed


def test_a_family_knows_its_members() -> None:
    assert names.WIN_RATE.end(names.WIN_RATE("max_power")) == "max_power"
    assert names.WIN_RATE.end(names.TRAIN_WIN_RATE("past")) is None


def test_rates_belong_to_counters() -> None:
    kinds = {metric.name: metric.kind for metric in names.METRICS}
    for counter, (rate, _) in names.RATES.items():
        assert kinds[counter] == "counter"
        assert kinds[rate] == "rate"
