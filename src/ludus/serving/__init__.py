"""Serves policies over TCP: one process computes batches for clients in other processes (docs/serving.md).

`Client` and everything it imports need numpy and msgspec only.
"""

from ludus.serving.client import Client
from ludus.serving.remote import RemotePolicy

__all__ = ["Client", "RemotePolicy"]
