"""Runs that a storm hits: small ones of real games, with deadlines that are short, so that faults are noticed soon."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    settings: str  # YAML
    hosts: int
    matches: int  # per host
    servers: int = 0
    recovery_s: float = 60.0  # from the end of a fault until the run is as before; longer is a hang
    leaving_s: float = 60.0  # from a signal to the end of the process
    disk_mib: int = 512
    share: float = 1.0  # of the time of a storm with several
    needs: str = ""  # environment variable that names an installation; such scenarios run only when they are named


def _settings(game: str, fleet: str, learner: str, checkpoint_s: float, more: str = "") -> str:
    return f"""
{game}
mode: overlapped
device: cpu
seed: 7
fleet: {{{fleet}, backoff_s: 0.1, backoff_max_s: 2, failures_in_a_row: 50}}
learner: {{{learner}, epochs: 1}}
evaluation: {{matches: 2, quick_matches: 2, every_updates: 100000000, opponents: [random]}}
checkpoint: {{every_s: {checkpoint_s:g}, keep: 2}}
budget: {{minutes: 100000}}
{more}"""


TOY = Scenario(
    "toy",
    _settings(
        "game: toy\noptions: {game: nim}",
        "hosts: 3, matches: 8, hello_deadline_s: 30, reply_deadline_s: 1.5",
        "decisions: 512, minibatch: 256",
        2.0,
        "policy: {width: 16}\nrollout: {segment: 8}\n"
        "opponents: {past: 0.2, scripted: 0.2, snapshot_every: 200, pool: 3}",
    ),
    hosts=3,
    matches=8,
    recovery_s=60.0,
    disk_mib=256,
    share=1.0,
)

SHOWDOWN = Scenario(
    "showdown",
    _settings(
        "game: showdown\noptions: {format: gen1randombattle}",
        "hosts: 2, matches: 16, hello_deadline_s: 40, reply_deadline_s: 3",
        "decisions: 512, minibatch: 256",
        10.0,
        "policy: {width: 16}\nrollout: {segment: 16}\n"
        "opponents: {past: 0.2, scripted: 0.2, snapshot_every: 50, pool: 3}",
    ),
    hosts=2,
    matches=16,
    recovery_s=60.0,
    disk_mib=1024,
    share=3.0,
)

SERVER = Scenario(
    "showdown-server",
    _settings(
        "game: showdown-server\n"
        "options: {format: gen1randombattle, feature_set: raw, max_turns: 60, start_deadline_s: 10, "
        "silence_deadline_s: 6}\n"
        "servers: {count: 2}",
        "hosts: 2, matches: 8, hello_deadline_s: 60, reply_deadline_s: 20",
        "decisions: 128, minibatch: 128",
        10.0,
        "policy: {width: 16}\nrollout: {segment: 8}\nopponents: {past: 0, scripted: 0.2}",
    ),
    hosts=2,
    matches=8,
    servers=2,
    recovery_s=120.0,
    disk_mib=512,
    share=2.0,
)

OPENFRONT = Scenario(
    "openfront",
    _settings(
        "game: openfront\noptions: {maps: [onion], bots: 10, feature_set: summary, max_minutes: 6}",
        "hosts: 2, matches: 6, hello_deadline_s: 60, reply_deadline_s: 15",
        "decisions: 512, minibatch: 256",
        20.0,
        "policy: {net: mlp, width: 16}\nrollout: {segment: 16}\nopponents: {past: 0, scripted: 0}",
    ),
    hosts=2,
    matches=6,
    recovery_s=120.0,
    disk_mib=1024,
    needs="OPENFRONT_HOME",
)

FORGE = Scenario(
    "forge",
    _settings(
        "game: forge",
        "hosts: 2, matches: 8, hello_deadline_s: 120, reply_deadline_s: 30",
        "decisions: 256, minibatch: 128",
        20.0,
        "policy: {width: 16}\nrollout: {segment: 16}\nopponents: {past: 0, scripted: 0.2}",
    ),
    hosts=2,
    matches=8,
    recovery_s=180.0,
    disk_mib=1024,
    needs="FORGE_HOME",
)

SCENARIOS = {scenario.name: scenario for scenario in (TOY, SHOWDOWN, SERVER, OPENFRONT, FORGE)}
DEFAULT = tuple(name for name, scenario in SCENARIOS.items() if not scenario.needs)
