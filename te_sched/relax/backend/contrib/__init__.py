"""Tables of patterns of libraries for GPUs, with TVM's names: cuBLAS, hipBLAS, cuDNN, CUTLASS.

`relax.backend.get_patterns_with_prefix("cublas")` gives a table. te_sched has none of the
libraries: `RunCodegen` calls the function that is registered as "relax.ext.cublas", ...
"""
