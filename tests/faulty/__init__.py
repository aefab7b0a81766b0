"""A game for tests: the toy game with hosts that break on demand."""
