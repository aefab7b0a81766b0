"""Showdown's net: a pointer net over Pokemon and moves, and its implementation for small batches on the CPU."""
