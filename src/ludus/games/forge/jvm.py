"""Flags of the Java process. Pure."""

from __future__ import annotations

from ludus.games.forge.options import ForgeOptions

# Forge collects all garbage after each match on its own, which costs a third of all collections.
ALWAYS = (
    "-XX:+DisableExplicitGC",
    "-XX:+ExitOnOutOfMemoryError",  # the fleet starts another process; a JVM that goes on may have lost a thread
    "-XX:+DisplayVMOutputToStderr",  # the JVM's own last words; stdout belongs to the protocol
    "-Djava.awt.headless=true",
)
PRESETS = {
    "lean": ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),  # starts sooner and needs less memory, plays slower
    "default": ("-XX:+UseSerialGC",),  # one core a process: hosts are the way to use more
    "parallel": ("-XX:+UseParallelGC",),  # collects with several cores, for few processes on many cores
}
DEFAULT_HEAP_MIB = 700
LEAN_HEAP_MIB = 450


def flags(options: ForgeOptions) -> tuple[str, ...]:
    """Return the flags for these options."""
    heap_mib = options.heap_mib or (LEAN_HEAP_MIB if options.jvm == "lean" else DEFAULT_HEAP_MIB)
    return (f"-Xmx{heap_mib}m", *PRESETS[options.jvm], *ALWAYS)
