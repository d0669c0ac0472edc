"""The patterns of cuBLAS.

patterns = relax.backend.get_patterns_with_prefix("cublas")
module = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(module)
"""

from __future__ import annotations

import numpy as np

from te_sched.ir.graph import Constant
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
        shapes = [sizes_in(context, name) for name in ("lhs", "rhs")]
        fit = all(shape and (constant(shape[-1]) or 1) % 4 == 0 for shape in shapes)
        return fit and "bias" not in context.annotated_expr
    return True


def _array_in(context: PatternCheckContext, name: str) -> np.ndarray:
    """The data of an annotated part, which is a constant."""
    constant = context.annotated_expr[name]
    assert isinstance(constant, Constant)
    return np.asarray(constant.data.numpy())


def _check_dequantize(context: PatternCheckContext) -> bool:
    """Whether one scale without a zero point is all of the dequantization."""
    scale, zero = [_array_in(context, name) for name in ("scale", "zp")]
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
