"""Nets at play on the CPU: implementations in numpy for batches of a few rows."""
