"""Fused Triton kernels for CUDA graphs. Triton comes with PyTorch for CUDA; import these modules only on a GPU."""
