"""The patterns of cuBLAS.

patterns = relax.backend.get_patterns_with_prefix("cublas")
module = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(module)
"""

from __future__ import annotations

from te_sched.ir.stmt import IRModule
from te_sched.relax.backend.contrib.blas import is_product_of_batches, matmul_patterns
from te_sched.relax.backend.contrib.conditions import constant, dtypes_in, sizes_in
from te_sched.relax.backend.pattern_registry import get_patterns_with_prefix
from te_sched.relax.backend.patterns import (
    make_matmul_dequantize_pattern,
    make_matmul_multiply_pattern,
)
from te_sched.relax.transform.fuse_ops_by_pattern import (
    FuseOpsByPattern,
    FusionPattern,
    PatternCheckContext,
)
from te_sched.signatures import checked

_DTYPES = ("float16", "float32", "int8", "e4m3_float8")


def _check(context: PatternCheckContext) -> bool:
    """Whether cuBLAS computes a product."""
    if not is_product_of_batches(context, _DTYPES):
        return False
    (dtype,) = dtypes_in(context, "lhs")
    if dtype == "int8":
        sizes = [(sizes_in(context, name) or [None])[-1] for name in ("lhs", "rhs")]
        fit = all((constant(one) or 1) % 4 == 0 for one in sizes)
        return fit and "bias" not in context.annotated_expr
    return True


def _check_dequantize(context: PatternCheckContext) -> bool:
    """Whether one scale without a zero point is all of the dequantization."""
    scale, zero = [context.annotated_expr[name].data.numpy() for name in ("scale", "zp")]
    return _check(context) and scale.ndim == zero.ndim == 0 and zero == 0


PATTERNS = [
    *matmul_patterns("cublas", _check),
    FusionPattern(
        "cublas.matmul_transposed_dequantize",
        *make_matmul_dequantize_pattern(transposed_rhs=True),
        _check_dequantize,
    ),
    FusionPattern(
        "cublas.matmul_transposed_multiply",
        *make_matmul_multiply_pattern(transposed_rhs=True),
        _check,
    ),
]


@checked
def partition_for_cublas(mod: IRModule, bind_constants: bool = False) -> IRModule:
    """The module with functions of the products that cuBLAS computes, for RunCodegen.

    Parameters
    ----------
    bind_constants : whether constants are part of the functions.
    """
    patterns = get_patterns_with_prefix("cublas")
    return FuseOpsByPattern(patterns, bind_constants, annotate_codegen=True)(mod)
