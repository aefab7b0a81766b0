"""Environments of PettingZoo, in turns (AEC) or all at once (parallel): an agent is a seat."""
