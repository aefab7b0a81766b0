"""Policies on a CUDA device: captured graphs, streams, transfer buffers and fused kernels."""
