"""PettingZoo environments, turn-based (AEC) or parallel, as games with one seat per agent."""
