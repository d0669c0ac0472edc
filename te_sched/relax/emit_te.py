"""Calls of tensor expressions: a function of Python becomes a function of blocks in the module.

Values of the graph become tensors, sizes and lists of them; variables of sizes are replaced by
those of the new function, and passed to it where no shape of a tensor gives their values. Must not
know the builder.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from te_sched import te
from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, FloatImm, IntImm, Operand, Var
from te_sched.ir.graph import (
    DataTypeImm,
    GraphCall,
    GraphExpr,
    GraphString,
    GraphValue,
    GraphVar,
    PrimValue,
    Tuple,
)
from te_sched.ir.op import Op
from te_sched.ir.renew import renew_defs
from te_sched.ir.stmt import GlobalVar, PrimFunc
from te_sched.ir.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    VDevice,
)
from te_sched.ir.term_keys import term_key
from te_sched.ir.visitor import variables_of
from te_sched.lowering.prim_func import function_of_tensors
from te_sched.signatures import raise_unbound

AddFunction = Callable[[PrimFunc, str], GlobalVar]


def call_te(
    add_function: AddFunction,
    settings: Lowering,
    analyzer: Analyzer,
    func: Callable[..., object],
    *args: object,
    **kwargs: object,
) -> GraphCall:
    """A call of the function that `func` makes of its arguments; `settings` are those of the
    simplifier, and the analyzer knows the sizes of the graph.
    """
    hint: Any = kwargs.pop("primfunc_name_hint", None)
    name: str = hint or getattr(func, "__name__", "func")
    prim_func, inputs, infos, sizes = _function_and_inputs(
        settings, analyzer, func, *args, **kwargs
    )
    var = add_function(prim_func, name)
    operands: list[GraphValue] = [var, Tuple(tuple(inputs))]
    if sizes:
        operands.append(ShapeExpr(tuple(sizes)))
    info = infos[0] if len(infos) == 1 else TupleStructInfo(tuple(infos))
    return GraphCall(Op.get("relax.call_tir"), tuple(operands), None, (info,))


def gen_call_tir_inputs(
    func: Callable[..., object], *args: object, **kwargs: object
) -> tuple[PrimFunc, list[GraphExpr], list[StructInfo], list[Expr]]:
    """The function, its tensors, the struct infos of the results, and the sizes it is given."""
    return _function_and_inputs(AS_TVM, Analyzer(), func, *args, **kwargs)


@walks_deeply("call a function of tensor expressions", GraphError)
def _function_and_inputs(
    settings: Lowering,
    analyzer: Analyzer,
    func: Callable[..., object],
    *args: object,
    **kwargs: object,
) -> tuple[PrimFunc, list[GraphExpr], list[StructInfo], list[Expr]]:
    attrs = kwargs.pop("primfunc_attrs", None)
    translation = _Translation(analyzer)
    translated = [translation.value(arg) for arg in args]
    named = {key: translation.value(value) for key, value in kwargs.items()}
    try:
        result = func(*translated, **named)
    except TypeError:
        raise_unbound(func, getattr(func, "__name__", repr_of(func)), translated, named)
        raise
    outputs: list[te.Tensor] = []
    for output in result if isinstance(result, list | tuple) else [result]:
        if not isinstance(output, te.Tensor):
            raise GraphError(
                f"{getattr(func, '__name__', func)} returns {repr_of(output)}, expected tensors",
                f"it is {kind_of(output)}",
                "return a tensor of te.compute, or a list of them",
            )
        outputs.append(output)
    translation.bind(outputs)
    unbound = translation.unbound()
    parameters = [*translation.tensors, *outputs, *unbound]
    prim_func = function_of_tensors(parameters, "int64", settings)
    prim_func = prim_func.without_attr("global_symbol")
    if attrs:
        prim_func = prim_func.with_attrs(attrs)
    if translation.sizes:  # those of the graph are not those of the function
        prim_func = renew_defs(prim_func)
    infos: list[StructInfo] = [_info_of(tensor, translation.vdevice) for tensor in outputs]
    return prim_func, translation.inputs, infos, list(unbound)


def _info_of(tensor: te.Tensor, vdevice: VDevice | None) -> TensorStructInfo:
    shape = [ops.cast("int64", size) for size in tensor.shape]
    return TensorStructInfo(ShapeExpr(tuple(shape)), tensor.dtype, vdevice)


class EqualCalls:
    """Calls of functions of tensor expressions of te_sched in one pass: equal arguments, but for
    the values of tensors, make equal functions, so that each is made once.

    >>> from te_sched import relax, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> y, key = relax.const([1.0] * 4), EqualCalls.key
    >>> key(topi.exp, [x], {}, []) == key(topi.exp, [y], {}, [])
    True
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, GraphCall] = {}

    def call(
        self,
        make: Callable[..., GraphCall],
        func: Callable[..., object],
        *args: object,
        **kwargs: object,
    ) -> GraphCall:
        """The call that `make` makes, or one of the function that it has made before."""
        inputs: list[GraphExpr] = []
        key = self.key(func, args, kwargs, inputs)
        cached_call = self._made.get(key) if key is not None else None
        if cached_call is not None:
            operands = (cached_call.args[0], Tuple(tuple(inputs)))
            return GraphCall(cached_call.op, operands, cached_call.attrs, cached_call.sinfo_args)
        call = make(func, *args, **kwargs)
        if key is not None:
            self._made[key] = call
        return call

    @staticmethod
    def key(
        func: Callable[..., object],
        args: Sequence[object],
        named: Mapping[str, object],
        inputs: list[GraphExpr],
    ) -> Hashable | None:
        """A value for what the function is made of; `inputs` gets the tensors. None for functions
        of programs, and for arguments with symbolic sizes or of other kinds.
        """
        if not str(getattr(func, "__module__", "")).startswith("te_sched."):
            return None
        try:
            return func, _key([*args], inputs), _key(dict(named), inputs)
        except _Unkeyed:
            return None


class _Unkeyed(Exception):
    """A value may change what a function of tensor expressions makes, and has no key."""


def _key(argument: object, inputs: list[GraphExpr]) -> Hashable:
    """A hashable value for an argument; of tensors, their shapes, dtypes and devices."""
    kind = type(argument)
    if argument is None or kind in (bool, int, str):
        return kind, argument
    if isinstance(argument, float):
        return kind, argument.hex()
    if isinstance(argument, IntImm | FloatImm):
        return term_key(argument)
    if isinstance(argument, list | tuple):
        return kind, tuple([_key(item, inputs) for item in argument])
    if isinstance(argument, dict):
        return kind, tuple([(name, _key(item, inputs)) for name, item in argument.items()])
    if isinstance(argument, PrimValue | GraphString | DataTypeImm):
        return kind, _key(argument.value, inputs)
    if isinstance(argument, ShapeExpr):
        return kind, _key(argument.values, inputs)
    if isinstance(argument, Tuple):
        return kind, _key(argument.fields, inputs)
    info = argument.struct_info_ if isinstance(argument, GraphExpr) else None
    if not isinstance(argument, GraphExpr) or not isinstance(info, TensorStructInfo):
        raise _Unkeyed
    inputs.append(argument)
    return TensorStructInfo, info.dtype, _key(info.shape, inputs), info.vdevice


class _Translation:
    """Values of the graph as values of tensor expressions."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.extents: dict[Expr, None] = {}  # of the tensors, in their order
        self.tensors: list[te.Tensor | Var] = []
        self.inputs: list[GraphExpr] = []
        self.sizes: dict[Var, None] = {}  # the variables in sizes, in their order
        self.bound: set[Var] = set()  # those that are an extent of a tensor
        self.vdevice: VDevice | None = None  # that of the first tensor that has one

    def value(self, argument: object) -> object:
        """A value that the function is called with."""
        if isinstance(argument, GraphExpr | ShapeExpr):
            return self._of_graph(argument)
        if isinstance(argument, Expr):
            return self._size(argument)
        if isinstance(argument, list | tuple):
            return type(argument)([self.value(element) for element in argument])
        if isinstance(argument, Mapping):
            return {key: self.value(element) for key, element in argument.items()}
        if (
            hasattr(argument, "__array__")
            and not isinstance(argument, Operand)
            and np.ndim(argument) > 0
        ):
            raise GraphError(
                f"an array of shape {np.shape(argument)} is passed to a function of tensor "
                "expressions",
                f"it is {kind_of(argument)}, not a value of the graph",
                "make it a constant of the graph: relax.const(array)",
            )
        return argument

    def _of_graph(self, argument: GraphExpr) -> object:
        if isinstance(argument, ShapeExpr):
            return [self._size(size) for size in argument.values]
        if isinstance(argument, PrimValue):
            return self._size(argument.value)
        if isinstance(argument, GraphString | DataTypeImm):
            return argument.value
        if isinstance(argument, Tuple):
            return [self._of_graph(field) for field in argument.fields]
        info = argument.struct_info
        if isinstance(info, TensorStructInfo):
            return self._tensor(argument, info)
        if isinstance(info, ShapeStructInfo) and info.values is not None:
            return [self._size(size) for size in info.values]
        if isinstance(info, PrimStructInfo) and info.value is not None:
            return self._size(info.value)
        if isinstance(info, PrimStructInfo) and isinstance(argument, GraphVar):
            return self._number(argument, info)
        raise GraphError(
            f"{repr_of(argument)} is passed to a function of tensor expressions",
            f"it is {info}",
            "pass tensors and shapes of known sizes, and numbers",
        )

    def _number(self, argument: GraphVar, info: PrimStructInfo) -> Var:
        """A number of which the value is not known, as a parameter of the function."""
        var = Var(argument.name_hint, info.dtype)
        self.tensors.append(var)
        self.inputs.append(argument)
        return var

    def _tensor(self, argument: GraphExpr, info: TensorStructInfo) -> te.Tensor:
        if not isinstance(info.shape, ShapeExpr) or not info.dtype:
            is_shaped = isinstance(info.shape, ShapeExpr)
            raise GraphError(
                f"the {'dtype' if is_shaped else 'shape'} of {repr_of(argument)} is not known",
                f"it is {info}",
                "declare it: R.Tensor((n, m), dtype); or match it first: "
                "builder.match_cast(value, relax.TensorStructInfo([n, m], dtype))",
            )
        letter = chr(ord("A") + len(self.tensors) % 26)
        name = argument.name_hint if isinstance(argument, GraphVar) else letter
        shape = [self._size(self._extent(size)) for size in info.shape.values]
        self.bound |= {size for size in shape if type(size) is Var}
        tensor = te.placeholder(shape, name=name, dtype=info.dtype)
        self.tensors.append(tensor)
        self.inputs.append(argument)
        self.vdevice = self.vdevice if self.vdevice is not None else info.vdevice
        return tensor

    def _extent(self, size: Expr) -> Expr:
        """A size, or the one that is equal in this graph: functions of tensor expressions do not
        know that sizes are not negative.
        """
        is_plain = isinstance(size, Var | IntImm)
        for extent in self.extents:
            is_new = extent is not size and not (is_plain and isinstance(extent, Var | IntImm))
            if is_new and self.analyzer.can_prove_equal(extent, size):
                return extent
        self.extents[size] = None
        return size

    def _size(self, size: Expr) -> Expr:
        self.sizes.update(dict.fromkeys(variables_of(size)))
        return size

    def bind(self, outputs: list[te.Tensor]) -> None:
        """Note the variables that are an extent of a result: its shape is passed with it."""
        self.bound |= {size for tensor in outputs for size in tensor.shape if type(size) is Var}

    def unbound(self) -> list[Var]:
        """The variables that the function is given as numbers."""
        return [var for var in self.sizes if var not in self.bound]
