"""The net `pointer` of Showdown: a pointer net over Pokemon and moves, and its chooser for small batches on the CPU."""
