"""Environments of Gymnasium, by their id or from a module of your own: a game of one seat."""
