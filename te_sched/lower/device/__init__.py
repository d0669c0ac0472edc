"""From a lowered function to what runs on a GPU: kernels, and the host's program round them.

The road is `pipeline.device_passes`; `kernel` says what a kernel is.
"""
