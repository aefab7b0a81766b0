"""Trains the runs of a league: main agents and exploiters, beside or after each other, as ordinary runs.

<runs>/main-1-g1/                    a run: the first generation of the agent main-1
       main-1-g1.yaml                its settings
       main-exploiter-1-g2/          an exploiter that has begun anew
       main-1.log                    output of all runs of an agent
       league-training.json          generations and times (`TrainingState`), so that the same command goes on
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ludus import files
from ludus.api import leagues, settings_source
from ludus.api.training_process import INTERRUPTED, TrainingProcess
from ludus.config import load
from ludus.config.overrides import texts_of
from ludus.config.seed_streams import seed_for
from ludus.config.validation import check
from ludus.errors import ConfigError, LeagueError, LudusError
from ludus.evaluation.report import PROGRESS
from ludus.league import opponent_log, roles
from ludus.league.candidates import matches
from ludus.league.members import CHECKPOINT, SCRIPTED, League
from ludus.league.opponent_log import OPPONENTS
from ludus.league.roles import AgentProgress, LeagueTrainingConfig
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import CHECKPOINTS
from ludus.processes.restarts import Restarts
from ludus.run.folder import has_checkpoint
from ludus.run.lock import hold

STATE = "league-training.json"
STATE_BYTES = 1 << 20
TICK_S = 0.5  # time between two looks at the runs
log = logging.getLogger(__name__)


class AgentState(Struct):
    """The state of one agent, as the file of the league keeps it."""

    generation: Annotated[int, Meta(ge=1)] = 1
    trained_s: Annotated[float, Meta(ge=0.0)] = 0.0  # of earlier generations
    joined_s: Annotated[float, Meta(ge=0.0)] = 0.0  # training time of this generation at which it last joined
    joined: Annotated[int, Meta(ge=0)] = 0  # times that it has joined the league
    starts: Annotated[int, Meta(ge=0)] = 0
    failures: Annotated[int, Meta(ge=0)] = 0
    status: str = "waiting"  # waiting, training, finished, or why it was given up
    start_from: str = ""  # weights that its present generation began with


class TrainingState(Struct):
    """The content of league-training.json."""

    agents: dict[str, AgentState] = {}


class Backoff(Struct, frozen=True):
    """Delays after which a run that failed is started again."""

    failures_in_a_row: int
    backoff_s: float = 1.0
    backoff_max_s: float = 60.0


def read(path: str | Path) -> LeagueTrainingConfig:
    """Read the file of a league's training. Raises ConfigError, which names the setting that is wrong."""
    config = check(load.read(Path(path)), LeagueTrainingConfig)
    if bool(config.config) == bool(config.game):
        raise ConfigError(f"{path}: give either `config` (a preset or file) or `game`")
    return config


def train(
    config: LeagueTrainingConfig,
    *,
    only: Sequence[str] = (),
    stopped: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda line: None,
    progress: Callable[[dict[str, AgentState]], None] = lambda agents: None,
) -> TrainingState:
    """Train all agents of a league until their minutes are used up. The same call goes on after it was stopped.

    Args:
        config: The agents and their settings.
        only: Names of the agents that train on this machine. The default is all. On several machines that see the
            league's folder, each trains its own.
        stopped: Called about twice a second; if it returns True, the runs save themselves and end.
        tell: Called with a line when something happens.
        progress: Called about twice a second with the state of all agents.

    Raises:
        ConfigError: A setting is wrong, or an agent is unknown.
        LeagueError: The league cannot be made or is of another game.
    """
    names = dict(config.agents())
    for name in only:
        if name not in names:
            raise ConfigError(f"--only: there is no agent {name!r}; there are {', '.join(names)}")
    supervisor = LeagueSupervisor(config, {name: names[name] for name in only or names}, tell)
    with supervisor.opened():
        while supervisor.tick() and not stopped():
            progress(supervisor.state.agents)
            time.sleep(TICK_S)
    progress(supervisor.state.agents)
    return supervisor.state


class LeagueSupervisor:
    """Starts and stops the runs, adds their weights to the league, and restarts what dies. `tick` does all the work."""

    def __init__(self, config: LeagueTrainingConfig, agents: dict[str, str], tell: Callable[[str], None]) -> None:
        """`agents` has the role of each agent by name."""
        self._config, self._roles, self._tell = config, agents, tell
        self._folder = Path(config.runs or Path(config.league) / "runs")
        suffix = "" if len(agents) == len(config.agents()) else f"-{'+'.join(agents)}"
        self._path = self._folder / STATE.replace(".json", f"{suffix}.json")
        self.state = _read_state(self._path)
        for name in agents:
            agent = self.state.agents.setdefault(name, AgentState())
            agent.status = "waiting" if agent.status == "training" else agent.status
        self._league = self._open_league()
        self._processes: dict[str, TrainingProcess] = {}
        self._restarts = {name: Restarts(Backoff(config.failures_in_a_row)) for name in agents}
        self._not_before_s = dict.fromkeys(agents, 0.0)
        self._turn_s = dict.fromkeys(agents, 0.0)
        self._started_at: dict[str, float] = {}  # time of the latest start
        self._training_since_s: dict[str, float] = {}  # when the present turn of a run began: it plays
        self._start_s: dict[str, float] = {}  # training time of a run at its latest start
        self._times: dict[Path, float] = {}  # training time by checkpoint
        self._anew: set[str] = set()  # agents that begin anew when their run has ended
        self._match: TrainingProcess | None = None  # matches of new members
        self._unrated: list[str] = []
        self._generator = np.random.default_rng([config.seed, sum(each.joined for each in self.state.agents.values())])

    @contextmanager
    def opened(self) -> Iterator[None]:
        """End all runs on leaving: they save themselves first."""
        with hold(self._folder if len(self._roles) == len(self._config.agents()) else self._folder / self._path.stem):
            try:
                yield
            finally:
                for process in (*self._processes.values(), *([self._match] if self._match else [])):
                    process.ask_to_stop()
                for name, process in self._processes.items():
                    process.close()
                    if self.state.agents[name].status == "training":
                        self.state.agents[name].status = "waiting"
                    self._promote_where_due(name)
                if self._match is not None:
                    self._match.close()
                self._save()

    def tick(self) -> bool:
        """Make one round. Returns False if all agents have finished or were given up."""
        for name in list(self._processes):
            self._look_after(name)
        self._make_room()
        active = [name for name, agent in self.state.agents.items() if name in self._roles and _is_active(agent)]
        waiting = [
            name for name in active if name not in self._processes and time.monotonic() >= self._not_before_s[name]
        ]
        for name in roles.next_turns(waiting, self._turn_s, self._config.beside - len(self._processes)):
            self._start(name)
        self._play_new_members()
        return bool(active or self._match)

    def _look_after(self, name: str) -> None:
        process, agent = self._processes[name], self.state.agents[name]
        status = process.poll()
        if not process.leaving or status is not None:
            self._promote_where_due(name)
        if status is None:
            return
        self._turn_s[name] += time.monotonic() - self._training_since_s.pop(name, time.monotonic())
        del self._processes[name]
        agent.status = "waiting"
        if status not in (0, INTERRUPTED) and not (process.leaving and has_checkpoint(self._run_dir(name))):
            self._fail(name, status)
        elif status == 0:
            self._restarts[name].recovered()
            self._join(name, "its training has ended")
            agent.status = "finished"
            self._tell(f"{name} has finished")
        if name in self._anew and agent.status == "waiting":
            self._begin_anew(name)
        self._save()

    def _fail(self, name: str, status: int) -> None:
        agent = self.state.agents[name]
        agent.failures += 1
        delay_s = self._restarts[name].failed(f"exit status {status}")
        log_path = self._folder / f"{name}.log"
        if delay_s is None:
            agent.status = f"given up after exit status {status}"
            self._tell(
                f"{name} is given up: it ended with status {status} {self._config.failures_in_a_row} times in a "
                f"row; its log is {log_path}"
            )
            return
        self._not_before_s[name] = time.monotonic() + delay_s
        self._tell(f"{name} ended with status {status}; it starts again in {delay_s:g} s; its log is {log_path}")

    def _make_room(self) -> None:
        """Let runs whose turn is over end, if another agent waits."""
        waits = any(_is_active(self.state.agents[name]) and name not in self._processes for name in self._roles)
        for name, process in self._processes.items():
            if (
                name not in self._training_since_s
                and _changed_s(self._run_dir(name) / PROGRESS) > self._started_at[name]
            ):
                self._training_since_s[name] = time.monotonic()
            since_s = self._training_since_s.get(name)
            if waits and since_s is not None and time.monotonic() - since_s >= 60 * self._config.turn_minutes:
                process.ask_to_stop()

    def _start(self, name: str) -> None:
        agent, run_dir = self.state.agents[name], self._run_dir(name)
        minutes = roles.remaining_minutes(self._config, agent.trained_s)
        if minutes <= 0:
            agent.status = "finished"
            return
        if has_checkpoint(run_dir):
            words = ["train", "--run-dir", str(run_dir), "--resume"]
        else:
            words = ["train", str(self._write_settings(name, minutes)), "--run-dir", str(run_dir)]
        self._started_at[name] = time.time()
        try:
            self._processes[name] = TrainingProcess(words, self._folder / f"{name}.log")
        except OSError as error:
            self._fail(name, error.errno or 1)
            return
        agent.starts += 1
        agent.status = "training"
        self._start_s[name] = self._training_s(name) or 0.0
        self._tell(f"{run_dir.name} trains (pid {self._processes[name].pid})")

    def _write_settings(self, name: str, minutes: float) -> Path:
        """Write the settings of a run that begins, and return their path. Raises ConfigError if they are wrong."""
        agent, role = self.state.agents[name], self._roles[name]
        seed = seed_for(self._config.seed, f"{name} of generation {agent.generation}")
        settings = roles.run_settings(
            self._config, role, seed=seed % 2**31, minutes=minutes, start_from=agent.start_from
        )
        run = settings_source.resolved(_source(self._config), texts_of(settings))
        path = self._folder / f"{self._run_dir(name).name}.yaml"
        load.save(run.config, path)
        return path

    def _promote_where_due(self, name: str) -> None:
        """Add the latest checkpoint of a run to the league, if the rule of its role says so."""
        training_s = self._training_s(name)
        agent, role = self.state.agents[name], self._config.role(self._roles[name])
        if training_s is None or not _is_active(agent):
            return
        if training_s > self._start_s.get(name, 0.0):
            self._restarts[name].recovered()
        line = opponent_log.latest(self._run_dir(name) / OPPONENTS)
        why = roles.promotion_due(role, AgentProgress(training_s, agent.joined_s, line), self._opponents_of(name))
        if why and self._join(name, why) and roles.begins_anew(role, self._generator):
            self._anew.add(name)
            process = self._processes.get(name)
            if process is not None:
                process.ask_to_stop()

    def _join(self, name: str, why: str) -> bool:
        """Add the latest checkpoint of a run to the league. Returns False if that fails, to be tried again."""
        agent, run_dir = self.state.agents[name], self._run_dir(name)
        training_s = self._training_s(name)
        if training_s is None or (agent.joined_s and training_s <= agent.joined_s):
            return False
        try:
            path = checkpoint.find(run_dir)
            parents = [agent.start_from.rpartition("/")[2]] if agent.start_from else []
            (member,) = leagues.add(
                self._league.folder, path, name=f"{name}.g{agent.generation}@{path.name}", parents=parents
            )
        except (LudusError, OSError) as error:
            log.warning("%s cannot join the league now: %s", run_dir, error)
            return False
        agent.joined += 1
        agent.joined_s = training_s
        self._unrated.append(member.name)
        self._tell(f"{member.name} joins the league: {why}")
        self._save()
        return True

    def _begin_anew(self, name: str) -> None:
        """Let the next start of an agent be a new run."""
        agent, role = self.state.agents[name], self._config.role(self._roles[name])
        self._anew.discard(name)
        agent.trained_s += self._training_s(name) or 0.0
        agent.generation += 1
        agent.joined_s = 0.0
        agent.start_from = self._latest_main() if role.restart_from == "main" else ""
        self._tell(f"{name} begins anew, from {Path(agent.start_from).name or 'scratch'}")

    def _latest_main(self) -> str:
        """Return the folder of the main agent that joined last, or an empty text."""
        mains = [each for each in self._league.members().values() if matches(each.name, (roles.MAIN_PATTERN,))]
        latest = max(mains, key=lambda each: (each.added, each.version), default=None)
        return "" if latest is None else str(self._league.path(latest))

    def _opponents_of(self, name: str) -> list[str]:
        """Return the members of the league that a run may meet, without its own."""
        patterns = roles.OPPONENTS[self._roles[name]].get("league_members", ())
        members = self._league.members().values()
        training = [each.name for each in members if each.kind in (CHECKPOINT, SCRIPTED)]  # the others never play in it
        return [each for each in training if matches(each, patterns) and not each.startswith(f"{name}.")]

    def _play_new_members(self) -> None:
        """Play matches of members that joined, one after the other, so that they have a rating."""
        if self._match is not None and self._match.poll() is not None:
            self._match = None
        if self._match is not None or not self._unrated or not self._config.matches:
            return
        name = self._unrated.pop(0)
        words = ["league", "play", str(self._league.folder), "--system", "gauntlet", "--challengers", name]
        words += ["--matches", str(max(2, self._config.matches)), "--hosts", "1"]
        try:
            self._match = TrainingProcess(words, self._folder / "matches.log")
        except OSError as error:
            log.warning("the matches of %s cannot be played: %s", name, error)

    def _training_s(self, name: str) -> float | None:
        """Return the training time of an agent's present run at its latest checkpoint, or None without one."""
        folder = self._run_dir(name) / CHECKPOINTS
        names = checkpoint.names_in(folder)
        if not names:
            return None
        path = folder / names[-1]
        if path not in self._times:
            try:
                self._times[path] = checkpoint.read_state(path).training_s
            except LudusError:
                return None  # replaced at this moment, or damaged: the run itself says so
        return self._times[path]

    def _run_dir(self, name: str) -> Path:
        return self._folder / f"{name}-g{self.state.agents[name].generation}"

    def _open_league(self) -> League:
        """Open the league, or make it for the game of the runs."""
        folder = Path(self._config.league)
        run = settings_source.resolved(_source(self._config), texts_of(self._config.set))
        if not (folder / "league.json").exists():
            leagues.new_for(folder, run.game, run.options)
        return League.open(folder)

    def _save(self) -> None:
        try:
            files.replace(self._path, msgspec.json.format(msgspec.json.encode(self.state)) + b"\n")
        except OSError as error:
            raise LeagueError(f"{self._path} cannot be written: {files.reason(error)}") from error


def _source(config: LeagueTrainingConfig) -> settings_source.Source:
    return settings_source.of_game(config.game) if config.game else settings_source.of(config.config)


def _changed_s(path: Path) -> float:
    """Return when a file was last changed, or 0 if there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_active(agent: AgentState) -> bool:
    return agent.status in ("waiting", "training")


def _read_state(path: Path) -> TrainingState:
    """Return the state of an earlier training, or a new one. Raises LeagueError if the file is damaged."""
    if not path.exists():
        return TrainingState()
    try:
        if path.stat().st_size > STATE_BYTES:
            raise ValueError("it is too large")
        return msgspec.json.decode(path.read_bytes(), type=TrainingState)
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise LeagueError(f"{path} cannot be read: {error}; remove it to begin anew") from error
