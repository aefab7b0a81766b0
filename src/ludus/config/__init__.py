"""One frozen struct per component; YAML plus `--set a.b=c`; unknown keys are refused with their path."""
