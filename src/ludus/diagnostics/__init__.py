"""Checks this machine, chooses the sizes of runs and measures throughput."""
