"""CUDA C++ from kernels, and its compilation.

`printer` opens a kernel, `statements` and `expressions` write into it (with `arithmetic`, `memory`,
`intrinsics` and `tensor_cores`); `writer` is the text of a kernel while it is written, `pieces` the
text of values. `nvrtc` compiles the source with NVIDIA's compiler, which `libraries` finds;
`resources` reads the compiler's report on registers and memory.
"""

from te_sched.codegen.cuda.printer import kernel_lines, print_kernels

__all__ = ["kernel_lines", "print_kernels"]
