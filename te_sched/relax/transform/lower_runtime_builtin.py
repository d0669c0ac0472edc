"""LowerRuntimeBuiltin: operators of memory, shapes and closures become those of the machine.

TVM 0.19 also calls it VMBuiltinLower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.errors import GraphError
from te_sched.ir.graph import DataTypeImm, ExternFunc, GraphCall, GraphFunction
from te_sched.ir.op import Op
from te_sched.ir.struct_info import FuncStructInfo, ObjectStructInfo, TupleStructInfo, VDevice
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.op import vm
from te_sched.relax.op.calls import call_builtin_with_ctx, call_packed
from te_sched.relax.op.common import as_number
from te_sched.relax.op.memory import DERIVES_VIEW
from te_sched.relax.transform.base import FunctionPass
from te_sched.runtime.device import device


class LowerRuntimeBuiltin(FunctionPass):
    """The pass that replaces operators by those of the virtual machine.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> function = relax.Function([x], relax.op.shape_of(x))
    >>> new = LowerRuntimeBuiltin()(IRModule({"main": function}))["main"]
    >>> new.body.blocks[0].bindings[0].value.op.global_symbol
    'vm.builtin.shape_of'
    """

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        new: GraphFunction = _Lowered().visit_expr(func)
        return new


VMBuiltinLower = LowerRuntimeBuiltin


class _Lowered(PyExprMutator):
    def visit_call_(self, op: GraphCall) -> Any:
        """The call of the machine."""
        call = self.visit_expr_post_order(op)
        rule = _RULES.get(call.op) if isinstance(call.op, Op) else None
        return call if rule is None else rule(call)


def _storage(call: GraphCall) -> GraphCall:
    size, device, scope, _ = call.args
    return vm.alloc_storage(size, device, "uint8", scope)  # the size is in bytes


def _builtin(name: str) -> Callable[[GraphCall], GraphCall]:
    return lambda call: call_packed(name, *call.args, sinfo_args=call.struct_info)


def _view(call: GraphCall) -> GraphCall:
    info = FuncStructInfo.opaque_func(derive_func=DERIVES_VIEW, purity=True)
    data, *given = call.args
    known = data.struct_info
    defaults = (known.shape, DataTypeImm(known.dtype) if known.dtype else None, as_number(0))
    args = [
        one if default is None or not _is_omitted(one) else default
        for one, default in zip(given, defaults, strict=True)
    ]
    return GraphCall(ExternFunc("runtime.TVMArrayCreateView", info), (data, *args))


def _is_omitted(value: Any) -> bool:
    info = value.struct_info
    return isinstance(info, TupleStructInfo) and not info.fields


def _refuse(call: GraphCall) -> GraphCall:
    raise GraphError(
        f"{call.op} is left in the graph",
        "it is lowered to a storage and a tensor in it before",
        "run relax.transform.LowerAllocTensor first",
    )


def _to_device(call: GraphCall) -> GraphCall:
    given = call.attrs.dst_vdevice
    where = device(given.kind, max(given.vdevice_id, 0)) if isinstance(given, VDevice) else given
    numbers = [as_number(where.device_type), as_number(where.device_id)]
    return call_packed("vm.builtin.to_device", call.args[0], *numbers, sinfo_args=call.struct_info)


def _make_closure(call: GraphCall) -> GraphCall:
    function, args = call.args
    given = [function, *args.fields]
    return call_packed("vm.builtin.make_closure", *given, sinfo_args=ObjectStructInfo())


def _invoke_closure(call: GraphCall) -> GraphCall:
    function, args = call.args
    infos = call.sinfo_args or (call.struct_info,)
    return call_builtin_with_ctx(
        "vm.builtin.invoke_closure", [function, *args.fields], sinfo_args=infos
    )


def _call_dyn(call: GraphCall) -> GraphCall:
    function, args = call.args
    nothing = TupleStructInfo(())
    return call_packed("vm.builtin.call_tir_dyn", function, *args.fields, sinfo_args=nothing)


_RULES: dict[str, Callable[[GraphCall], GraphCall]] = {
    "relax.memory.alloc_storage": _storage,
    "relax.memory.alloc_tensor": lambda call: vm.alloc_tensor(*call.args),
    "relax.memory.kill_storage": lambda call: vm.kill_object(call.args[0]),
    "relax.memory.kill_tensor": lambda call: vm.kill_object(call.args[0]),
    "relax.builtin.alloc_tensor": _refuse,
    "relax.reshape": _builtin("vm.builtin.reshape"),
    "relax.shape_of": _builtin("vm.builtin.shape_of"),
    "relax.tensor_to_shape": _builtin("vm.builtin.tensor_to_shape"),
    "relax.shape_to_tensor": _builtin("vm.builtin.shape_to_tensor"),
    "relax.memory.ensure_zero_offset": _builtin("vm.builtin.ensure_zero_offset"),
    "relax.memory.view": _view,
    "relax.to_vdevice": _to_device,
    "relax.make_closure": _make_closure,
    "relax.invoke_closure": _invoke_closure,
    "relax.vm.call_tir_dyn": _call_dyn,
}
