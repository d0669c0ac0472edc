"""The pass `FoldBatchnormToConv2D`: a convolution computes the normalization that follows it.

(conv2d(x, w) + b - mean) / sqrt(variance + epsilon) * gamma + beta
= conv2d(x, w * s) + (b - mean) * s + beta    with s = gamma / sqrt(variance + epsilon)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from te_sched import nd
from te_sched.ir import dtypes
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import (
    Constant,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    TupleGetItem,
)
from te_sched.relax import op as operators
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import get_var2val, nodes_of, uses_of
from te_sched.relax.constant import const
from te_sched.relax.core.sizes import sizes_of
from te_sched.relax.core.values import is_call_of, is_large, tensor_info
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.base import FunctionPass


class FoldBatchnormToConv2D(FunctionPass):
    """The pass that folds batch_norm of inference into the conv2d before it.

    The convolution gets other weights, and its result a bias. It is folded if its result is used by
    the normalization alone, or by the addition of a bias that is. The normalization is that of
    inference, by the moving mean and variance: results are equal up to rounding.

    Parameters
    ----------
    only_constants : whether convolutions stay whose weights, or the parameters of whose
        normalization, are known only when the graph runs: as in `relax.build` for processors,
        where calls of functions of the program stay, too.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([1, 3, 8, 8], "float32"))
    >>> w = relax.Var("w", relax.TensorStructInfo([4, 3, 3, 3], "float32"))
    >>> c = [relax.Var(name, relax.TensorStructInfo([4], "float32")) for name in "gbmv"]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, w, *c]):
    ...     with builder.dataflow():
    ...         y = builder.emit(relax.op.nn.conv2d(x, w))
    ...         y = builder.emit(relax.op.nn.batch_norm(y, *c, axis=1))
    ...         y = builder.emit_output(relax.TupleGetItem(y, 0))
    ...     name = builder.emit_func_output(y)
    >>> module = FoldBatchnormToConv2D()(builder.get())
    >>> [str(one.value.op) for one in module["main"].body.blocks[0].bindings][-3:]
    ['relax.reshape', 'relax.nn.conv2d', 'relax.add']
    """

    def __init__(self, only_constants: bool = False) -> None:
        self.only_constants = only_constants

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        if func.body is None:
            return func
        folder = _Folder(func, self.only_constants)
        new = folder.visit_expr(func)
        return remove_all_unused(new, self.only_constants) if folder.is_changed else func


@dataclass
class _Found:
    """A normalization, the convolution before it, and the bias between them."""

    norm: GraphCall
    conv: GraphCall
    bias: GraphExpr | None


class _Folder(PyExprMutator):
    def __init__(self, func: GraphFunction, only_constants: bool) -> None:
        super().__init__()
        self.is_changed = False
        self._only_constants = only_constants
        self._values = get_var2val(func)
        nodes = list(nodes_of(func))
        self._uses: Counter[GraphValue] = Counter(uses_of(func))
        items = [node for node in nodes if isinstance(node, TupleGetItem) and node.index == 0]
        self._first_items = Counter([item.tuple_value for item in items])

    def visit_tuple_getitem_(self, op: TupleGetItem) -> GraphExpr:
        """The normalized values, which are the first of three results."""
        match = self._found(op)
        if match is None:
            return super().visit_tuple_getitem_(op)
        data, *weights = [self.visit_expr(arg) for arg in match.conv.args]
        weights += [self.visit_expr(arg) for arg in match.norm.args[1:]]
        bias = None if match.bias is None else self.visit_expr(match.bias)
        params = weights if bias is None else [*weights, bias]
        is_constant = all(isinstance(param, Constant) for param in params)
        if self._only_constants and not is_constant:
            return super().visit_tuple_getitem_(op)
        self.is_changed = True
        weight, shift = (
            self._constants(match, params) if is_constant else self._values_of(match, params)
        )
        call = GraphCall(match.conv.op, (data, weight), match.conv.attrs, match.conv.sinfo_args)
        return operators.add(self.builder_.emit(call), shift)

    def _values_of(self, found: _Found, known: Sequence[GraphExpr]) -> tuple[GraphExpr, GraphExpr]:
        """The weights and the bias as values that the graph computes."""
        scale, shift = _folded(operators, found, known)
        weight = self.builder_.emit(operators.multiply(known[0], scale))
        return weight, self.builder_.emit(shift)

    def _constants(self, found: _Found, known: Sequence[Constant]) -> tuple[GraphExpr, GraphExpr]:
        """The weights and the bias as constants; large weights as a product of constants, which
        is computed where they are packed.
        """
        weight, *vectors = known
        dtype = weight.data.dtype
        is_exact = not dtypes.is_small_float(dtype)

        def numbers(constant: Constant) -> Any:
            return nd.array(constant.data, dtype=dtype if is_exact else "float32").numpy()

        scale, shift = _folded(np, found, [None, *map(numbers, vectors)])
        if self._only_constants and is_exact and is_large(weight.struct_info):
            product = operators.multiply(weight, const(scale, dtype))
            return self.builder_.emit(product), const(shift, dtype)
        return const(np.multiply(numbers(weight), scale), dtype), const(shift, dtype)

    def _found(self, item: TupleGetItem) -> _Found | None:
        norm = self._called(item.tuple_value, "relax.nn.batch_norm")
        if norm is None or self._uses[item.tuple_value] != self._first_items[item.tuple_value]:
            return None
        chain: list[GraphValue] = [item.tuple_value, norm.args[0]]
        added: GraphExpr | None = None
        total = self._called(norm.args[0], "relax.add")
        if total is not None:
            at = int(self._called(total.args[0], "relax.nn.conv2d") is None)
            added = total.args[1 - at]
            chain.append(total.args[at])
        conv = self._called(chain[-1], "relax.nn.conv2d")
        if conv is None or any(self._uses[var] != 1 for var in chain[1:]):
            return None
        shaped = self._called(added, "relax.reshape")
        match = _Found(norm, conv, added if shaped is None else shaped.args[0])
        used = [*conv.args, *norm.args[1:], match.bias]
        is_visible = all(isinstance(var, DataflowVar) for var in chain) or not any(
            isinstance(value, DataflowVar) for value in used
        )
        return match if is_visible and _is_foldable(match, added) else None

    def _called(self, value: object, name: str) -> GraphCall | None:
        """The call of an operator that a variable is bound to."""
        call = self._values.get(value) if isinstance(value, GraphVar) else None
        return call if is_call_of(call, name) else None


def _is_foldable(match: _Found, added: GraphExpr | None) -> bool:
    """Whether all is by the output channels of a plain layout."""
    attrs = match.conv.attrs
    layouts = attrs["data_layout"], attrs["kernel_layout"], attrs["out_layout"]
    if [sorted(layout) for layout in layouts] != [sorted("NCHW"), sorted("OIHW"), sorted("NCHW")]:
        return False
    channels = layouts[2].index("C")
    sizes = sizes_of(match.conv.args[1].struct_info)
    count = None if sizes is None else sizes[layouts[1].index("O")]
    if not isinstance(count, IntImm) or int(match.norm.attrs["axis"]) % 4 != channels:
        return False
    tensors = [*match.conv.args, *match.norm.args, match.conv, *([] if added is None else [added])]
    if len({getattr(tensor.struct_info, "dtype", "") for tensor in tensors}) != 1:
        return False
    if added is None:
        return True
    bias_sizes = [getattr(size, "value", 0) for size in sizes_of(added.struct_info) or ()]
    wanted = [count.value if at == channels else 1 for at in range(4)]
    return (
        4 - channels <= len(bias_sizes) <= 4 and [1] * (4 - len(bias_sizes)) + bias_sizes == wanted
    )


def _folded(library: Any, match: _Found, params: Sequence[Any]) -> tuple[Any, Any]:
    """The factor of the weights, and the bias, by the functions of numpy or by operators."""
    _, gamma, beta, mean, variance, *bias = params
    attrs, conv = match.norm.attrs, match.conv
    info = tensor_info(conv)
    kernel = conv.attrs["kernel_layout"]
    count = sizes_of(conv.args[1].struct_info)[kernel.index("O")].value  # type: ignore[index]

    def placed(vector: object, layout: str, letter: str) -> object:
        return library.reshape(vector, [count if axis == letter else 1 for axis in layout])

    is_numbers, epsilon = library is np, attrs["epsilon"]
    added = np.array(epsilon, variance.dtype) if is_numbers else const(epsilon, info.dtype)
    spread = library.sqrt(library.add(variance, added))
    scale = library.divide(gamma if attrs["scale"] else library.ones_like(spread), spread)
    if bias:
        centered = library.subtract(library.reshape(bias[0], [count]), mean)
    else:
        centered = library.negative(mean)
    shift = library.multiply(centered, scale)
    shift = library.add(shift, beta) if attrs["center"] else shift
    return placed(scale, kernel, "O"), placed(shift, conv.attrs["out_layout"], "C")
