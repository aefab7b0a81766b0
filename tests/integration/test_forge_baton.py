"""The threads of Forge's host, with stand-ins for Forge and its rules: one baton, own randomness, matches that hang."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.processes.command import HostCommand
from ludus.types import Ending

ROOT = Path(__file__).parents[2]
SDK = sorted((ROOT / "src" / "ludus" / "sdk" / "java").glob("*.java"))
HOST = ROOT / "src" / "ludus" / "games" / "forge" / "host"
REAL = [HOST / name for name in ("ForgeMatch.java", "ForgeRandom.java", "ForgeChoice.java")]
COUNTED = {
    "trigger.Trigger": "",
    "staticability.StaticAbility": "",
    "replacement.ReplacementEffect": "",
    "spellability.SpellAbilityStackInstance": "",
    "spellability.SpellAbility": "implements forge.game.GameObject",
}
PLAIN = {"card.Card": "implements forge.game.GameObject", "player.Player": "implements forge.game.GameObject"}
SPELL = """
public class Spell {
    private static boolean mode;
    public static void setPerformanceMode(boolean now) { mode = now; }
    public static boolean isPerformanceMode() { return mode; }
}
"""
GAME = """
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

public final class Standing implements Host.Setup {
    public Host.Game setUp(Host.Options options) {
        ForgeSettings settings = new ForgeSettings(options);
        List<Host.Leaf> obs = List.of(new Host.Leaf("drawn", "int32", 2), new Host.Leaf("modes", "int32", 3),
            new Host.Leaf("option", "int32", 4));
        Host.Game game = new Host.Game("standing", 1, 4, 1, obs, () -> new ForgeMatch(settings));
        game.tables = Map.of("squares", new float[][] {{0, 0}, {1, 1}, {2, 4}});
        return game;
    }
}

final class ForgeSettings {
    final long deadlineMs;
    final int mostHung;
    final boolean hangs;
    final long asides;
    private final long heap;
    private int started;

    ForgeSettings(Host.Options options) {
        deadlineMs = options.whole("deadline_ms", 5000, 1, 60000);
        mostHung = (int) options.whole("hung", 3, 1, 100);
        hangs = options.flag("hangs", false);
        asides = options.whole("asides", 0, 0, 100);
        heap = options.whole("matches_a_process", 1000, 1, 1000);
    }

    void recycleWhenDue() {
        if (started++ >= heap) throw new Host.Broken("recycled: enough");
    }
}

/** Ten questions of eleven options, three of which fit on a page. Every other match asks them in Forge's exact mode. */
final class ForgeTable {
    private final ForgeSettings settings;
    private final ForgeMatch.Playing baton;
    private int modeAfter = 1;

    ForgeTable(ForgeSettings settings, ForgeMatch.Playing baton) {
        this.settings = settings;
        this.baton = baton;
    }

    Host.Turn play() throws InterruptedException {
        boolean isForeign = ForgeRandom.SHARED.nextInt(2) == 1;
        for (int turn = 0; turn < 10; turn++) {
            for (int at = 0; at < settings.asides; at++) ForgeRandom.SHARED.aside(ForgeRandom.SHARED::nextInt);
            int place = turn, outside = mode();
            int action = ForgeRandom.SHARED.exactly(isForeign, () -> ask(place, outside));
            if (settings.hangs && action == 3) while (true) Thread.sleep(1000);
        }
        return Host.Turn.over(1).reward(1);
    }

    private int ask(int turn, int outside) {
        List<ForgeChoice> choices = new ArrayList<>();
        for (int at = 0; at < 11; at++) choices.add(ForgeChoice.of(ForgeChoice.Does.NUMBER, at));
        ForgeChoice.Question question = new ForgeChoice.Question(0, ForgeChoice.Asks.NUMBER, null, choices);
        forge.game.trigger.Trigger.count();
        double[] drawn = {ForgeRandom.SHARED.nextInt(1 << 20), forge.game.trigger.Trigger.count()};
        double[] shown = new double[4], modes = {outside, mode(), turn == 0 ? mode() : modeAfter};
        List<ForgeChoice> page = question.page(3 * turn % 11, 4);
        for (int at = 0; at < 4; at++) shown[at] = page.get(at).number() + 100 * page.get(at).does().ordinal();
        Map<String, double[]> obs = Map.of("drawn", drawn, "modes", modes, "option", shown);
        int action = baton.ask(Host.Turn.next().ask(0, obs, new boolean[] {true, true, true, true}));
        modeAfter = mode();
        return action;
    }

    private static int mode() {
        return forge.game.spellability.Spell.isPerformanceMode() ? 1 : 0;
    }
}
"""

pytestmark = pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK on this machine")


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    sources = [write(folder, "GameObject", "public interface GameObject {}")]
    for name, heritage in COUNTED.items():
        counter = "private static int maxId; public static int count() { return ++maxId; }"
        extra = "public forge.game.card.Card getHostCard() { return null; }" if name.endswith("SpellAbility") else ""
        sources.append(write(folder, name, f"public class {name.split('.')[1]} {heritage} {{ {counter} {extra} }}"))
    for name, heritage in PLAIN.items():
        sources.append(write(folder, name, f"public class {name.split('.')[1]} {heritage} {{}}"))
    sources.append(write(folder, "spellability.Spell", SPELL))
    standing = folder / "Standing.java"
    standing.write_text(GAME)
    words = ("javac", "-proc:none", "-d", str(folder), *map(str, [*SDK, *REAL, *sources, standing]))
    subprocess.run(words, check=True, timeout=100)
    return folder


def write(folder: Path, name: str, code: str) -> Path:
    package, _, short = f"forge.game.{name}".rpartition(".")
    path = folder / f"{name}.d" / f"{short}.java"
    path.parent.mkdir()
    path.write_text(f"package {package};\n{code}\n")
    return path


def played(
    classes: Path,
    logs: Path,
    *,
    matches: int = 1,
    count: int = 6,
    lowest: int = 0,
    **options: Any,  # Any: options of the stand-in
) -> tuple[list[Ending], dict[int, str]]:
    """Play with answers that follow from what is shown, from `lowest` on. Returns the endings and a digest by match."""
    command = HostCommand(
        ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(classes), "Host", "Standing")
    )
    config = FleetConfig(matches=matches, backoff_s=0.01, failures_in_a_row=20)
    schedule = None if options.get("hangs") else [(number, 40 + number) for number in range(count)]
    endings: list[Ending] = []
    digests: dict[int, Any] = defaultdict(hashlib.sha256)  # Any: hash objects have no public type
    with HostFleet(command, config, options=options, seed=1, log_dir=logs, hosts=1, schedule=schedule) as fleet:
        assert fleet.spec.tables["squares"].tolist() == [[0, 0], [1, 1], [2, 4]]
        while len([ending for ending in endings if schedule is None or not ending.void]) < count:
            arrivals = fleet.recv(30.0)
            endings += arrivals.endings
            assert len(arrivals) or arrivals.endings
            for at, match in enumerate(arrivals.match.tolist()):
                digests[match].update(arrivals.obs[at].tobytes())
            drawn = fleet.spec.obs.leaf(arrivals.obs, "drawn")[:, 0].astype(np.int32)
            fleet.send(arrivals.row, np.maximum(drawn % 4, lowest))
    return endings, {match: digest.hexdigest() for match, digest in digests.items()}


def test_matches_draw_and_count_alone_however_many_run_together(classes: Path, tmp_path: Path) -> None:
    alone, seen = played(classes, tmp_path / "alone")
    together, seen_together = played(classes, tmp_path / "together", matches=5)
    assert [ending.score.tolist() for ending in alone] == [ending.score.tolist() for ending in together] == [[1.0]] * 6
    assert seen == seen_together
    assert len(set(seen.values())) == 6  # seeds differ


def test_a_question_that_draws_numbers_leaves_those_of_the_match(classes: Path, tmp_path: Path) -> None:
    _, seen = played(classes, tmp_path / "none")
    _, seen_with = played(classes, tmp_path / "some", asides=7, matches=3)
    assert seen == seen_with


def test_each_match_keeps_its_mode_while_others_play(classes: Path, tmp_path: Path) -> None:
    command = HostCommand(("java", "-XX:TieredStopAtLevel=1", "-cp", str(classes), "Host", "Standing"))
    modes: list[list[int]] = []
    with HostFleet(command, FleetConfig(matches=8), options={}, seed=1, log_dir=tmp_path, hosts=1) as fleet:
        while len(modes) < 60:
            arrivals = fleet.recv(30.0)
            modes += fleet.spec.obs.leaf(arrivals.obs, "modes").tolist()
            fleet.send(arrivals.row, np.zeros(len(arrivals), np.int32))
    outside, inside, after = np.array(modes).T
    assert outside.all()
    assert set(inside.tolist()) == {0, 1}
    assert (after == inside).all()


def test_a_match_that_hangs_is_voided_and_then_its_process_is_replaced(classes: Path, tmp_path: Path) -> None:
    endings, _ = played(classes, tmp_path, lowest=3, hangs=True, deadline_ms=50, hung=2, count=4)
    reasons = [ending.void for ending in endings]
    assert any("Forge returned no decision within 0.05 s" in reason for reason in reasons)
    assert "2 matches hung" in (tmp_path / "host-0.log").read_text()


def test_a_process_that_has_grown_is_replaced_between_matches(classes: Path, tmp_path: Path) -> None:
    endings, _ = played(classes, tmp_path, matches_a_process=2)
    assert sum(not ending.void for ending in endings) == 6
    assert "recycled: enough" in (tmp_path / "host-0.log").read_text()


def test_pages_offer_every_option_and_the_next_page_last(classes: Path, tmp_path: Path) -> None:
    command = HostCommand(("java", "-XX:TieredStopAtLevel=1", "-cp", str(classes), "Host", "Standing"))
    more = 100 * 23  # the place of MORE in Does
    offered: set[int] = set()
    with HostFleet(command, FleetConfig(matches=1), options={}, seed=1, log_dir=tmp_path, hosts=1) as fleet:
        for _ in range(4):
            arrivals = fleet.recv(30.0)
            shown = fleet.spec.obs.leaf(arrivals.obs, "option")[0].tolist()
            assert shown[3] == more
            offered |= {value % 100 for value in shown[:3]}
            fleet.send(arrivals.row, np.zeros(1, np.int32))
    assert offered == set(range(11))
