"""Policies that choose actions with a net: nets, inference on CPU and GPU, the policy bank, weights and checkpoints."""
