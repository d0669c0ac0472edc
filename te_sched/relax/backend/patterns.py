"""Patterns that libraries share: an operator, the addition of a bias, and an activation."""

from __future__ import annotations

from te_sched.relax.dpl.pattern import DFPattern, is_op, wildcard, with_bias_and_activation
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
