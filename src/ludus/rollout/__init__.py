"""Plays matches: receives arrivals, sends choices and records the learner's decisions in segments."""
