"""What the tables of cuBLAS and hipBLAS share: products of matrices in batches of equal size."""

from __future__ import annotations

from collections.abc import Callable, Collection

from te_sched.ir.expr import Expr, Var
from te_sched.relax.backend.contrib.conditions import (
    are_equal,
    batch_of,
    constant,
    dtypes_in,
    has_leaking_intermediate_variables,
    is_one_row,
    sizes_in,
    swaps_last_axes,
)
from te_sched.relax.backend.patterns import make_matmul_pattern
from te_sched.relax.transform.fuse_ops_by_pattern import FusionPattern, PatternCheckContext

Check = Callable[[PatternCheckContext], bool]
_EPILOGUES = (
    ("matmul", False, None),
    ("matmul_bias", True, None),
    ("matmul_bias_relu", True, "relax.nn.relu"),
    ("matmul_bias_gelu", True, "relax.nn.gelu"),
    ("matmul_transposed", False, None),
    ("matmul_transposed_bias", True, None),
    ("matmul_transposed_bias_relu", True, "relax.nn.relu"),
    ("matmul_transposed_bias_gelu", True, "relax.nn.gelu"),
)


def matmul_patterns(library: str, check: Check) -> list[FusionPattern]:
    """The patterns of products with a bias and an activation: "library.matmul_bias_relu", ..."""
    return [
        FusionPattern(
            f"{library}.{name}",
            *make_matmul_pattern(with_bias, activation, "transposed" in name),
            check,
        )
        for name, with_bias, activation in _EPILOGUES
    ]


def is_product_of_batches(context: PatternCheckContext, dtypes: Collection[str]) -> bool:
    """Whether a match is a product of operands of one of these dtypes, with a row of biases, of one
    right matrix or of as many as there are left ones.
    """
    if has_leaking_intermediate_variables(context) or not swaps_last_axes(context):
        return False
    left, right = sizes_in(context, "lhs"), sizes_in(context, "rhs")
    operands = dtypes_in(context, "lhs", "rhs")
    if left is None or right is None or len(operands) != 1 or not operands <= set(dtypes):
        return False
    if "bias" in context.annotated_expr:
        bias = sizes_in(context, "bias")
        if bias is None or not is_one_row(bias):
            return False
    return constant(left[-1]) is not None and _are_batches(batch_of(left), batch_of(right))


def _are_batches(left: Expr, right: Expr) -> bool:
    """Whether numbers of matrices fit; a number that is not known is checked when it runs."""
    is_open = isinstance(left, Var) or isinstance(right, Var)
    return constant(right) == 1 or is_open or are_equal(left, right)
