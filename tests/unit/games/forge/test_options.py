"""Options of the game: decks are found, flags follow from presets, and a file of a stranger names no path."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.errors import ConfigError
from ludus.games import registry, trust
from ludus.games.forge import decks, jvm
from ludus.games.forge.options import ForgeOptions, check
from ludus.processes.cores import cores


def test_folders_are_searched_for_decks_and_sorted(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    for name in ("b.dck", "a.dck", "more/c.dck", "notes.txt"):
        (tmp_path / name).write_text("[main]\n")
    assert [path.name for path in decks.files("decks", str(tmp_path))] == ["a.dck", "b.dck", "c.dck"]
    two = decks.files("decks", (str(tmp_path / "b.dck"), str(tmp_path / "more")))
    assert [path.name for path in two] == ["b.dck", "c.dck"]
    assert decks.files("decks", "") == []


def test_what_is_no_deck_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"options\.decks: the folder .* has no deck files"):
        decks.files("decks", str(tmp_path))
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ConfigError, match=r"options\.opposing: .* is neither a deck file .* nor a folder"):
        decks.files("opposing", str(tmp_path / "notes.txt"))


def test_the_simple_decks_have_sixty_cards() -> None:
    for path in decks.simple():
        cards = [line.split(" ", 1) for line in path.read_text().partition("[main]\n")[2].splitlines()]
        assert sum(int(n) for n, _ in cards) == 60, path.name
    assert len(decks.simple()) == 2


def test_only_a_gauntlet_has_opposing_decks() -> None:
    check(ForgeOptions())
    check(ForgeOptions(pairing="gauntlet", opposing="decks"))
    for wrong in (ForgeOptions(pairing="gauntlet"), ForgeOptions(opposing="decks")):
        with pytest.raises(ConfigError, match=r"options\.opposing"):
            check(wrong)


def test_flags_follow_from_the_preset_and_the_heap() -> None:
    default = set(jvm.flags(ForgeOptions(), free_mib=1000))
    assert {"-Xmx700m", "-Xmn140m", "-XX:+DisableExplicitGC"} <= default
    assert {"-XX:+UseParallelGC", "-XX:ParallelGCThreads=1"} <= default
    assert "-Xmn300m" in jvm.flags(ForgeOptions(heap_mib=1500))
    assert "-XX:+DisplayVMOutputToStderr" in jvm.flags(ForgeOptions())  # stdout belongs to the protocol
    assert "-Xmx1500m" in jvm.flags(ForgeOptions(), free_mib=1500 * 2 * cores())
    assert "-Xmx2048m" in jvm.flags(ForgeOptions(), free_mib=1 << 30)
    assert "-Xmx450m" in jvm.flags(ForgeOptions(jvm="lean"))
    assert "-Xmx1234m" in jvm.flags(ForgeOptions(jvm="lean", heap_mib=1234))
    assert "-XX:+UseSerialGC" in jvm.flags(ForgeOptions(jvm="lean"))
    assert "-XX:+UseParallelGC" in jvm.flags(ForgeOptions(jvm="parallel"))
    assert not any("Threads=1" in flag or "-Xmn" in flag for flag in jvm.flags(ForgeOptions(jvm="parallel")))


@pytest.mark.parametrize("name", ["forge", "java", "decks", "opposing", "known_cards", "profile_folder", "ai_profile"])
def test_a_file_from_elsewhere_names_no_path(name: str) -> None:
    game = registry.load("forge")
    assert not trust.is_harmless(game, name, "/somewhere/else")
    assert trust.is_harmless(game, name, getattr(ForgeOptions(), name))


def test_numbers_and_words_may_come_from_a_file() -> None:
    game = registry.load("forge")
    for name, value in (("max_turns", 10), ("pairing", "pool"), ("forge_ai", False), ("format", "any")):
        assert trust.is_harmless(game, name, value)


def test_the_defaults_pass_their_own_checks() -> None:
    assert msgspec.convert(msgspec.to_builtins(ForgeOptions()), ForgeOptions) == ForgeOptions()
