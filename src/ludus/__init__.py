"""Train game-playing agents against simulators that live outside the Python process."""

__version__ = "0.1.0"
