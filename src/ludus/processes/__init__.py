"""Child processes: starting them tied to their parent, restarting them, signals, cores and scheduling."""
