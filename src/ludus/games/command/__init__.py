"""Any program that keeps the host protocol, in any language, trained without a line of Python."""
