"""Checks of kernels: limits of the GPU, and races of threads."""
