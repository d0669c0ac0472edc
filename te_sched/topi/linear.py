"""Matrix and tensor products: matmul, tensordot, einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import IntImm
from te_sched.te.tensor import Tensor
from te_sched.topi.utils import (
    check_rank,
    check_same,
    check_tensor,
    get_const_int,
    normalized_axis,
    prod,
    tensor_of,
)


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The product of two matrices, each optionally transposed.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.matmul(A, A, transp_b=True).op.body[0].source[0]
    A[ax0, k] * A[ax1, k]
    """
    left, right = check_rank(a, 2, "matmul"), check_rank(b, 2, "matmul")
    transp_a, transp_b = bool(transp_a), bool(transp_b)
    rows, inner = (left.shape[int(transp_a)], left.shape[1 - int(transp_a)])
    columns = right.shape[1 - int(transp_b)]
    check_same(right.shape[int(transp_b)], inner, "matmul", "inner extent of b")
    k = te.reduce_axis((0, inner), "k")

    def element(i: Any, j: Any) -> Any:
        x = left(k, i) if transp_a else left(i, k)
        return te.sum(x * (right(j, k) if transp_b else right(k, j)), axis=k)

    return tensor_of((rows, columns), element, "T_matmul", "matmul")


def tensordot(a: Tensor, b: Tensor, axes: Any) -> Tensor:
    """The tensor contraction over axes, as numpy.tensordot.

    axes : a number n (the last n axes of a, the first n of b), or (axes of a, axes of b).

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.tensordot(A, A, axes=((1,), (1,))).shape
    [4, 4]
    """
    left, right = check_tensor(a, "tensordot"), check_tensor(b, "tensordot")
    of_left, of_right = _summed_axes(left, right, axes)
    for x, y in zip(of_left, of_right, strict=True):
        check_same(right.shape[y], left.shape[x], "tensordot", f"extent of axis {y} of b")
    over = [te.reduce_axis((0, left.shape[x]), f"k{n}") for n, x in enumerate(of_left)]
    free_left = [at for at in range(left.ndim) if at not in of_left]
    free_right = [at for at in range(right.ndim) if at not in of_right]
    shape = [left.shape[at] for at in free_left] + [right.shape[at] for at in free_right]

    def element(*i: Any) -> Any:
        x = dict(zip([*free_left, *of_left], [*i[: len(free_left)], *over], strict=True))
        y = dict(zip([*free_right, *of_right], [*i[len(free_left) :], *over], strict=True))
        product = left(*[x[at] for at in range(left.ndim)]) * right(
            *[y[at] for at in range(right.ndim)]
        )
        return te.sum(product, axis=over) if over else product

    return tensor_of(shape, element, "T_tensordot", "matmul")


def _summed_axes(left: Tensor, right: Tensor, axes: Any) -> tuple[list[int], list[int]]:
    if not isinstance(axes, list | tuple):
        count = get_const_int(axes)
        if not 0 <= count <= min(left.ndim, right.ndim):
            raise DeclarationError(
                f"topi.tensordot cannot sum over {count} axes",
                f"the tensors have {left.ndim} and {right.ndim} dimensions",
                "sum over fewer axes",
            )
        return list(range(left.ndim - count, left.ndim)), list(range(count))
    pair = [list(entry) if isinstance(entry, list | tuple) else [entry] for entry in axes]
    if len(pair) != 2 or len(pair[0]) != len(pair[1]):
        raise DeclarationError(
            f"topi.tensordot: invalid axes {repr_of(axes)}",
            "a and b must have the same number of summed axes",
            "give a number, or (axes of a, axes of b) of equal length",
        )
    return (
        [normalized_axis(axis, left.ndim, "tensordot") for axis in pair[0]],
        [normalized_axis(axis, right.ndim, "tensordot") for axis in pair[1]],
    )


def einsum(subscripts: str, *operand: Any) -> Tensor:
    """Einstein summation, as numpy.einsum("ij,jk->ik", a, b), without ellipses.

    >>> A, V = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="V")
    >>> topi.einsum("ij,j->i", A, V).op.body[0].source[0]
    A[ax0, j] * V[j]
    """
    operands = operand[0] if len(operand) == 1 and isinstance(operand[0], list | tuple) else operand
    tensors = [check_tensor(operand_tensor, "einsum") for operand_tensor in operands]
    inputs, output = _subscripts(subscripts, tensors)
    extents: dict[str, Any] = {}
    for letters, tensor in zip(inputs, tensors, strict=True):
        for letter, extent in zip(letters, tensor.shape, strict=True):
            common = extents.setdefault(letter, extent)
            if ops.is_const(common, 1):
                extents[letter] = extent
            elif not ops.is_const(extent, 1):  # which is broadcast
                check_same(extent, common, "einsum", f"extent of {letter}")
                if isinstance(extent, IntImm):  # a call makes the symbolic one equal
                    extents[letter] = extent
    over = {
        letter: te.reduce_axis((0, extent), letter)
        for letter, extent in extents.items()
        if letter not in output
    }

    def element(*i: Any) -> Any:
        index: dict[str, Any] = {**over, **dict(zip(output, i, strict=True))}
        factors = [
            tensor(
                *[
                    0 if ops.is_const(size, 1) and size is not extents[letter] else index[letter]
                    for letter, size in zip(letters, tensor.shape, strict=True)
                ]
            )
            for letters, tensor in zip(inputs, tensors, strict=True)
        ]
        product = prod(factors)
        return te.sum(product, axis=list(over.values())) if over else product

    return tensor_of([extents[letter] for letter in output], element, "T_einsum", "einsum")


def _subscripts(text: str, tensors: Sequence[Tensor]) -> tuple[list[str], str]:
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = left.split(",")
    letters = "".join(inputs)
    output = right if arrow else "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    problem = ""
    if not (letters + output).isalpha() and letters + output:
        problem = "subscripts must be letters"
    elif len(inputs) != len(tensors):
        problem = f"it has {len(inputs)} operands but {len(tensors)} are given"
    elif any(len(letters) != tensor.ndim for letters, tensor in zip(inputs, tensors, strict=True)):
        problem = "each operand must have one letter for each dimension"
    elif set(output) - set(letters) or len(set(output)) != len(output):
        problem = f"output {output!r} must use letters of the operands, each once"
    if problem:
        raise DeclarationError(f"topi.einsum({text!r}): {problem}", "", 'write it like "ij,jk->ik"')
    return inputs, output
