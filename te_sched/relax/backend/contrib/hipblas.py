"""The patterns of hipBLAS."""

from __future__ import annotations

from te_sched.ir.stmt import IRModule
from te_sched.relax.backend.contrib.blas import is_product_of_batches, matmul_patterns
from te_sched.relax.backend.pattern_registry import get_patterns_with_prefix
from te_sched.relax.transform.fuse_ops_by_pattern import FuseOpsByPattern
from te_sched.signatures import checked

PATTERNS = matmul_patterns("hipblas", lambda context: is_product_of_batches(context, ["float16"]))


@checked
def partition_for_hipblas(mod: IRModule) -> IRModule:
    """The module with functions of the products that hipBLAS computes, for RunCodegen."""
    patterns = get_patterns_with_prefix("hipblas")
    return FuseOpsByPattern(patterns, False, annotate_codegen=True)(mod)
