"""Functions of graphs that the passes of the build pipeline have lowered, as calls by name.

What is left there are calls of functions by name, of operators of the machine (`relax.op.vm`),
tuples and conditions. A `CallWriter` says which functions are called on which values, in order; its
subclasses say what a value and a call are: registers and instructions (`codegen`), or descriptions
of memory and steps (`native`). Must not know how calls are run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from te_sched.errors import GraphError, repr_of
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.ir.graph import (
    Binding,
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    GraphCall,
    GraphFunction,
    GraphString,
    GraphVar,
    If,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TupleStructInfo
from te_sched.relax.transform.legalize_ops import has_known_shape
from te_sched.relax.vm.bytecode import ShapeTuple, TypeName

V = TypeVar("V")


class CallWriter(ABC, Generic[V]):
    """Walks the body of a function of a module; `values` are those of variables."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self.values: dict[GraphVar, V] = {}

    # What subclasses say

    @property
    @abstractmethod
    def machine(self) -> V:
        """The virtual machine, as an argument."""

    @abstractmethod
    def constant(self, value: object) -> V:
        """An array, a shape, a number, a string or the name of a dtype."""

    @abstractmethod
    def integer(self, value: int) -> V:
        """A number."""

    @abstractmethod
    def function(self, name: str) -> V:
        """A function, as an argument."""

    @abstractmethod
    def call(self, name: str, args: Sequence[V], is_void: bool = False) -> V:
        """The result of a call."""

    @abstractmethod
    def choice(self, expr: If) -> V:
        """The value of one of two branches."""

    @abstractmethod
    def end_life(self, value: V) -> V:
        """The memory of a value is not needed any more; nothing."""

    # Expressions

    def expr(self, expr: Any) -> V:  # of any class of nodes
        """The value of an expression."""
        writer = self._writers.get(type(expr))
        if writer is None:
            raise GraphError(
                f"cannot run {repr_of(expr)}",
                "functions inside of functions are lifted before",
                "build it with relax.build, which runs the passes",
            )
        value: V = writer(self, expr)
        return value

    def _variable(self, var: GraphVar) -> V:
        if var not in self.values:
            raise GraphError(
                f"variable {var.name_hint} is used where it is not defined",
                "",
                "define it in the function, before its use",
            )
        return self.values[var]

    def _array(self, expr: Constant) -> V:
        return self.constant(expr.data)

    def _plain(self, expr: GraphString) -> V:
        return self.constant(expr.value)

    def _dtype(self, expr: DataTypeImm) -> V:
        return self.constant(TypeName(expr.value))

    def _shape(self, expr: ShapeExpr) -> V:
        sizes = [size.value for size in expr.values if isinstance(size, IntImm)]
        if len(sizes) < len(expr.values):
            raise _symbolic(expr)
        return self.constant(ShapeTuple(sizes))

    def _number(self, expr: PrimValue) -> V:
        if isinstance(expr.value, IntImm):
            return self.integer(expr.value.value)
        if isinstance(expr.value, FloatImm):
            return self.constant(expr.value.value)
        raise _symbolic(expr)

    def _function(self, expr: ExternFunc | GlobalVar) -> V:
        return self.function(self._name(expr))

    def _name(self, expr: object) -> str:
        if isinstance(expr, ExternFunc):
            return str(expr.global_symbol)
        func = self.module.functions.get(expr) if isinstance(expr, GlobalVar) else None
        return str(getattr(func, "attrs", {}).get("global_symbol", expr))

    def _tuple(self, expr: Tuple) -> V:
        return self.call("vm.builtin.make_tuple", self._all(expr.fields))

    def _item(self, expr: TupleGetItem) -> V:
        args = [self.expr(expr.tuple_value), self.integer(expr.index)]
        return self.call("vm.builtin.tuple_getitem", args)

    def _sequence(self, expr: SeqExpr) -> V:
        for block in expr.blocks:
            for binding in block.bindings:
                self.bind(binding)
        return self.expr(expr.body)

    def bind(self, binding: Binding) -> None:
        """Compute the value of a variable."""
        value = self.expr(binding.value)
        if isinstance(binding.value, GraphVar):  # the lives of both end apart
            value = self.call("vm.builtin.copy", [value])
        self.values[binding.var] = value

    def _all(self, exprs: Sequence[Any]) -> list[V]:
        return [self.expr(expr) for expr in exprs]

    # Calls

    def _call(self, call: GraphCall) -> V:
        if isinstance(call.op, Op):
            return self._operator(call)
        args = self._all(call.args)
        if isinstance(call.op, GraphVar):
            args = [self.machine, self.expr(call.op), *args]
            return self.call("vm.builtin.invoke_closure", args)
        func = self.module.functions.get(call.op) if isinstance(call.op, GlobalVar) else None
        is_void = isinstance(func, PrimFunc) and func.ret_type in ("void", "")
        return self.call(self._name(call.op), args, is_void or _is_nothing(call.struct_info_))

    def _operator(self, call: GraphCall) -> V:
        name, args = call.op.name, call.args
        if name == "relax.invoke_closure":
            function, fields = args
            operands = [self.machine, self.expr(function), *self._all(fields.fields)]
            return self.call("vm.builtin.invoke_closure", operands)
        if name == "relax.call_builtin_with_ctx":
            operands = [self.machine, *self._all(args[1].fields)]
            return self.call(self._name(args[0]), operands, _is_nothing(call.struct_info_))
        if name == "relax.make_closure":
            operands = [self._function(args[0]), *self._all(args[1].fields)]
            return self.call("vm.builtin.make_closure", operands)
        if name == "relax.vm.alloc_storage":
            return self.call("vm.builtin.alloc_storage", [self.machine, *self._all(args)])
        if name == "relax.vm.alloc_tensor":
            return self.call("vm.builtin.alloc_tensor", self._all(args))
        if name == "relax.vm.call_tir_dyn":
            operands = [self.expr(args[0]), *self._all(args[1].fields)]
            return self.call("vm.builtin.call_tir_dyn", operands, True)
        if name == "relax.vm.kill_object":
            return self.end_life(self.expr(args[0]))
        if name == "relax.null_value":
            return self.call("vm.builtin.null_value", [])
        raise _without_rule(call)

    _writers: ClassVar[dict[type, Callable[..., Any]]] = {
        GraphVar: _variable,
        DataflowVar: _variable,
        Constant: _array,
        GraphString: _plain,
        DataTypeImm: _dtype,
        ShapeExpr: _shape,
        PrimValue: _number,
        ExternFunc: _function,
        GlobalVar: _function,
        Tuple: _tuple,
        TupleGetItem: _item,
        If: lambda self, expr: self.choice(expr),
        SeqExpr: _sequence,
        GraphCall: _call,
    }


def graph_functions(module: IRModule) -> dict[str, GraphFunction]:
    """The functions of graphs of a module, by the names under which they are called."""
    return {
        str(func.attrs.get("global_symbol", name)): func
        for name, func in module.functions.items()
        if isinstance(func, GraphFunction)
    }


def _is_nothing(info: StructInfo | None) -> bool:
    return isinstance(info, TupleStructInfo) and not info.fields


def _symbolic(expr: object) -> GraphError:
    return GraphError(
        f"the sizes of {expr} are not computed",
        "they depend on variables",
        "build it with relax.build, which runs relax.transform.VMShapeLower",
    )


def _without_rule(call: GraphCall) -> GraphError:
    name, info = call.op.name, call.struct_info_
    if info is not None and call.op.get_attr("FLegalize") and not has_known_shape(info):
        return GraphError(
            f"cannot run operator {name}: the shape of its result is not known",
            f"it is called with {', '.join(str(arg.struct_info_) for arg in call.args)}",
            "say what it is before: R.match_cast(value, R.Tensor((n, m), dtype))",
        )
    return GraphError(
        f"cannot run operator {name}",
        "no pass of the pipeline lowers it",
        "give it a rule for relax.transform.LegalizeOps, or use a pipeline that lowers it",
    )
