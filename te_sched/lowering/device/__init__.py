"""From a lowered function to kernels of a GPU and the host function that launches them.

The passes are in `pipeline.device_passes`; `kernel` defines kernels.
"""
