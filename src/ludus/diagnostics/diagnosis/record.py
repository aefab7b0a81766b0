"""The measurements and conclusions of a diagnosis, and its file diagnosis.json."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

import ludus
from ludus import files
from ludus.config.settings import NonNegative
from ludus.diagnostics.study import MachineInfo
from ludus.errors import ConfigError

JSON = "diagnosis.json"
MOST_BYTES = 1 << 24  # of a diagnosis that is read
MOST_CHARACTERS = 1000  # of the reason of a failure
NOTABLE = 0.1  # share of the cores
STAGES = ("env", "inference", "learner", "transport", "gpu")
Value = int | float | bool | str
Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]

# Names of measures that conclusions are drawn from
MACHINE = "machine/loops_per_s"
ENV_RATE, ENV_CPU, ENV_BUSY = "env/decisions_per_s", "env/cpu_us_per_decision", "env/hosts_busy"
OTHER_CORES = "machine/other_programs_cores"
ENV_MIB, ENV_CORES = "env/memory_mib", "env/cores"
PLAY_RATE, PLAY_LEARNED = "playing/decisions_per_s", "playing/learned_share"
PLAY_ACTOR_CPU, PLAY_HOSTS_CPU = "playing/actor_cpu_us_per_decision", "playing/hosts_cpu_us_per_decision"
ROWS, BATCH_MS = "inference/rows", "inference/ms"
BATCH_P95, BATCH_P99, ROW_RATE = "inference/ms_p95", "inference/ms_p99", "inference/decisions_per_s"
ROW_CPU = "inference/cpu_us_per_decision"
UPDATE_RATE, UPDATE_MS, UPDATE_CPU = "learner/decisions_per_s", "learner/ms_per_update", "learner/cpu_us_per_decision"
WHOLE_RATE, WHOLE_CORES, WHOLE_MIB = "whole/decisions_per_s", "whole/cores", "whole/memory_mib"
WHOLE_LAG, GPU_USE, GPU_MIB = "whole/lag", "gpu/use", "gpu/memory_mib"


class Measure(Struct, frozen=True):
    """One number, measured several times."""

    unit: str
    better: Literal["higher", "lower", "neither"]
    samples: tuple[Finite, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples) if self.samples else math.nan

    @property
    def low(self) -> float:
        return min(self.samples, default=math.nan)

    @property
    def high(self) -> float:
        return max(self.samples, default=math.nan)


class Ceiling(Struct, frozen=True):
    """The speed-up of training if one part of it cost nothing (Amdahl's law)."""

    part: str
    factor: NonNegative


class CheckedGain(Struct, frozen=True):
    """The speed with a suggestion divided by the speed without it, from interleaved trials of training."""

    ratio: NonNegative
    low: NonNegative  # of the 95% interval
    high: NonNegative
    trials: int  # of each of the two
    failure: str = ""  # the reason if it could not be measured


class Suggestion(Struct, frozen=True):
    """A change of settings, and by which factor it should speed up training."""

    settings: dict[str, Value]
    gain: NonNegative  # predicted factor
    why: str
    caveat: str = ""  # empty: it does not change what is learned
    checked: CheckedGain | None = None

    @property
    def words(self) -> str:
        return ", ".join(f"{path}={value}" for path, value in self.settings.items())


class Diagnosis(Struct, kw_only=True):
    """The content of diagnosis.json. Measures of stages that were not asked for are missing."""

    name: str  # base name of its folder
    title: str
    settings: dict[str, Any]  # Any: plain data of the run
    machine: MachineInfo
    hosts: int
    actors: int
    learner_on_gpu: bool = False
    policy_on_gpu: bool = False
    measures: dict[str, Measure] = {}
    curve: dict[str, NonNegative] = {}  # microseconds per row by rows per inference batch
    failures: dict[str, str] = {}  # by stage
    notes: list[str] = []
    verdict: list[str] = []
    ceilings: list[Ceiling] = []
    suggestions: list[Suggestion] = []
    ludus: str = ludus.__version__

    @property
    def is_shared(self) -> bool:
        """True if other programs used a notable part of the machine: wall-clock times then say little."""
        return (self.median(OTHER_CORES) or 0.0) >= NOTABLE * self.machine.cores

    def median(self, name: str) -> float | None:
        """Return the median of a measure, or None if it was not measured."""
        measure = self.measures.get(name)
        return None if measure is None or not measure.samples else measure.median


def plain(text: str) -> str:
    """Return a text on one line without control characters: parts of it may come from a host."""
    line = "; ".join(line.strip() for line in text.splitlines() if line.strip())
    return "".join(each if each.isprintable() else "?" for each in line)[:MOST_CHARACTERS]


def write(folder: Path, diagnosis: Diagnosis) -> Path:
    """Write diagnosis.json atomically and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    files.replace(folder / JSON, msgspec.json.format(msgspec.json.encode(diagnosis)))
    return folder / JSON


def read(path: Path) -> Diagnosis:
    """Read a diagnosis from its file or folder. Raises ConfigError if there is none or it is damaged."""
    path = path / JSON if path.is_dir() else path
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ConfigError(f"--against: {path} is no diagnosis: it has more than {MOST_BYTES >> 20} MiB")
        return msgspec.json.decode(data, type=Diagnosis, strict=False)
    except FileNotFoundError as error:
        raise ConfigError(
            f"--against: there is no diagnosis {path}; `ludus diagnose --save DIR` writes DIR/{JSON}"
        ) from error
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"--against: {path} cannot be read: {error}") from error
