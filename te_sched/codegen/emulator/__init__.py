"""The emulated device: kernels as programs for the processor.

`serialize_threads` turns a kernel into loops over its blocks and threads, and `emulate` puts these
loops where the host's function launches the kernel. The result is an ordinary function for the LLVM
back end.
"""
