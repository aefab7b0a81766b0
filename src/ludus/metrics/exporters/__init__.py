"""Where a run's numbers go. Each exporter is a RunObserver and a context manager."""
