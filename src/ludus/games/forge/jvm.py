"""Flags of the Java process."""

from __future__ import annotations

import psutil

from ludus.games.forge.options import ForgeOptions
from ludus.processes.cores import cores

# Forge collects all garbage after each match on its own, which costs a third of all collections.
ALWAYS = (
    "-XX:+DisableExplicitGC",
    "-XX:+ExitOnOutOfMemoryError",  # the fleet starts another process; a JVM that goes on may have lost a thread
    "-XX:+DisplayVMOutputToStderr",  # the JVM's own last words; stdout belongs to the protocol
    "-Djava.awt.headless=true",
)
PRESETS = {
    "lean": ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),  # starts sooner and needs less memory, plays slower
    # one core a process: hosts are the way to use more. Even with one thread, this collector takes less time than the
    # serial one: 1.3 times the decisions in the same CPU time
    "default": ("-XX:+UseParallelGC", "-XX:ParallelGCThreads=1"),
    "parallel": ("-XX:+UseParallelGC",),  # collects with several cores, for few processes on many cores
}
# A match keeps 4 MiB, and Forge itself 45. Java takes what objects need and about as much again, so the largest heap is
# a limit for a few hundred matches, not what a process of eight takes.
LEAST_HEAP_MIB, MOST_HEAP_MIB = 700, 2048
LEAN_HEAP_MIB = 450
# Part of the heap for new objects, as a divisor. Forge makes almost 5 MiB of garbage for each decision: a smaller part
# is collected more often, and a larger one takes memory for little.
YOUNG_PART = 5


def flags(options: ForgeOptions, free_mib: int | None = None) -> tuple[str, ...]:
    """Return the flags for these options. `free_mib` is the machine's free memory, None: ask the system."""
    heap_mib = options.heap_mib
    if not heap_mib and options.jvm == "lean":
        heap_mib = LEAN_HEAP_MIB
    elif not heap_mib:
        free_mib = psutil.virtual_memory().available >> 20 if free_mib is None else free_mib
        heap_mib = max(LEAST_HEAP_MIB, min(MOST_HEAP_MIB, free_mib // (2 * cores())))  # for a host on each core
    young = (f"-Xmn{heap_mib // YOUNG_PART}m",) if options.jvm == "default" else ()
    return (f"-Xmx{heap_mib}m", *young, *PRESETS[options.jvm], *ALWAYS)
