"""The worked examples of hosts in three languages: they keep the protocol and learn, and faults in them are named."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tests.commands import ludus_here
from tests.running import Watch, small_run, train

from ludus.config import load
from ludus.config.settings import EvaluationConfig, FleetConfig, LearnerConfig, OpponentsConfig, PpoConfig
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.showdown import node
from ludus.hostcheck.check import CheckReport, Mark, results
from ludus.hostcheck.rules import RuleChecks
from ludus.processes.command import HostCommand

ROOT = Path(__file__).parents[2]
HOSTS = ROOT / "examples" / "hosts"
JAVA = sorted((ROOT / "src" / "ludus" / "sdk" / "java").glob("*.java"))
HOST_IN_JAVA = ROOT / "src" / "ludus" / "sdk" / "java" / "Host.java"
JAVASCRIPT = ROOT / "src" / "ludus" / "sdk" / "javascript"
SPOILER = ROOT / "tests" / "spoiler.py"
LINES = 120
JVM = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
NEVER = 1_000_000_000
MEASURES_IN_JAVA = """
import java.util.List;
import java.util.Map;

public final class Measures implements Host.Setup {
    public Host.Game setUp(Host.Options options) {
        List<Host.Leaf> obs = List.of(new Host.Leaf("share", "fixed8", 3), new Host.Leaf("stat", "fixed16", 2));
        return new Host.Game("measures", 1, 1, 1, obs, Match::new);
    }

    private static final class Match implements Host.Match {
        public Host.Turn start(long seed) {
            return ask(0.999);
        }

        public Host.Turn advance(Map<Integer, Integer> actions) {
            return ask(2);
        }

        private Host.Turn ask(double last) {
            double[] share = {0.5, -2, last}, stat = {-8, 1 / 3.0};
            return Host.Turn.next().ask(0, Map.of("share", share, "stat", stat), new boolean[] {true});
        }
    }
}
"""

needs_java = pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK on this machine")
LANGUAGES = ["python", "javascript", pytest.param("java", marks=needs_java)]


@pytest.fixture(autouse=True)
def _speed_is_measured_coarsely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.hostcheck.rules.SPEED_S", 0.1)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    compiling = ["javac", "-Xlint:all", "-Werror", "-d", str(folder), *map(str, JAVA), str(HOSTS / "TicTacToe.java")]
    subprocess.run(compiling, check=True, timeout=100)
    return folder


def host(language: str, request: pytest.FixtureRequest) -> tuple[str, ...]:
    if language == "java":
        return (*JVM, "-cp", str(request.getfixturevalue("classes")), "Host", "TicTacToe")
    if language == "javascript":
        return str(node.find()), str(HOSTS / "connect_four.js")
    return sys.executable, "-m", "ludus.sdk", str(HOSTS / "tictactoe.py")


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_example_keeps_the_protocol(language: str, request: pytest.FixtureRequest) -> None:
    rules = 5 if language == "python" else None  # the toy host keeps the others, by the same means
    report = CheckReport(tuple(islice(results(HostCommand(host(language, request)), decisions=100), rules)))
    assert report.ok, str(report)


@needs_java
def test_measures_of_few_bytes_come_from_java_as_they_were_given(tmp_path: Path) -> None:
    (tmp_path / "Measures.java").write_text(MEASURES_IN_JAVA)
    sources = [*map(str, JAVA), str(tmp_path / "Measures.java")]
    subprocess.run(["javac", "-d", str(tmp_path), *sources], check=True, timeout=100)
    command = HostCommand((*JVM, "-cp", str(tmp_path), "Host", "Measures"))
    with HostFleet(command, FleetConfig(), options={}, seed=1, log_dir=tmp_path, hosts=1, matches=1) as fleet:
        came = fleet.recv(20.0)
        assert fleet.spec.obs.reals(came.obs, "share").tolist() == [[0.5, -2, 1]]
        np.testing.assert_allclose(fleet.spec.obs.reals(came.obs, "stat"), [[-8, 1 / 3]], atol=0.5 / 4096)
        fleet.send(came.row, np.zeros(1, np.int32))  # leads to one that a leaf cannot say
        assert "leaf share holds 2.0" in fleet.recv(20.0).endings[0].void


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_example_learns_to_beat_random(language: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    watch = Watch()
    config = small_run(
        36,
        game="command",
        options={"command": list(host(language, request))},
        fleet=FleetConfig(hosts=1, matches=32),
        learner=LearnerConfig(
            decisions=512, minibatch=256, lr=3e-3, entropy_coef=0.003, ppo=PpoConfig(gae_lambda=0.95)
        ),
        opponents=OpponentsConfig(past=0.0, scripted=0.9, scripted_names=("random",)),
        evaluation=EvaluationConfig(matches=60, every_updates=NEVER),
    )
    train(config, tmp_path, observer=watch)
    assert watch.evaluations[-1][1]["random"] >= 0.75


def test_examples_are_short() -> None:
    sizes = {path.name: len(path.read_text().splitlines()) for path in HOSTS.iterdir() if path.suffix != ".yaml"}
    assert set(sizes) >= {"tictactoe.py", "connect_four.js", "TicTacToe.java"}
    assert {name: size for name, size in sizes.items() if size >= LINES} == {}


@pytest.mark.parametrize("path", sorted(HOSTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_configurations_of_examples_fit(path: Path) -> None:
    config = load.load(path, options_of=lambda name: registry.load(name).options)
    words = str(config.options["command"]).split()
    named = [word for word in words if "/" in word]
    assert named
    assert all((ROOT / word).is_file() for word in named), "paths are from the root of the repository"


@needs_java
def test_java_runs_a_game_from_its_source_and_says_where_it_does_not_compile(tmp_path: Path) -> None:
    command = HostCommand((*JVM, str(HOST_IN_JAVA), str(HOSTS / "TicTacToe.java")))
    report = CheckReport(tuple(islice(results(command), 1)))
    assert report.ok, str(report)
    broken = tmp_path / "Broken.java"
    broken.write_text("public class Broken implements Host.Setup { oops }")
    (failed, *_) = results(HostCommand((*JVM, str(HOST_IN_JAVA), str(broken))))
    assert failed.mark is Mark.FAILED
    assert "status 1" in failed.detail


NOISE = {
    "python": (
        "noisy.py",
        """
import os, subprocess, sys, threading, time
print("a banner")
os.write(1, b"straight to the descriptor")
subprocess.run(["echo", "from a child"])
assert sys.stdin.read() == "", "stdin is not the game's"
threading.Thread(target=time.sleep, args=(30,)).start()
sys.path.insert(0, {hosts!r})
from tictactoe import TicTacToe, make_game
right = TicTacToe.advance
def advance(self, actions):
    print("thinking", flush=True)
    return right(self, actions)
TicTacToe.advance = advance
""",
    ),
    "javascript": (
        "noisy.js",
        """
const {{ serve }} = require({javascript!r});
process.nextTick(() => {{ console.log('a banner'); process.stdout.write('more'); }});
setInterval(() => console.log('still here'), 1);
require({hosts!r} + '/connect_four.js');
""",
    ),
    "java": (
        "Noisy.java",
        """
public final class Noisy implements Host.Setup {{
    public Host.Game setUp(Host.Options options) {{
        System.out.println("a banner");
        new Thread(() -> {{ for (int i = 0; i < 1000; i++) System.out.println("still here"); }}).start();
        return new TicTacToe().setUp(options);
    }}
}}
""",
    ),
}


def changed(game: tuple[str, str], language: str, request: pytest.FixtureRequest, folder: Path) -> tuple[str, ...]:
    """The command of a host made of an example by a file of that name and text."""
    name, text = game
    program = folder / name
    program.write_text(text.format(hosts=str(HOSTS), javascript=str(JAVASCRIPT)))
    if language != "java":
        return (*host(language, request)[:-1], str(program))
    classes = str(request.getfixturevalue("classes"))
    subprocess.run(["javac", "-cp", classes, "-d", str(folder), str(program)], check=True, timeout=100)
    return (*JVM, "-cp", f"{classes}:{folder}", "Host", program.stem)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_game_prints_does_not_break_a_frame(
    language: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    command = changed(NOISE[language], language, request, tmp_path)
    checks = RuleChecks(HostCommand(command), {}, matches=4, decisions=40, seed=1, deadline_s=20.0)
    assert "matches ended" in checks.plays()
    assert checks.stops_when_told().startswith("after")


WAITS = {
    "python": (
        "waiting.py",
        """
import asyncio, random, sys
sys.path.insert(0, {hosts!r})
from tictactoe import SPEC, TicTacToe
from ludus.sdk.match import HostedGame
class Waiting(TicTacToe):
    async def start(self, seed):
        self.wait = random.Random(seed)
        return super().start(seed)
    async def advance(self, actions):
        await asyncio.sleep(0.03 * self.wait.random() ** 4)
        return super().advance(actions)
make_game = lambda options: HostedGame(SPEC, lambda: Waiting(0))
""",
    ),
    "javascript": (
        "waiting.js",
        """
const ludus = require({javascript!r});
const {{ serve }} = ludus;
const later = turn => new Promise(resolve => setTimeout(resolve, 30 * Math.random() ** 4, turn));
ludus.serve = game => serve({{
    ...game,
    setUp(options) {{
        const {{ newMatch, ...spec }} = game.setUp(options);
        const waiting = match => ({{ start: s => match.start(s), advance: a => later(match.advance(a)) }});
        return {{ ...spec, newMatch: () => waiting(newMatch()) }};
    }},
}});
require({hosts!r} + '/connect_four.js');
""",
    ),
    "java": (
        "Waiting.java",
        """
import java.util.Map;
public final class Waiting implements Host.Setup {{
    public Host.Game setUp(Host.Options options) {{
        Host.Game quick = new TicTacToe().setUp(options);
        Host.Game game = new Host.Game("waiting", 2, 9, 1, quick.obs, () -> new Slow(quick.newMatch.get()));
        game.threads = 8;
        return game;
    }}
    record Slow(Host.Match match) implements Host.Match {{
        public Host.Turn start(long seed) throws Exception {{
            return match.start(seed);
        }}
        public Host.Turn advance(Map<Integer, Integer> actions) throws Exception {{
            Thread.sleep((long) (30 * Math.pow(Math.random(), 4)));
            return match.advance(actions);
        }}
    }}
}}
""",
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_matches_that_wait_send_the_first_first_and_repeat_themselves(
    language: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    command = changed(WAITS[language], language, request, tmp_path)
    checks = RuleChecks(HostCommand(command), {}, matches=8, decisions=100, seed=1, deadline_s=20.0)
    early = re.search(r"([\d,]+) rows came early", checks.sends_the_first_first())
    assert early is not None
    assert int(early[1].replace(",", "")) > 0
    assert "played twice" in checks.repeats()
    checks.keeps_its_schedule()
    checks.resumes()
    checks.is_silent()


@pytest.mark.parametrize(
    ("fault", "seen", "to_do"),
    [
        ("garbage", "frame begins with b'Loading ', expected b'LU'; b'Loading ' is text", "to stderr"),
        ("half", "stream ended within a frame", "whole frames"),
        ("half and wait", "it sent nothing more, within a frame, for 1 s", "whole frames"),
        ("huge", "ARRIVALS frame announces 4294967280 bytes", "64 MiB"),
        ("crash", "it ended with status 3; the last lines of its stderr: out of mana", "stderr"),
        ("hang", "it sent nothing for 1 s", "flush stdout"),
        ("nan reward", "a reward of nan", "NaN"),
        ("nan obs", "not finite in leaf 'own'", "NaN"),
        ("empty mask", "has an empty mask", "passing"),
    ],
)
def test_a_fault_in_an_example_is_named_with_what_to_do(fault: str, seen: str, to_do: str) -> None:
    whole = str(node.find()), str(HOSTS / "connect_four.js")
    command = HostCommand((sys.executable, "-S", str(SPOILER), fault, "3", "--", *whole))
    waits = "wait" in fault or fault == "hang"
    found = [
        result
        for result in islice(results(command, deadline_s=1.0 if waits else 20.0, decisions=40), 5)
        if result.mark is Mark.FAILED
    ]
    assert found
    assert any(seen in result.detail for result in found), found
    assert any(result.advice is not None and to_do in result.advice.words for result in found), found


def test_the_command_line_shows_a_good_host_and_a_bad_one(tmp_path: Path) -> None:
    good = ludus_here(
        ROOT, "hosts", "check", "--option", "rows=5", "--", str(node.find()), str(HOSTS / "connect_four.js")
    )
    assert good.returncode == 0, good.stdout + good.stderr
    assert "connect-four-5x7: 2 seats, 7 actions" in good.stdout
    assert "All 20 rules are kept." in good.stdout
    assert "decisions/s" in good.stdout
    bad = ludus_here(tmp_path, "hosts", "check", "--", "echo", "hello")
    assert bad.returncode == 1
    assert "b'hello\\n' is text, and belongs on stderr" in bad.stdout
    assert "docs/host-protocol.md, Rule 8" in bad.stdout
    assert "1 of 20 rules is broken." in bad.stdout


def test_the_files_for_other_languages_are_where_the_command_says(tmp_path: Path) -> None:
    said = ludus_here(tmp_path, "hosts", "files")
    assert {Path(line) for line in said.stdout.split()} == {JAVASCRIPT, *JAVA}
