"""Choosers: second implementations of nets, in numpy, for batches of a few rows on the CPU."""
