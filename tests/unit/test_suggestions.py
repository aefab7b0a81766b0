from __future__ import annotations

from ludus.suggestions import closest, did_you_mean


def test_the_closest_known_name_is_suggested() -> None:
    assert closest("shodown", ["toy", "showdown"]) == "showdown"
    assert did_you_mean("shodown", iter(["toy", "showdown"])) == "did you mean showdown?"


def test_without_a_similar_name_the_known_ones_are_listed_or_the_text_that_was_passed() -> None:
    assert closest("chess", ["toy", "showdown"]) is None
    assert did_you_mean("chess", ["toy", "showdown"]) == "known are toy, showdown"
    assert did_you_mean("chess", []) == "known are none"
    assert did_you_mean("chess", ["toy"], "`ludus games` lists them") == "`ludus games` lists them"
