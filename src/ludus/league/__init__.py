"""Decides who plays whom in training: matchmaking, the pool of past selves, and the curriculum."""
