"""Trains the net: the learner's loop, and the algorithms (PPO, V-trace, R-NaD) that update weights from segments."""
