"""Who chooses: nets, the bank that maps rows to policies, weights on their way, and checkpoints."""
