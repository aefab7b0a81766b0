"""The actor plays matches and fills batches, in the learner's process (`mode: serial`) or in one of its own."""
