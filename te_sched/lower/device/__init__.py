"""From a lowered function to kernels of a GPU and the host function that launches them.

The road is `pipeline.device_passes`; `kernel` says what a kernel is.
"""
