"""Where the parts run: in one process, or with an actor in a process of its own."""
