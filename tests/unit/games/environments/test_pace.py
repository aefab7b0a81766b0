from __future__ import annotations

from ludus.games.environments.pace import TRIAL_STEPS, Pace, described, in_threads, measured


class Clocks:
    """A step takes `wall_s` and is at work for `cpu_s` of that."""

    def __init__(self, wall_s: float, cpu_s: float, fails_at: int = 0) -> None:
        self.wall, self.cpu = 0.0, 0.0
        self._wall_s, self._cpu_s, self._fails_at = wall_s, cpu_s, fails_at
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self._fails_at:
            raise RuntimeError("this step was told to fail")
        self.wall += self._wall_s
        self.cpu += self._cpu_s

    def measured(self) -> Pace:
        return measured(self.step, clock_s=lambda: self.wall, cpu_s=lambda: self.cpu)


def test_steps_that_wait_get_threads_and_steps_that_work_do_not() -> None:
    for wall_s, cpu_s, threads in ((5e-3, 1e-4, True), (5e-3, 4.9e-3, False), (2e-5, 2e-5, False), (1e-4, 1e-5, False)):
        assert in_threads("auto", Clocks(wall_s, cpu_s).measured()) is threads


def test_what_was_asked_for_counts_more_than_the_measurement() -> None:
    waiting = Clocks(5e-3, 0.0).measured()
    assert not in_threads("in turn", waiting)
    assert in_threads("threads", Clocks(1e-5, 1e-5).measured())
    assert described("threads", waiting).endswith("(as asked)")


def test_the_measurement_is_short_and_says_what_it_saw() -> None:
    cheap, slow = Clocks(1e-6, 1e-6), Clocks(0.1, 0.0)
    assert cheap.measured().steps == TRIAL_STEPS
    assert slow.measured().steps == 3
    assert "a step takes 100 ms, 0 ms of them CPU" in described("auto", slow.measured())


def test_a_step_that_raises_ends_the_measurement() -> None:
    assert Clocks(1e-3, 0.0, fails_at=3).measured().steps == 2
    broken = Clocks(1e-3, 0.0, fails_at=1).measured()
    assert not in_threads("auto", broken)
    assert "could not be measured" in described("auto", broken)
