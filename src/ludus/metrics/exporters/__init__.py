"""Exporters write or show the numbers of a run. Each is a RunObserver; those with open files are context managers."""
