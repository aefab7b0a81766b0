"""A seeded storm over one training run: inject, wait until the run has recovered, note how long that took.

A run that ends although nobody asked it to, or that does not recover in time (a hang), is noted and resumed, so that a
storm goes on to its end and says all that it found.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.storm import accounting, faults, leftovers, plan, processes
from tests.storm.disk import Disk, mounted
from tests.storm.faults import Injection
from tests.storm.leftovers import Before
from tests.storm.outcome import Outcome
from tests.storm.plan import Fault, Gust
from tests.storm.run import Training
from tests.storm.scenarios import Scenario

from ludus.metrics import names

INTERRUPTED = 130  # exit status of a run that a signal asked to leave
MORE_UPDATES = 2  # before a run counts as recovered
TOLD_S = 2.0  # training time after which a report knows of what happened before: actor and learner take 1 s each
STARTING_S = 90.0  # for a run to start, on a machine that is busy otherwise
POLL_S = 0.1
PAUSE_S = 0.2, 1.5  # from a recovery to the next fault
TELL_S = 5.0
SIGNALS = {"leave-term": signal.SIGTERM, "leave-int": signal.SIGINT, "leave-hup": signal.SIGHUP}

Tell = Callable[[str], None]


class EndedError(Exception):
    """The run ended and nobody asked it to."""


class LostError(Exception):
    """The run cannot be resumed any more."""


class HungError(Exception):
    """The run did not come to where it should in time."""


def storm(
    scenario: Scenario,
    folder: Path,
    *,
    seed: int,
    seconds: float,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    every_s: float | None = None,
    tell: Tell = print,
) -> Outcome:
    """Hit a run of this scenario for so long, in a folder that must be empty or not there. every_s: from the recovery
    from one fault to the next; by default, drawn by the seed."""
    folder.mkdir(parents=True, exist_ok=True)
    with mounted(folder / "disk", scenario.disk_mib) as disk:
        lacking = [] if scenario.servers else ["servers"]
        lacking += ["disk"] if disk.trouble else []
        outcome = Outcome(scenario.name, seed)
        outcome.off = {
            kind: "switched off" for kind in plan.KINDS if kind not in plan.enabled(only=only, without=without)
        }
        if disk.trouble and "disk-full" not in outcome.off:
            outcome.off["disk-full"] = disk.trouble
        kinds = plan.enabled(only=only, without=without, lacking=lacking)
        return _Storm(scenario, Training(scenario, folder, disk.folder), disk, outcome, tell).blow(
            kinds, seconds, every_s
        )


class _Storm:
    def __init__(self, scenario: Scenario, run: Training, disk: Disk, outcome: Outcome, tell: Tell) -> None:
        self._scenario, self._run, self._disk, self._outcome, self._tell = scenario, run, disk, outcome, tell
        self._active: list[Injection] = []
        self._file = 0  # of the progress.csv that the run has not yet written anew since its last start
        self._base: int | None = None  # updates from which on growth counts; None: the run has not yet reported
        self._settled_s: float | None = None  # training time when the right number of processes was back
        self._descriptors: dict[int, int] = {}  # of each process, when it was first looked at
        self._ports: set[int] = set()
        self._checkpoints: set[str] = set()
        self._told_s, self._begun_s = 0.0, time.monotonic()

    def blow(self, kinds: Sequence[str], seconds: float, every_s: float | None) -> Outcome:
        before = Before.look()
        try:
            self._rage(kinds, seconds, every_s)
            self._finish()
            self._account()
        except LostError:
            self._account()
        finally:
            for injection in self._active:
                injection.undo()
            self._disk.free()
            self._keep_words()
            # what is left is looked for before all is ended
            self._outcome.leftovers += leftovers.found(
                before, self._run.mark, self._run.run_dir, self._run.temporary, self._ports
            )
            self._run.kill_all()
        return self._outcome

    def _rage(self, kinds: Sequence[str], seconds: float, every_s: float | None) -> None:
        try:
            self._start()
            self._recover(self._scenario.recovery_s + STARTING_S)
        except (EndedError, HungError) as error:
            self._note(self._outcome.ends, f"the run could not be started: {error}")
            raise LostError from error
        self._begun_s = time.monotonic()
        pause_s = PAUSE_S if every_s is None else (every_s, every_s)
        for gust in plan.gusts(self._outcome.seed, kinds, pause_s=pause_s):
            if time.monotonic() - self._begun_s + gust.pause_s >= seconds:
                return
            self._hit(gust)
            self._outcome.seconds = time.monotonic() - self._begun_s

    def _hit(self, gust: Gust) -> None:
        kinds = " and ".join(fault.kind for fault in gust.faults)
        begun_s, before = time.monotonic(), self._outcome.injected.copy()
        try:
            self._pass(gust.pause_s)
            self._say(f"{kinds} ...")
            over_s = self._restart(gust.faults[0]) if gust.restarts else self._inject(gust.faults)
            patience_s = max(fault.of.patience_s for fault in gust.faults) + STARTING_S * gust.restarts
            self._recover(self._scenario.recovery_s + patience_s)
        except EndedError as end:
            self._note(self._outcome.ends, f"after {kinds}, {time.monotonic() - begun_s:.0f} s: {end}")
            self._revive()
        except HungError as hang:
            self._note(self._outcome.hangs, f"after {kinds}: {hang}\n{self._dump()}")
            self._revive()
        else:
            took_s = time.monotonic() - over_s
            for kind in self._outcome.injected - before:
                self._outcome.recovery_s.setdefault(kind, []).append(took_s)
            self._say(f"{kinds}: recovered in {took_s:.1f} s")
            self._look_at_descriptors()
            self._outcome.memory_mib.append(processes.memory_mib(self._run.tree().all))

    def _inject(self, drawn: Sequence[Fault]) -> float:
        """Begin these faults and see them to their end; returns the moment of that."""
        tree = self._run.tree()
        self._base = self._run.report().updates
        for fault in drawn:
            hit = {pid for injection in self._active for pid in injection.victims}
            injection = faults.inject(fault, tree, self._disk, hit)
            (self._outcome.skipped if injection is None else self._outcome.injected)[fault.kind] += 1
            if injection is not None:
                self._active.append(injection)
        begun_s, over_s = time.monotonic(), time.monotonic()
        for injection in sorted(self._active, key=lambda each: each.fault.lasting_s):
            lasting_s = injection.fault.lasting_s
            if lasting_s:
                self._pass(begun_s + lasting_s - time.monotonic())
                injection.undo()
                over_s = time.monotonic()
        self._base = max(self._base, self._run.report().updates)
        return over_s

    def _restart(self, fault: Fault) -> float:
        """The run leaves or is killed, its files may be damaged, and it is resumed; returns when that began."""
        begun_s, run = time.monotonic(), self._run
        self._outcome.injected[fault.kind] += 1
        number = SIGNALS.get(fault.kind, signal.SIGKILL)
        if fault.kind.startswith("damage"):  # there must be a checkpoint to go back to
            self._await(lambda: len(run.checkpoints) > 1, self._scenario.recovery_s, "it wrote no second checkpoint")
        run.signal(number)
        self._await(lambda: run.status() is not None, self._scenario.leaving_s, f"it did not leave after {number.name}")
        orphans = processes.all_gone(run.mark, leftovers.GONE_S)
        self._outcome.leftovers += [f"after {fault.kind}: process {processes.describe(pid)}" for pid in orphans]
        if fault.kind in SIGNALS:
            self._check_left(number)
        else:
            self._note_rolled_back(run.report().numbers, run.counters())
        if fault.kind.startswith("damage") and not faults.damage(fault.kind, run.run_dir, fault.seed):
            self._outcome.injected[fault.kind] -= 1
            self._outcome.skipped[fault.kind] += 1
        self._outcome.resumes += 1
        self._start()
        if fault.kind == "damage-model":
            self._take_advice()
        return begun_s

    def _check_left(self, number: signal.Signals) -> None:
        if self._run.status() != INTERRUPTED:
            self._note(
                self._outcome.ends,
                f"status {self._run.status()} after {number.name}, expected {INTERRUPTED}: {self._run.tail()}",
            )
        elif not (self._run.run_dir / "report.md").exists():
            self._note(self._outcome.ends, f"no report.md after {number.name}")
        else:
            self._outcome.reports += 1

    def _take_advice(self) -> None:
        """A run that finds its checkpoint damaged refuses to go on and names one that is whole."""
        try:
            self._await(self._reported, self._scenario.recovery_s + STARTING_S, "it neither went on nor refused")
        except EndedError:
            advice = self._run.advice()
            if advice is None:
                raise
            self._note_rolled_back(self._run.counters(), self._run.counters(Path(advice).name))
            self._file, self._base = self._run.report().file, None
            self._run.resume("--resume-from", advice)

    def _reported(self) -> bool:
        self._note_base()
        return self._base is not None

    def _note_base(self) -> None:
        report = self._run.report()
        if self._base is None and report.file not in (0, self._file) and report.numbers:
            self._base = report.updates

    def _start(self) -> None:
        self._file, self._base = self._run.report().file, None
        self._run.start()

    def _recover(self, within_s: float) -> None:
        self._settled_s = None
        self._await(self._recovered, within_s, "it did not recover")
        for injection in self._active:
            injection.undo()
        self._active.clear()

    def _recovered(self) -> bool:
        self._note_base()
        report, tree = self._run.report(), self._run.tree()
        running = (len(tree.hosts), len(tree.servers)) == (self._scenario.hosts, self._scenario.servers)
        if self._base is None or not running or not all(injection.settled for injection in self._active):
            self._settled_s = None
            return False
        if self._settled_s is None:
            self._settled_s = report.training_s
        told = report.training_s >= self._settled_s + TOLD_S
        return told and report.complete and report.updates >= self._base + MORE_UPDATES

    def _revive(self) -> None:
        """End what is left of the run and resume it, from the checkpoint before where the latest is of no use."""
        for injection in self._active:
            injection.undo()
        self._active.clear()
        self._disk.free()
        self._run.kill_all()
        self._note_rolled_back(self._run.report().numbers, self._run.counters())
        for _ in range(2):
            self._outcome.resumes += 1
            self._start()
            try:
                self._recover(self._scenario.recovery_s + STARTING_S)
                return
            except (EndedError, HungError) as error:
                self._note(self._outcome.ends, f"could not be resumed: {error}")
                self._run.kill_all()
                if len(self._run.checkpoints) > 1:
                    self._run.checkpoints[-1].rename(self._run.run_dir / f"unusable-{self._run.checkpoints[-1].name}")
        raise LostError

    def _finish(self) -> None:
        """Ask the run to leave, then let it use up a budget that is spent: it evaluates and reports."""
        run, within_s = self._run, STARTING_S + self._scenario.leaving_s
        for number, status, words in (
            (signal.SIGTERM, INTERRUPTED, ()),
            (None, 0, ("--set", "budget.minutes=0.001")),
        ):
            if number is None:
                run.resume(*words)
            else:
                run.signal(number)
            try:
                self._await(lambda: run.status() is not None, within_s, "it did not leave at the end")
            except HungError as hang:
                self._note(self._outcome.hangs, f"at the end: {hang}\n{self._dump()}")
                run.kill_all()
            if run.status() != status:
                self._note(self._outcome.ends, f"status {run.status()} at the end, expected {status}: {run.tail()}")
            self._outcome.reports += (run.run_dir / "report.md").exists()

    def _account(self) -> None:
        outcome, run = self._outcome, self._run
        rows, counters = run.rows(), run.counters()
        outcome.mistakes += accounting.errors(rows, self._scenario.hosts * self._scenario.matches)
        last = accounting.numbers_of(rows[-1]) if rows else {}
        outcome.account = accounting.account(counters, int(last.get(names.UNDER_WAY, -1)))
        if outcome.account.missing:
            outcome.mistakes.append(f"the last checkpoint misses {outcome.account.missing} matches: {outcome.account}")
        outcome.updates = int(counters.get(names.UPDATES, 0))
        outcome.checkpoint_failures = int(counters.get(names.CHECKPOINT_FAILURES, 0))
        outcome.checkpoints = len(self._checkpoints)

    def _note_rolled_back(self, last: Mapping[str, float], checkpoint: Mapping[str, float]) -> None:
        matches, decisions = accounting.rolled_back(last, checkpoint)
        before = self._outcome.rolled_back
        self._outcome.rolled_back = (before[0] + matches, before[1] + decisions)

    def _pass(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._await(lambda: time.monotonic() >= until, seconds + 60.0, "the clock stands still")

    def _await(self, come: Callable[[], bool], within_s: float, otherwise: str) -> None:
        """Raises EndedError when the run ends before, HungError when the time is up."""
        until = time.monotonic() + within_s
        while not come():
            if self._run.status() is not None:
                if come():
                    return
                raise EndedError(f"the run ended with status {self._run.status()}: {self._run.tail()}")
            if time.monotonic() >= until:
                raise HungError(f"{otherwise} within {within_s:.0f} s")
            for injection in self._active:
                injection.tick()
            self._look()
            time.sleep(POLL_S)

    def _look(self) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s < TELL_S:
            return
        self._told_s = now_s
        self._ports |= {port for pid in self._run.tree().servers if (port := processes.port_of(pid)) is not None}
        self._checkpoints |= {path.name for path in self._run.checkpoints}
        outcome, report = self._outcome, self._run.report()
        numbers = report.numbers
        self._say(
            f"{outcome.faults} faults, update {report.updates}, hosts {numbers.get(names.HOSTS_ALIVE, 0):g}/"
            f"{self._scenario.hosts}, {numbers.get(names.BEGUN, 0):g} matches begun, "
            f"{numbers.get(names.VOIDED, 0):g} voided, {len(outcome.hangs)} hangs, {len(outcome.ends)} ends"
        )

    def _look_at_descriptors(self) -> None:
        tree = self._run.tree()
        for pid in (tree.learner, *(() if tree.actor is None else (tree.actor,))):
            count = processes.descriptors(pid)
            first = self._descriptors.setdefault(pid, count)
            if count:
                self._outcome.descriptors = max(self._outcome.descriptors, count - first)

    def _dump(self) -> str:
        """Where every process hangs, as far as that can be seen from outside; Python ones say it themselves."""
        lines = [processes.describe(pid) for pid in processes.marked(self._run.mark)]
        tree = self._run.tree()
        pids = [tree.learner, *([] if tree.actor is None else [tree.actor])]
        processes.send(pids, signal.SIGCONT)
        processes.send(pids, signal.SIGABRT)
        processes.all_gone(self._run.mark, 3.0)
        log = self._run.run_dir / "logs" / "actor.log"
        actor = log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:] if log.exists() else []
        return "\n".join([*lines, "learner:", self._run.tail(), "actor:", *actor])

    def _note(self, notes: list[str], words: str) -> None:
        notes.append(words)
        self._say(f"!! {words}")

    def _say(self, words: str) -> None:
        self._tell(f"[{time.monotonic() - self._begun_s:6.1f} s] {self._scenario.name}: {words}")

    def _keep_words(self) -> None:
        """Copy the run's own log from the disk that goes away."""
        for name in ("run.log", "report.md", "progress.csv"):
            path = self._run.run_dir / name
            if path.exists():
                (self._run.temporary.parent / name).write_bytes(path.read_bytes())
