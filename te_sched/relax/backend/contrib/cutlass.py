"""The patterns of CUTLASS: products, convolutions, what is added to them, and attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from te_sched.ir.stmt import IRModule
from te_sched.relax.backend.contrib.blas import matmul_patterns
from te_sched.relax.backend.contrib.conditions import (
    Size,
    are_equal,
    attrs_in,
    constant,
    dtypes_in,
    has_leaking_intermediate_variables,
    is_one_row,
    sizes_in,
    swaps_last_axes,
)
from te_sched.relax.backend.pattern_registry import get_patterns_with_prefix
from te_sched.relax.backend.patterns import (
    make_attention_pattern,
    make_fused_bias_activation_pattern,
    make_residual_block_pattern,
)
from te_sched.relax.core.sizes import sizes_of
from te_sched.relax.transform.fuse_ops_by_pattern import (
    FuseOpsByPattern,
    FusionPattern,
    PatternCheckContext,
)
from te_sched.signatures import checked

_CONV2D = (
    ("cutlass.conv2d", False, None),
    ("cutlass.conv2d_bias", True, None),
    ("cutlass.conv2d_bias_relu", True, "relax.nn.relu"),
    ("cutlass.conv2d_bias_silu", True, "relax.nn.silu"),
)


@checked
def is_shape_valid_for_cutlass_matmul(lhs_shape: Sequence[Size], rhs_shape: Sequence[Size]) -> bool:
    """Whether CUTLASS multiplies matrices of these shapes: one of them on one side, or as many on
    both.

    >>> is_shape_valid_for_cutlass_matmul([1, 16, 15], [3, 15, 2])
    True
    >>> is_shape_valid_for_cutlass_matmul([3, 1, 16, 15], [3, 2, 15, 2])
    False
    """
    if constant(lhs_shape[-1]) is None:
        return False
    first, second = [_batches_of(shape) for shape in (lhs_shape, rhs_shape)]
    if not first or not second:
        return True
    return len(first) == len(second) and all(map(are_equal, first, second))


def _batches_of(shape: Sequence[Size]) -> list[Size]:
    """The axes of batches from the first that is not 1."""
    batches = list(shape[:-2])
    while batches and constant(batches[0]) == 1:
        del batches[0]
    return batches


def _check_matmul(context: PatternCheckContext) -> bool:
    """Whether CUTLASS computes a product."""
    left, right = sizes_in(context, "lhs"), sizes_in(context, "rhs")
    return (
        not has_leaking_intermediate_variables(context)
        and swaps_last_axes(context)
        and dtypes_in(context, "lhs", "rhs") in _known("float16", "float32", "int8", "uint8")
        and left is not None
        and right is not None
        and is_shape_valid_for_cutlass_matmul(left, right)
        and _adds_rows_or_all(context)
    )


def _check_conv2d(context: PatternCheckContext) -> bool:
    """Whether CUTLASS computes a convolution."""
    attrs = attrs_in(context, "root")
    left, right = sizes_in(context, "lhs"), sizes_in(context, "rhs")
    return (
        not has_leaking_intermediate_variables(context)
        and (attrs["data_layout"], attrs["kernel_layout"]) == ("NHWC", "OHWI")
        and dtypes_in(context, "lhs", "rhs") in _known("float16", "float32", "int8")
        and left is not None
        and right is not None
        and all(constant(size) is not None for size in (*left, *right))
        and not int(attrs["groups"]) == constant(left[-1]) == constant(right[0])
        and _adds_rows_or_all(context)
    )


def _known(*dtypes: str) -> list[set[str]]:
    return [{dtype} for dtype in dtypes]


def _adds_rows_or_all(context: PatternCheckContext) -> bool:
    """Whether a residual, if there is one, has the shape of the result, or is a row of it."""
    if "residual" not in context.annotated_expr:
        return True
    residual = sizes_in(context, "residual")
    whole = sizes_of(context.annotated_expr["root"].struct_info)
    if residual is None or whole is None or not residual:
        return False
    is_whole = len(residual) == len(whole) and all(map(are_equal, residual, whole))
    return is_whole or (is_one_row(residual) and are_equal(residual[-1], whole[-1]))


def _residual_blocks(nodes: Sequence[FusionPattern]) -> Iterator[FusionPattern]:
    """Patterns with a bias, followed by what is added or multiplied, and by relu."""
    for activation in (None, "relax.nn.relu"):
        for node in nodes:
            for operator in ("add", "multiply") if "bias" in node.name else ():
                yield FusionPattern(
                    f"{node.name}_residual_{operator}" + ("_relu" if activation else ""),
                    *make_residual_block_pattern(
                        (node.pattern, node.annotation_patterns), f"relax.{operator}", activation
                    ),
                    node.check,
                )


def _tables() -> list[FusionPattern]:
    nodes = [
        FusionPattern(
            name,
            *make_fused_bias_activation_pattern("relax.nn.conv2d", with_bias, activation),
            _check_conv2d,
        )
        for name, with_bias, activation in _CONV2D
    ]
    nodes += matmul_patterns("cutlass", _check_matmul)
    attention = [
        FusionPattern("cutlass.attention", *make_attention_pattern()),
        FusionPattern("cutlass.attention_bias", *make_attention_pattern(with_bias=True)),
        FusionPattern("cutlass.attention_var_len", *make_attention_pattern(var_len=True)),
    ]
    return [*nodes, *_residual_blocks(nodes), *attention]


PATTERNS = _tables()


@checked
def partition_for_cutlass(mod: IRModule, annotate_codegen: bool = True) -> IRModule:
    """The module with functions of what CUTLASS computes, for RunCodegen.

    Parameters
    ----------
    annotate_codegen : whether each function is put into one with the attribute "Codegen".
    """
    patterns = get_patterns_with_prefix("cutlass")
    return FuseOpsByPattern(patterns, False, annotate_codegen=annotate_codegen)(mod)
