"""Any program in any language that speaks the host protocol, as a game without Python code."""
