"""Runs the actor in the learner's process, or in a process of its own."""
