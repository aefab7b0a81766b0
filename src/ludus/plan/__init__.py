"""Computes machines, hours and cost from a measured speed (`ludus plan`)."""
