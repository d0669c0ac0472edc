"""Instructions of graph functions that the passes of the build pipeline have lowered.

What is left there are calls of functions by name, of operators of the machine (`relax.op.vm`),
tuples and conditions. Must not know how instructions are run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.errors import GraphError, repr_of
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.ir.graph import (
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    GraphCall,
    GraphFunction,
    GraphString,
    GraphVar,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import ShapeExpr, TupleStructInfo
from te_sched.relax.transform.legalize_ops.legalizer import has_known_shape
from te_sched.relax.vm.bytecode import MACHINE, VOID, ShapeTuple, TypeName, VmOperand
from te_sched.relax.vm.exec_builder import ExecBuilder


def write_functions(builder: ExecBuilder, module: IRModule) -> IRModule:
    """Write the graph functions of a module; the module of the others."""
    rest: dict[str, Any] = {}
    for name, func in module.functions.items():
        if isinstance(func, GraphFunction):
            _InstructionWriter(builder, module).function(
                str(func.attrs.get("global_symbol", name)), func
            )
        else:
            rest[name] = func
    return module.with_exactly(rest)


class _InstructionWriter:
    def __init__(self, builder: ExecBuilder, module: IRModule) -> None:
        self.builder, self.module = builder, module
        self.values: dict[GraphVar, VmOperand] = {}
        self.registers = 0

    def function(self, name: str, func: GraphFunction) -> None:
        """Write a function."""
        names = [one.name_hint for one in func.params]
        with self.builder.function(name, len(names), names):
            for var in func.params:
                self.values[var] = self._register()
            self.builder.emit_ret(self._in_register(self.expr(func.body)))

    def _register(self) -> VmOperand:
        self.registers += 1
        return VmOperand("r", self.registers - 1)

    def _in_register(self, operand: VmOperand) -> VmOperand:
        if operand.kind == "r" and operand != VOID:
            return operand
        dst = self._register()
        if operand == VOID:
            self.builder.emit_call("vm.builtin.make_tuple", [], dst)
        else:
            self.builder.emit_call("vm.builtin.copy", [operand], dst)
        return dst

    def expr(self, expr: Any) -> VmOperand:
        """The operand that has the value of an expression."""
        writer = _WRITERS.get(type(expr))
        if writer is None:
            raise GraphError(
                f"cannot run {repr_of(expr)}",
                "functions inside of functions are lifted before",
                "build it with relax.build, which runs the passes",
            )
        return writer(self, expr)

    def _variable(self, var: GraphVar) -> VmOperand:
        if var not in self.values:
            raise GraphError(
                f"variable {var.name_hint} is used where it is not defined",
                "",
                "define it in the function, before its use",
            )
        return self.values[var]

    def _shape(self, expr: ShapeExpr) -> VmOperand:
        sizes = [one.value for one in expr.values if isinstance(one, IntImm)]
        if len(sizes) < len(expr.values):
            raise _symbolic(expr)
        return self.builder.convert_constant(ShapeTuple(sizes))

    def _number(self, expr: PrimValue) -> VmOperand:
        if isinstance(expr.value, IntImm):
            return self.builder.imm(expr.value.value)
        if isinstance(expr.value, FloatImm):
            return self.builder.convert_constant(expr.value.value)
        raise _symbolic(expr)

    def _function(self, expr: Any) -> VmOperand:
        return self.builder.f(self._name(expr))

    def _name(self, expr: Any) -> str:
        if isinstance(expr, ExternFunc):
            return expr.global_symbol
        func = self.module.functions.get(expr)
        return str(getattr(func, "attrs", {}).get("global_symbol", expr))

    def _tuple(self, expr: Tuple) -> VmOperand:
        dst = self._register()
        args = [self.expr(one) for one in expr.fields]
        self.builder.emit_call("vm.builtin.make_tuple", args, dst)
        return dst

    def _item(self, expr: TupleGetItem) -> VmOperand:
        value = self.expr(expr.tuple_value)
        dst = self._register()
        self.builder.emit_call(
            "vm.builtin.tuple_getitem", [value, self.builder.imm(expr.index)], dst
        )
        return dst

    def _if(self, expr: If) -> VmOperand:
        cond = self._in_register(self.expr(expr.cond))
        branch = self.builder.emit_if(cond, 0)
        dst = self._register()
        self.builder.emit_call("vm.builtin.copy", [self.expr(expr.true_branch)], dst)
        jump = self.builder.emit_goto(0)
        self.builder.patch(branch)
        self.builder.emit_call("vm.builtin.copy", [self.expr(expr.false_branch)], dst)
        self.builder.patch(jump)
        return dst

    def _sequence(self, expr: SeqExpr) -> VmOperand:
        for block in expr.blocks:
            for binding in block.bindings:
                if not isinstance(binding, VarBinding | MatchCast):
                    continue
                value = self.expr(binding.value)
                if isinstance(binding.value, GraphVar):  # the lives of both end apart
                    value = self._emit("vm.builtin.copy", [value])
                self.values[binding.var] = value
        return self.expr(expr.body)

    def _call(self, call: GraphCall) -> VmOperand:
        if isinstance(call.op, Op):
            return self._operator(call)
        known = call.struct_info_
        is_void = isinstance(known, TupleStructInfo) and not known.fields
        args = [self.expr(one) for one in call.args]
        if isinstance(call.op, GraphVar):
            return self._emit("vm.builtin.invoke_closure", [MACHINE, self.expr(call.op), *args])
        func = self.module.functions.get(call.op) if isinstance(call.op, GlobalVar) else None
        is_void |= isinstance(func, PrimFunc) and func.ret_type in ("void", "")
        return self._emit(self._name(call.op), args, is_void)

    def _operator(self, call: GraphCall) -> VmOperand:
        name, args = call.op.name, call.args
        if name in ("relax.call_builtin_with_ctx", "relax.invoke_closure"):
            function, given = args
            fields = [self.expr(one) for one in given.fields]
            if name == "relax.invoke_closure":
                target = self.expr(function)
                return self._emit("vm.builtin.invoke_closure", [MACHINE, target, *fields])
            known = call.struct_info_
            is_void = isinstance(known, TupleStructInfo) and not known.fields
            return self._emit(self._name(function), [MACHINE, *fields], is_void)
        if name == "relax.make_closure":
            fields = [self.expr(one) for one in args[1].fields]
            return self._emit("vm.builtin.make_closure", [self._function(args[0]), *fields])
        if name == "relax.vm.alloc_storage":
            given = [MACHINE, *[self.expr(one) for one in args]]
            return self._emit("vm.builtin.alloc_storage", given)
        if name == "relax.vm.alloc_tensor":
            return self._emit("vm.builtin.alloc_tensor", [self.expr(one) for one in args])
        if name == "relax.vm.call_tir_dyn":
            fields = [self.expr(one) for one in args[1].fields]
            return self._emit("vm.builtin.call_tir_dyn", [self.expr(args[0]), *fields], True)
        if name == "relax.vm.kill_object":
            held = self.expr(args[0])
            if held.kind == "r":  # the executable keeps constants
                self.builder.emit_call("vm.builtin.null_value", [], held)
            return VOID
        if name == "relax.null_value":
            return self._emit("vm.builtin.null_value", [])
        known = call.struct_info_
        if known is not None and call.op.get_attr("FLegalize") and not has_known_shape(known):
            raise GraphError(
                f"cannot run operator {name}: the shape of its result is not known",
                f"it is called with {', '.join(str(one.struct_info_) for one in args)}",
                "say what it is before: R.match_cast(value, R.Tensor((n, m), dtype))",
            )
        raise GraphError(
            f"cannot run operator {name}",
            "no pass of the pipeline lowers it",
            "give it a rule for relax.transform.LegalizeOps, or use a pipeline that lowers it",
        )

    def _emit(self, name: str, args: list[VmOperand], is_void: bool = False) -> VmOperand:
        dst = VOID if is_void else self._register()
        self.builder.emit_call(name, args, dst)
        return dst


def _symbolic(expr: Any) -> GraphError:
    return GraphError(
        f"the sizes of {expr} are not computed",
        "they depend on variables",
        "build it with relax.build, which runs relax.transform.VMShapeLower",
    )


_WRITERS: dict[type, Callable[[_InstructionWriter, Any], VmOperand]] = {
    GraphVar: _InstructionWriter._variable,
    DataflowVar: _InstructionWriter._variable,
    Constant: lambda self, expr: self.builder.convert_constant(expr.data),
    GraphString: lambda self, expr: self.builder.convert_constant(expr.value),
    DataTypeImm: lambda self, expr: self.builder.convert_constant(TypeName(expr.value)),
    ShapeExpr: _InstructionWriter._shape,
    PrimValue: _InstructionWriter._number,
    ExternFunc: _InstructionWriter._function,
    GlobalVar: _InstructionWriter._function,
    Tuple: _InstructionWriter._tuple,
    TupleGetItem: _InstructionWriter._item,
    If: _InstructionWriter._if,
    SeqExpr: _InstructionWriter._sequence,
    GraphCall: _InstructionWriter._call,
}
