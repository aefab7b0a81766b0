"""The output of `ludus tune`: its plan, a line for each trial, the table of all configurations, and the best
setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ludus.diagnostics import tuning
from ludus.diagnostics.dimensions import Configuration, Value, name_of
from ludus.diagnostics.halving import Round
from ludus.diagnostics.scaling import Spread
from ludus.diagnostics.scaling_report import NONE, TextTable
from ludus.diagnostics.tuning import ConfigurationResult, TrainingTrial, Tuning
from ludus.metrics import bottleneck
from ludus.metrics.exporters.text import count, decimal, duration, percent

CLEAR = 0.02  # a gain below this share is no gain


def busy_lines(load: float, cores: int) -> list[str]:
    """Return a warning if other programs already keep more than half of the machine busy, or nothing."""
    if load <= cores / 2:
        return []
    return [
        f"This machine is already busy (load {load:.1f} on {_counted(cores, 'core')}): speeds will be lower and vary."
    ]


def plan_lines(state: Tuning, values: Mapping[str, Sequence[Value]], left_out: int) -> list[str]:
    """Return lines that say what will be measured, how often and for how long. Empty `values`: a resumed tuning."""
    plan = state.plan
    varied = "; ".join(f"{name_of(path)} {', '.join(map(str, own))}" for path, own in values.items())
    lines = [f"{plan.title}: {_counted(len(plan.configurations), 'configuration')}{f' ({varied})' if varied else ''}."]
    if left_out:
        lines.append(f"{left_out} further combinations do not fit into the free memory.")
    rounds = state.remaining()
    done = f"{counted_trials(len(state.trials))} done; " if state.trials else ""
    lines.append(
        f"Plan: {done}{counted_trials(sum(each.trials for each in rounds))} of about {state.trial_s:.0f} s, of which "
        f"{plan.measure_s:.0f} s are measured, within {duration(state.left_s)}; {_rounds(rounds)}."
    )
    if not state.rounds and rounds and rounds[0].configurations < len(plan.configurations):
        lines.append(
            f"The budget is enough for the {rounds[0].configurations} configurations nearest to the present setting; "
            "a longer --budget tries more."
        )
    return lines


def new_plan_line(state: Tuning) -> str:
    """Say what the plan is after the first trial, which showed how long a trial takes."""
    first = state.rounds[0]
    return (
        f"A trial takes {state.trial_s:.0f} s here, so the first round has "
        f"{_counted(len(first.configurations), 'configuration')}."
    )


def round_line(state: Tuning) -> str:
    """Describe the current round."""
    current = state.rounds[-1]
    repeats = f", {current.repeats} trials each" if current.repeats > 1 else ""
    return f"Round {len(state.rounds)}: {_counted(len(current.configurations), 'configuration')}{repeats}"


def trial_line(trial: TrainingTrial) -> str:
    """Describe one trial in one line."""
    if trial.failure:
        return f"{trial.configuration}: failed: {trial.failure}"
    return (
        f"{trial.configuration}: {count(trial.decisions_per_s)} decisions/s, {decimal(trial.updates_per_s)} updates/s, "
        f"lag {decimal(trial.lag)}, {trial.cpu_mean_cores:.2f} cores, {count(trial.ram_mib)} MiB"
    )


def tables(state: Tuning) -> list[TextTable]:
    """Return the tables of all configurations that were measured, the best one first: speed, and what it takes."""
    standings, best, present = tuning.standings(state), state.best(), state.plan.configurations[0]
    ordered = sorted(standings, key=lambda each: each.configuration != best)
    names = [name_of(path) for path, _ in present.settings]
    gpu = any(each.gpu_use_mean is not None for each in ordered)
    rates, costs = [], []
    for each in ordered:
        values = tuple(str(value) for _, value in each.configuration.settings)
        rates.append((*values, *_rates(each), _mark(each, best, present)))
        costs.append((*values, *_costs(each, gpu=gpu)))
    speed = (*names, "rounds", "trials", "decisions/s", "low to high", "")
    cost = (*names, "updates/s", "low to high", "lag", "CPU mean", "RAM MiB", *(("GPU",) if gpu else ()), "voided")
    return [
        TextTable(
            f"Training speed of {state.plan.title}",
            speed,
            rates,
            "Median, lowest and highest over the trials. Decisions are those that the learner has learned from.",
        ),
        TextTable(
            "Updates, staleness and cost",
            cost,
            costs,
            "Lag is the number of updates between choosing an action and learning from it. CPU in cores and peak RAM "
            "are of the whole run. Voided are matches.",
        ),
    ]


def counted_trials(number: int) -> str:
    """Return "1 trial", "2 trials" and so on."""
    return _counted(number, "trial")


def verdict_lines(state: Tuning) -> list[str]:
    """Return the best setting, its gain over the present one, its bottleneck, and the failures."""
    by_configuration = {each.configuration: each for each in tuning.standings(state)}
    best = state.best()
    lines = []
    if best is None:
        lines.append("No configuration could be measured.")
    else:
        lines += _best(by_configuration[best], by_configuration.get(state.plan.configurations[0]))
        spent, hosts = tuning.times(state, best)
        sentence = bottleneck.of_times(spent, hosts=hosts, cores=state.machine.cores)
        lines += [f"There: {sentence}"] if sentence else []
    lines += [
        f"{each.configuration}: {each.failed} of {counted_trials(each.trials)} failed: {each.failure}"
        for each in by_configuration.values()
        if each.failed
    ]
    return lines


def _best(best: ConfigurationResult, present: ConfigurationResult | None) -> list[str]:
    rate = best.decisions_per_s
    assert rate is not None
    words = f"Best: {best.configuration}: {count(rate.median)} decisions/s"
    if present is best:
        return [f"{words}. It is the present setting."]
    now = None if present is None else present.decisions_per_s
    if present is None or now is None:
        return [f"{words}. The present setting was not measured."]
    gain = rate.median / now.median if now.median > 0 else 0.0
    lines = [f"{words}, {gain:.2f} times those of the present setting ({present.configuration})."]
    if min(best.trials, present.trials) < 2:
        lines.append("One of the two was measured once only: the gain may be noise. A longer --budget repeats more.")
    elif rate.low <= now.high or gain < 1 + CLEAR:
        lines.append("The two overlap in their spread: the gain may be noise. A longer --budget tells them apart.")
    return lines


def _rates(standing: ConfigurationResult) -> tuple[str, ...]:
    decisions, counts = standing.decisions_per_s, (str(standing.rounds), str(standing.trials))
    return (*counts, NONE, NONE) if decisions is None else (*counts, count(decisions.median), _range(decisions, count))


def _costs(standing: ConfigurationResult, *, gpu: bool) -> tuple[str, ...]:
    updates = standing.updates_per_s
    if updates is None:
        return (NONE,) * (7 if gpu else 6)
    return (
        decimal(updates.median),
        _range(updates, decimal),
        decimal(standing.lag),
        f"{standing.cpu_mean_cores:.2f}",
        count(standing.ram_mib),
        *((NONE if standing.gpu_use_mean is None else percent(standing.gpu_use_mean),) if gpu else ()),
        f"{standing.voided:,}",
    )


def _mark(standing: ConfigurationResult, best: Configuration | None, present: Configuration) -> str:
    words = [
        *(("best",) if standing.configuration == best else ()),
        *(("present",) if standing.configuration == present else ()),
        *((f"{standing.failed} failed",) if standing.failed else ()),
    ]
    return ", ".join(words)


def _range(spread: Spread, words: Callable[[float], str]) -> str:
    return NONE if spread.low == spread.high else f"{words(spread.low)} to {words(spread.high)}"


def _rounds(rounds: Sequence[Round]) -> str:
    """Return the configurations and trials of some rounds in words."""
    words = [f"{each.configurations}{_times(each)}" for each in rounds if each.trials]
    return f"configurations in the rounds: {', then '.join(words) or 'none'}"


def _times(each: Round) -> str:
    return f" x {each.repeats}" if each.repeats > 1 else ""


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
