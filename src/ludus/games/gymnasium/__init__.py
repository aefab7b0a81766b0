"""Gymnasium environments, by id or from a module of your own, as games with one seat."""
