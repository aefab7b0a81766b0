"""Rocket League soccar on RocketSim: 1v1, 2v2 and 3v3, all arenas of a host stepped and observed together."""
