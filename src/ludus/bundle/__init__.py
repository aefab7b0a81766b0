"""One archive with all that a machine without internet needs to train (`ludus bundle`)."""
