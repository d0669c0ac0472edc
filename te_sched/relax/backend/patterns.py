"""Patterns that libraries share: an operator, the addition of a bias, and an activation."""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.relax.dpl.pattern import (
    DFPattern,
    is_const,
    is_op,
    wildcard,
    with_bias_and_activation,
)
from te_sched.signatures import checked

Annotated = tuple[DFPattern, dict[str, DFPattern]]  # a pattern, and its parts by name


def _followed(
    root: DFPattern, parts: dict[str, DFPattern], with_bias: bool, activation: str | None
) -> Annotated:
    """A pattern with what follows it; `parts` gets the root and the bias."""
    parts["root"] = root
    if with_bias:
        parts["bias"] = wildcard()
    return with_bias_and_activation(root, parts.get("bias"), activation or None), parts


@checked
def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> Annotated:
    """The pattern of an operator of two arguments, its parts "lhs", "rhs", "root" and "bias".

    Parameters
    ----------
    op_name : the name of the operator: "relax.nn.conv2d".
    with_bias : whether a bias is added.
    activation : the name of an operator that follows: "relax.nn.relu".

    >>> pattern, parts = make_fused_bias_activation_pattern("relax.matmul", True, "relax.nn.relu")
    >>> pattern
    Op(relax.nn.relu)(Op(relax.add)(Op(relax.matmul)(*, *), *))
    >>> sorted(parts)
    ['bias', 'lhs', 'rhs', 'root']
    """
    parts: dict[str, DFPattern] = {"lhs": wildcard(), "rhs": wildcard()}
    root = is_op(op_name)(parts["lhs"], parts["rhs"])
    return _followed(root, parts, with_bias, activation)


@checked
def make_matmul_pattern(
    with_bias: bool = False, activation: str | None = None, transposed_rhs: bool = False
) -> Annotated:
    """The pattern of a product of matrices, its parts "lhs", "rhs", "root" and "bias".

    Parameters
    ----------
    transposed_rhs : whether the right matrix is transposed before.

    >>> make_matmul_pattern(transposed_rhs=True)[0]
    Op(relax.matmul)(*, Op(relax.permute_dims)(*))
    """
    parts: dict[str, DFPattern] = {"lhs": wildcard(), "rhs": wildcard()}
    right = is_op("relax.permute_dims")(parts["rhs"]) if transposed_rhs else parts["rhs"]
    root = is_op("relax.matmul")(parts["lhs"], right)
    return _followed(root, parts, with_bias, activation)


@checked
def make_conv2d_pattern(with_bias: bool = False, activation: str | None = None) -> Annotated:
    """The pattern of a convolution, its parts "input", "weight", "root" and "bias".

    >>> sorted(make_conv2d_pattern(with_bias=True)[1])
    ['bias', 'input', 'root', 'weight']
    """
    parts: dict[str, DFPattern] = {"input": wildcard(), "weight": wildcard()}
    root = is_op("relax.nn.conv2d")(parts["input"], parts["weight"])
    return _followed(root, parts, with_bias, activation)


@checked
def make_matmul_dequantize_pattern(transposed_rhs: bool = False) -> Annotated:
    """The pattern of a dequantized product: "scale" and "zp" are constants.

    >>> make_matmul_dequantize_pattern()[0]
    Op(relax.dequantize)(Op(relax.matmul)(*, *), ConstantPattern(), ConstantPattern())
    """
    root, parts = make_matmul_pattern(transposed_rhs=transposed_rhs)
    parts |= {"scale": is_const(), "zp": is_const()}
    return is_op("relax.dequantize")(root, parts["scale"], parts["zp"]), parts


@checked
def make_matmul_multiply_pattern(transposed_rhs: bool = False) -> Annotated:
    """The pattern of a product that is multiplied by two numbers, "scaleA" and "scaleB", and cast.

    >>> sorted(make_matmul_multiply_pattern()[1])
    ['lhs', 'rhs', 'root', 'scaleA', 'scaleB']
    """
    root, parts = make_matmul_pattern(transposed_rhs=transposed_rhs)
    parts |= {name: wildcard().has_shape((1,)) for name in ("scaleA", "scaleB")}
    scale = is_op("relax.multiply")(parts["scaleA"], parts["scaleB"])
    return is_op("relax.astype")(is_op("relax.multiply")(root, scale)), parts


@checked
def make_residual_block_pattern(
    node_output: tuple[DFPattern, Mapping[str, DFPattern]] | DFPattern,
    binary_op: str = "relax.add",
    activation: str | None = None,
) -> Annotated:
    """The pattern of a value to which another one, the part "residual", is added, in any order.

    Parameters
    ----------
    node_output : the pattern of the value, or a pair of it and of its parts by name.
    binary_op : the name of the operator, such as "relax.multiply".
    activation : the name of an operator that follows: "relax.nn.relu".

    >>> make_residual_block_pattern(is_op("relax.exp")(wildcard()))[0]
    OrPattern(Op(relax.add)(Op(relax.exp)(*), *) | Op(relax.add)(*, Op(relax.exp)(*)))
    """
    node, parts = node_output if isinstance(node_output, tuple) else (node_output, {})
    residual = wildcard()
    operator = is_op(binary_op)
    either = operator(node, residual) | operator(residual, node)
    return with_bias_and_activation(either, None, activation), {**parts, "residual": residual}


@checked
def make_attention_pattern(with_bias: bool = False, var_len: bool = False) -> Annotated:
    """The pattern of attention, its parts "query", "key", "value", and "bias".

    Parameters
    ----------
    var_len : whether sequences have lengths of their own: "seqstart_q", "seqstart_k",
        "max_seqlen_q" and "max_seqlen_k".

    >>> make_attention_pattern(with_bias=True)[0]
    Op(relax.nn.attention_bias)(*, *, *, *)
    """
    names = ["query", "key", "value", *(["bias"] if with_bias else [])]
    if var_len:
        names += ["seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k"]
    kind = "_var_len" if var_len else "_bias" if with_bias else ""
    parts: dict[str, DFPattern] = {name: wildcard() for name in names}
    return is_op(f"relax.nn.attention{kind}")(*parts.values()), parts
