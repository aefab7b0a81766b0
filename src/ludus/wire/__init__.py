"""The host protocol: frames on stdin and stdout (docs/host-protocol.md)."""
