"""The actor, which plays matches and fills batches: in the learner's process (serial) or in its own (overlapped)."""
