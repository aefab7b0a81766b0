"""Checkpoints: one checkpoint, the checkpoints of a run, their checksums and limits."""
