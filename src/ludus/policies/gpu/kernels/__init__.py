"""Kernels in which captured graphs do several steps at once. They need triton, which comes with torch for CUDA."""
