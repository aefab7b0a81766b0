"""The metrics of a run: counters, gauges, means and timers. Their names are defined in names.py."""
