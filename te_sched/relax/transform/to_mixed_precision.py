"""ToMixedPrecision: products and convolutions compute with float16, and what can follow them too.

    always    matmul, conv1d to conv3d, attention (`ALWAYS`): float32 arguments are converted
    follow    elementwise operators, reshapes, pools, ...: in float16 if all tensors are available
              in it, otherwise as they are written
    others    get their arguments with the dtypes as they are written

A value of the graph that is kept in float16 is converted back where its dtype matters: before other
operators, and where it leaves the dataflow block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from te_sched.ir.graph import (
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    OpAttrs,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.ir.visitor import walk
from te_sched.relax import op
from te_sched.relax.expr_functor import PyExprMutator, map_sequence
from te_sched.relax.operators.registry import ALWAYS
from te_sched.relax.transform.base import FunctionPass

_HALF, _FULL = "float16", "float32"


class ToMixedPrecision(FunctionPass):
    """The pass that computes products and convolutions of float32 with float16.

    Parameters
    ----------
    out_dtype : the dtype of their sums, "float32" or "float16".
    fp16_input_names : parameters of functions that are to be float16.

    >>> from te_sched import relax
    >>> a = relax.Var("a", relax.TensorStructInfo([4, 4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [a]):
    ...     with builder.dataflow():
    ...         b = builder.emit_output(relax.op.matmul(a, a))
    ...     name = builder.emit_func_output(b)
    >>> main = ToMixedPrecision()(builder.get())["main"]
    >>> [str(one.value.op) for one in main.body.blocks[0].bindings]
    ['relax.astype', 'relax.matmul']
    """

    def __init__(
        self, out_dtype: str = _FULL, fp16_input_names: Sequence[str] | None = None
    ) -> None:
        self.out_dtype = out_dtype
        self.fp16_input_names = frozenset(fp16_input_names or ())

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Mixed(self.out_dtype, self.fp16_input_names).function(func)


class _Mixed(PyExprMutator):
    def __init__(self, out_dtype: str, names: frozenset[str]) -> None:
        super().__init__()
        self._out_dtype, self._names = out_dtype, names
        self._half: dict[
            GraphValue, GraphExpr
        ] = {}  # variables and constants, and their values in float16
        self._full: dict[GraphVar, GraphExpr] = {}  # those of the dtypes as they are written
        self._only_half: set[GraphVar] = set()  # variables that are defined in float16

    def function(self, func: GraphFunction) -> GraphFunction:
        """The function, of which some parameters may be float16."""
        for param in func.params:
            info = param.struct_info
            if param.name_hint in self._names and isinstance(info, TensorStructInfo):
                new = GraphVar(param.name_hint, _of_dtype(info, _HALF))
                self.set_var_remap(param, new)
                self._half[param] = new
                self._only_half.add(param)
        return self.visit_expr(func)

    # Values

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """A use of a variable, with the dtype as it is written."""
        if op not in self._only_half:
            return super().visit_var_(op)
        if op not in self._full:
            self._full[op] = self._converted(self._half[op], op.struct_info)
        return self._full[op]

    visit_dataflow_var_ = visit_var_

    def _converted(self, value: GraphExpr, info: StructInfo) -> GraphExpr:
        """A value with the dtypes of a struct info."""
        value_info = _known(value)
        if isinstance(info, TupleStructInfo) and isinstance(value_info, TupleStructInfo):
            parts = [
                self._converted(self.builder_.emit(TupleGetItem(value, at)), field)
                if field != value_info.fields[at]
                else self.builder_.emit(TupleGetItem(value, at))
                for at, field in enumerate(info.fields)
            ]
            return Tuple(tuple(parts))
        if isinstance(info, TensorStructInfo) and info.dtype != getattr(value_info, "dtype", ""):
            return self.builder_.emit(op.astype(value, info.dtype))
        return value

    def _in_half(self, value: GraphExpr) -> GraphExpr:
        """A value with float16 instead of float32."""
        if isinstance(value, Tuple):
            return Tuple(tuple([self._in_half(field) for field in value.fields]))
        if value in self._half:
            return self._half[value]
        if not _is_full(value):
            return self.visit_expr(value)
        self._half[value] = self.builder_.emit(op.astype(self.visit_expr(value), _HALF))
        return self._half[value]

    def _is_available(self, value: GraphExpr) -> bool:
        """Whether a tensor is in float16 already, or a constant that float16 can hold."""
        if isinstance(value, Tuple):
            return all(self._is_available(field) for field in value.fields)
        if isinstance(value, Constant) and _is_full(value):
            return bool(np.all(np.abs(value.data.numpy()) <= np.finfo(np.float16).max))
        return value in self._half or not _has_full(_known(value))

    # Blocks and bindings

    def visit_seq_expr_(self, op: SeqExpr) -> GraphExpr:
        """The blocks of a function or branch; conversions in it are not visible after it."""
        half, full = dict(self._half), dict(self._full)
        try:
            return map_sequence(self, op)
        finally:
            self._half, self._full = half, full

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The block; what is used in float16 only, and comes from outside, is converted first."""
        self.builder_._begin_dataflow_block()
        half, full = dict(self._half), dict(self._full)
        for value in _used_in_half_only(block):
            self._in_half(value)
        try:
            for binding in block.bindings:
                self.visit_binding(binding)
        finally:
            new_block = self.builder_._end_block()
            self._half, self._full = half, full
        if len(new_block.bindings) == len(block.bindings):
            pairs = zip(new_block.bindings, block.bindings, strict=True)
            if all(new is old for new, old in pairs):
                return block
        return new_block

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Rewrite the binding; in a dataflow block its value may become float16."""
        value = binding.value
        if not self.builder_.current_block_is_dataflow():
            super().visit_var_binding_(binding)
            return
        new = self._in_half_if_possible(value)
        if new is None:
            super().visit_var_binding_(binding)
            return
        self._bind(binding, self.builder_.normalize(new))

    def _in_half_if_possible(self, value: GraphValue) -> GraphExpr | None:
        """The value in float16; None if it is not computed there."""
        if isinstance(value, GraphCall) and isinstance(value.op, Op):
            return self._call(value)
        if isinstance(value, GraphVar) and value in self._half:
            return self._half[value]
        if isinstance(value, TupleGetItem) and value.tuple_value in self._half:
            return TupleGetItem(self._half[value.tuple_value], value.index)
        if isinstance(value, Tuple) and any(field in self._half for field in value.fields):
            return Tuple(
                tuple([self._half.get(field) or self.visit_expr(field) for field in value.fields])
            )
        return None

    def _call(self, call: GraphCall) -> GraphCall | Constant | None:
        name = str(call.op)
        tensors = [arg for arg in call.args if _is_tensor(_known(arg))]
        if name == "relax.wrap_param" and call.args[0].struct_info.dtype == _HALF:
            constant: Constant = call.args[0]
            return constant
        policy = call.op.get_attr("TMixedPrecisionPolicy")
        if policy is None or not any(_has_full(_known(tensor)) for tensor in tensors):
            return None
        is_always = policy == ALWAYS
        if not is_always and not all(self._is_available(tensor) for tensor in tensors):
            return None
        args = [
            self._in_half(arg) if _is_tensor(_known(arg)) else self.visit_expr(arg)
            for arg in call.args
        ]
        attrs = call.attrs
        if is_always and attrs is not None and "out_dtype" in attrs:
            attrs = OpAttrs({**attrs, "out_dtype": self._out_dtype})
        return GraphCall(call.op, tuple(args), attrs, call.sinfo_args)

    def _bind(self, binding: VarBinding, value: GraphValue) -> None:
        var, info = binding.var, _known(value)
        is_inner = isinstance(var, DataflowVar)
        if info == var.struct_info_ and not (is_inner and _has_full(info)):
            self.reemit_binding(binding, value)  # also conditions, which are the same in float16
            return
        if not is_inner:
            inner = value if isinstance(value, GraphVar) else self.builder_.emit(value)
            self.reemit_binding(binding, self._last_conversion(inner, var.struct_info))
            return
        if _is_full_info(info):  # the sums of a product
            value = self.builder_.normalize(op.astype(self.builder_.emit(value), _HALF))
        new = DataflowVar(var.name_hint, _known(value))
        self.builder_.emit_normalized(VarBinding(new, value))
        self._half[var] = new
        self._only_half.add(var)

    def _last_conversion(self, value: GraphExpr, info: StructInfo) -> GraphExpr:
        """The value of a variable that leaves the block."""
        if isinstance(info, TensorStructInfo):
            return self.builder_.normalize(op.astype(value, info.dtype))
        return self.builder_.normalize(self._converted(value, info))


def _known(value: GraphValue) -> StructInfo | None:
    return value.struct_info_


def _of_dtype(info: TensorStructInfo, dtype: str) -> TensorStructInfo:
    ndim = info.ndim if info.shape is None else -1
    return TensorStructInfo(info.shape, dtype, info.vdevice, ndim)


def _is_full_info(info: StructInfo | None) -> bool:
    return isinstance(info, TensorStructInfo) and info.dtype == _FULL


def _is_full(value: GraphValue) -> bool:
    return _is_full_info(_known(value))


def _is_tensor(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return bool(info.fields) and all(_is_tensor(field) for field in info.fields)
    return isinstance(info, TensorStructInfo)


def _has_full(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_has_full(field) for field in info.fields)
    return _is_full_info(info)


def _used_in_half_only(block: DataflowBlock) -> list[GraphVar]:
    """The variables from outside of a block that are arguments of products only, in order."""
    inside = {binding.var for binding in block.bindings}
    flags: dict[GraphVar, bool] = {}
    for binding in block.bindings:
        value = binding.value
        op = value.op if isinstance(value, GraphCall) else None
        policy = op.get_attr("TMixedPrecisionPolicy") if isinstance(op, Op) else None
        for node in walk(value):
            if isinstance(node, GraphVar) and node not in inside and _is_full(node):
                flags[node] = flags.get(node, True) and policy == ALWAYS
    return [var for var, is_only in flags.items() if is_only]
