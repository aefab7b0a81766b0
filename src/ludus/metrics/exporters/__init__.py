"""Where a run's numbers go. Each exporter is a RunObserver; those that hold something open are context managers."""
