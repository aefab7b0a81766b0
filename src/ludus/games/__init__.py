"""One package per game: host program, options, scripted policies, presets. `registry` finds them by entry point."""
