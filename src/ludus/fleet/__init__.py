"""The fleet: all hosts of a run as one table of rows. If a host fails, only its own matches are lost."""
