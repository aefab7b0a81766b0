"""Playing: arrivals in, choices out, and segments of what the learner's rows did."""
