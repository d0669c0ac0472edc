"""Calls of functions: `call_tir`, `call_dps_packed`, `call_pure_packed` and their like.

    call_tir(gvar, args, out_sinfo)     a function of loops, which writes new arrays
    call_dps_packed(name, args, ...)    the same of a registered function
    call_pure_packed(name, *args, ...)  a registered function that returns its result

A name that `call_dps_packed` is given may be that of a function of loops in the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from te_sched.errors import GraphError
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import (
    ExternFunc,
    GraphCall,
    GraphExpr,
    OpAttrs,
    Tuple,
    as_expr,
    as_struct_info,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.struct_info import (
    ObjectStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    VDevice,
)
from te_sched.relax.op.arguments import Argument, Arguments, Value
from te_sched.relax.op.common import argument_error, tensor_of
from te_sched.relax.op.common import shape_of as known_shape
from te_sched.relax.op.sizes import given_sizes
from te_sched.relax.operators import register_operator
from te_sched.relax.struct_info import BaseCheckResult, derive_call, struct_info_base_check
from te_sched.runtime.device import Device, device
from te_sched.signatures import is_sequence


def call_tir(
    gvar: GlobalVar, args: Arguments, out_sinfo: Any = None, tir_vars: Any = None, **older: Any
) -> GraphCall:
    """A call of a function of loops with new arrays for its results, which are its value.

    Parameters
    ----------
    gvar : the name of the function in the module.
    args : its inputs: a tensor, or a list of them.
    out_sinfo : the struct infos of its results: one, or a list of them.
    tir_vars : the values of parameters that are numbers.
    older : `shape` and `dtype` in place of `out_sinfo`, as programs of 2022 write.
    """
    infos = _results("call_tir", out_sinfo, older)
    return GraphCall(
        Op.get("relax.call_tir"), _with_sizes([gvar, _tuple(args)], tir_vars), None, infos
    )


def call_tir_with_grad(
    gvar: GlobalVar,
    args: Arguments,
    out_sinfo: Any,
    te_grad_name: str,
    te_grad_kwargs: Mapping[str, Any] | None = None,
    tir_vars: Any = None,
) -> GraphCall:
    """`call_tir` of a function whose gradient is a registered function of tensor expressions."""
    attrs = OpAttrs(te_grad_name=te_grad_name, te_grad_kwargs=dict(te_grad_kwargs or {}))
    given = _with_sizes([gvar, _tuple(args)], tir_vars)
    infos = _results("call_tir_with_grad", out_sinfo, {})
    return GraphCall(Op.get("relax.call_tir_with_grad"), given, attrs, infos)


def call_tir_inplace(
    gvar: GlobalVar, args: Arguments, inplace_indices: Any, out_sinfo: Any, tir_vars: Any = None
) -> GraphCall:
    """`call_tir` of a function that writes its results into some of its inputs.

    `inplace_indices` has the number of the input for each result; -1 for a new array.
    """
    given = _with_sizes([gvar, _tuple(args)], tir_vars)
    infos = _results("call_tir_inplace", out_sinfo, {})
    attrs = OpAttrs(inplace_indices=list(given_sizes(inplace_indices, "inplace_indices")))
    return GraphCall(Op.get("relax.call_tir_inplace"), given, attrs, infos)


def call_dps_packed(func: Any, args: Arguments, out_sinfo: Any = None, **older: Any) -> GraphCall:
    """A call of a registered function that is given arrays for its results.

    Parameters
    ----------
    func : its name; a function of loops in the module with this name comes first.
    args : its inputs: a value, or a list of them.
    out_sinfo : the struct infos of its results: one, or a list of them.
    older : `shape` and `dtype` in place of `out_sinfo`, as programs of 2022 write.
    """
    infos = _results("call_dps_packed", out_sinfo, older)
    return GraphCall(Op.get("relax.call_dps_packed"), (_function(func), _tuple(args)), None, infos)


def call_packed(func: Any, *args: Argument, sinfo_args: Any = None, **attrs: Any) -> GraphCall:
    """A call of a registered function that may have effects."""
    given = tuple([_argument(one) for one in args])
    return GraphCall(_function(func), given, attrs or None, _infos(sinfo_args))


def call_pure_packed(func: Any, *args: Argument, sinfo_args: Any = None) -> GraphCall:
    """A call of a registered function that has no effects."""
    given = (_function(func), *[_argument(one) for one in args])
    return GraphCall(Op.get("relax.call_pure_packed"), given, None, _infos(sinfo_args))


def call_inplace_packed(
    func: Any, *args: Argument, inplace_indices: Any, sinfo_args: Any = None
) -> GraphCall:
    """A call of a registered function that returns some of its arguments, which it changed.

    `inplace_indices` has the number of the argument for each result; -1 for a new value.
    """
    given = (_function(func), *[_argument(one) for one in args])
    attrs = OpAttrs(inplace_indices=list(given_sizes(inplace_indices, "inplace_indices")))
    return GraphCall(Op.get("relax.call_inplace_packed"), given, attrs, _infos(sinfo_args))


def call_builtin_with_ctx(func: Any, args: Arguments, *, sinfo_args: Any = None) -> GraphCall:
    """A call of a function of the virtual machine, which is given the machine first."""
    given = (_function(func), _tuple(args))
    return GraphCall(Op.get("relax.call_builtin_with_ctx"), given, None, _infos(sinfo_args))


def make_closure(func: Any, args: Arguments) -> GraphCall:
    """A function with its first arguments."""
    return GraphCall(Op.get("relax.make_closure"), (func, _tuple(args)))


def invoke_closure(closure: Value, args: Arguments, sinfo_args: Any = None) -> GraphCall:
    """A call of a closure with the other arguments."""
    given = (closure, _tuple(args))
    return GraphCall(Op.get("relax.invoke_closure"), given, None, _infos(sinfo_args))


def invoke_pure_closure(closure: Value, args: Arguments, sinfo_args: Any = None) -> GraphCall:
    """`invoke_closure` of a function that has no effects."""
    given = (closure, _tuple(args))
    return GraphCall(Op.get("relax.invoke_pure_closure"), given, None, _infos(sinfo_args))


def null_value() -> GraphCall:
    """A value that is None."""
    return GraphCall(Op.get("relax.null_value"), ())


def shape_of(expr: Value) -> GraphCall:
    """The shape of a tensor."""
    return GraphCall(Op.get("relax.shape_of"), (expr,))


def tensor_to_shape(expr: Value) -> GraphCall:
    """A tensor of int64 with one dimension as a shape."""
    return GraphCall(Op.get("relax.tensor_to_shape"), (expr,))


def shape_to_tensor(expr: Value) -> GraphCall:
    """A shape as a tensor of int64 with one dimension."""
    return GraphCall(Op.get("relax.shape_to_tensor"), (_argument(expr),))


def to_vdevice(data: Value, dst_vdevice: Any) -> GraphCall:
    """A tensor on another device."""
    attrs = OpAttrs(dst_vdevice=dst_vdevice)
    return GraphCall(Op.get("relax.to_vdevice"), (data,), attrs)


def hint_on_device(data: Value, dst_vdevice: Any) -> GraphCall:
    """A tensor that is meant to be on a device: one of `te_sched.device`, or of a module."""
    where = dst_vdevice
    if isinstance(dst_vdevice, VDevice):
        where = device(dst_vdevice.kind, max(dst_vdevice.vdevice_id, 0))
    elif not isinstance(dst_vdevice, Device):
        where = device(dst_vdevice)
    attrs = OpAttrs(dev_type=where.device_type, dev_id=where.device_id)
    return GraphCall(Op.get("relax.hint_on_device"), (data,), attrs)


# Arguments


def _function(func: Any) -> Any:
    return ExternFunc(func) if isinstance(func, str) and not isinstance(func, GlobalVar) else func


def _argument(given: Any) -> Any:
    is_shape = isinstance(given, ShapeExpr)
    return given if is_shape or isinstance(given, GraphExpr) else as_expr(given)


def _tuple(given: Any) -> Any:
    """The arguments as a tuple; a variable that is a tuple stays."""
    if isinstance(given, GraphExpr):
        is_tuple = isinstance(given.struct_info_, TupleStructInfo) or isinstance(given, Tuple)
        return given if is_tuple else Tuple((given,))
    if isinstance(given, ShapeExpr):
        return Tuple((given,))
    return as_expr(tuple(given) if is_sequence(given) else (given,))


def _with_sizes(given: list[Any], tir_vars: Any) -> tuple[Any, ...]:
    if tir_vars is None:
        return tuple(given)
    sizes = tir_vars if isinstance(tir_vars, ShapeExpr) else ShapeExpr(tir_vars)
    return (*given, sizes)


def _infos(given: Any) -> tuple[StructInfo, ...]:
    if given is None:
        return ()
    return tuple([as_struct_info(one) for one in (given if is_sequence(given) else [given])])


def _results(name: str, out_sinfo: Any, older: Mapping[str, Any]) -> tuple[StructInfo, ...]:
    """The struct info of the results, as the one that calls have."""
    unknown = older.keys() - {"shape", "dtype", "output_shape"}
    shape = older.get("shape", older.get("output_shape"))
    if unknown or (out_sinfo is None and shape is None):
        raise GraphError(
            f"{name} has no out_sinfo" if not unknown else f"{name} takes no {min(unknown)}",
            "",
            'give the struct info of the result: out_sinfo=R.Tensor((4, 3), "float32")',
        )
    if "dtype" in older and shape is None:  # call_tir(f, args, shape, dtype=...)
        out_sinfo, shape = None, out_sinfo
    if shape is not None:
        return (_older_result(shape, older.get("dtype", "float32")),)
    if is_sequence(out_sinfo):
        infos = [_tensor(name, as_struct_info(one)) for one in out_sinfo]
        return (infos[0] if len(infos) == 1 else TupleStructInfo(tuple(infos)),)
    return (_tensor(name, as_struct_info(out_sinfo)),)


def _older_result(shape: Any, dtype: Any) -> StructInfo:
    if is_sequence(shape) and shape and is_sequence(shape[0]):
        kinds = dtype if is_sequence(dtype) else [dtype] * len(shape)
        pairs = zip(shape, kinds, strict=True)
        return TupleStructInfo(tuple([TensorStructInfo(one, kind) for one, kind in pairs]))
    return TensorStructInfo(shape, dtype)


def _tensor(name: str, info: StructInfo) -> StructInfo:
    if isinstance(info, TensorStructInfo | TupleStructInfo):
        return info
    raise GraphError(
        f"the result of {name} is {info}",
        "the function writes arrays",
        'give the struct infos of tensors: R.Tensor((4, 3), "float32")',
    )


# Inference


@register_operator("relax.call_tir_inplace")
def _infer_inplace(call: GraphCall, builder: Any) -> StructInfo:
    info = _infer_given(call)
    results = info.fields if isinstance(info, TupleStructInfo) else (info,)
    places = call.attrs.inplace_indices
    args = call.args[1]
    fields = args.fields if isinstance(args, Tuple) else ()
    used = [one for one in places if one >= 0]
    if len(places) != len(results) or len(set(used)) < len(used) or not used:
        raise GraphError(
            f"{call.op} has {len(results)} results and inplace_indices {list(places)}",
            "each result is an input of its own, or -1 for a new array; at least one is an input",
            "give the number of the input for each result",
        )
    for place, result in zip(places, results, strict=True):
        if place < 0:
            continue
        if place >= len(fields):
            raise GraphError(
                f"{call.op} has no argument {place}",
                f"there are {len(fields)}",
                "give the number of a tensor among the arguments",
            )
        known = fields[place].struct_info
        found = struct_info_base_check(result, known, builder.analyzer)
        if not isinstance(known, TensorStructInfo) or found is BaseCheckResult.FAIL_L0:
            raise GraphError(
                f"argument {place} of {call.op} is {known}, and its result {result}",
                "the result has the memory of the argument",
                "give a tensor of the same shape and dtype",
            )
    return info


@register_operator("relax.call_tir")
@register_operator("relax.call_tir_with_grad")
@register_operator("relax.call_dps_packed", FCallsProgram=True)
def _infer_given(call: GraphCall) -> StructInfo:
    if len(call.sinfo_args) != 1:
        raise GraphError(f"{call.op} has no out_sinfo", "", "give the struct info of the result")
    return call.sinfo_args[0]


@register_operator("relax.call_pure_packed", FCallsProgram=True)
@register_operator("relax.call_inplace_packed", FCallsProgram=True)
def _infer_packed(call: GraphCall, builder: Any) -> StructInfo:
    if not call.args:
        raise GraphError(f"{call.op} has no function", "", "give the name of one")
    function, *args = call.args
    known = getattr(function, "struct_info_", None) or ObjectStructInfo()
    if call.attrs and "inplace_indices" in call.attrs and not call.sinfo_args:
        places = call.attrs["inplace_indices"]
        infos = [args[one].struct_info for one in places if one >= 0]
        return infos[0] if len(infos) == 1 else TupleStructInfo(tuple(infos))
    return derive_call(GraphCall(function, tuple(args), None, call.sinfo_args), known, builder)


@register_operator("relax.call_builtin_with_ctx", is_pure=False)
@register_operator("relax.invoke_closure", is_pure=False)
@register_operator("relax.invoke_pure_closure", FCallsProgram=True)
def _infer_of_arguments(call: GraphCall) -> StructInfo:
    infos = call.sinfo_args
    if not infos:
        return ObjectStructInfo()
    return infos[0] if len(infos) == 1 else TupleStructInfo(tuple(infos))


@register_operator("relax.make_closure")
@register_operator("relax.null_value")
def _infer_object(_: GraphCall) -> StructInfo:
    return ObjectStructInfo()


@register_operator("relax.shape_of")
def _infer_shape_of(call: GraphCall) -> StructInfo:
    info = tensor_of(call, 0)
    return ShapeStructInfo(known_shape(info), info.ndim)


@register_operator("relax.tensor_to_shape")
def _infer_tensor_to_shape(call: GraphCall) -> StructInfo:
    info = tensor_of(call, 0)
    if info.ndim not in (-1, 1) or info.dtype not in ("", "int64"):
        raise argument_error(call, 0, "a tensor of int64 with one dimension")
    sizes = known_shape(info)
    is_known = sizes is not None and isinstance(sizes[0], IntImm)
    return ShapeStructInfo(None, sizes[0].value if is_known and sizes is not None else -1)


@register_operator("relax.shape_to_tensor", FCallPacked="relax.run.shape_to_tensor")
def _infer_shape_to_tensor(call: GraphCall) -> StructInfo:
    info = call.args[0].struct_info
    if not isinstance(info, ShapeStructInfo):
        raise argument_error(call, 0, "a shape")
    if info.ndim == -1:
        return TensorStructInfo(None, "int64", None, 1)
    return TensorStructInfo([info.ndim], "int64")


@register_operator("relax.hint_on_device")
def _infer_hint(call: GraphCall) -> StructInfo:
    return tensor_of(call, 0)


@register_operator("relax.to_vdevice")
def _infer_to_vdevice(call: GraphCall) -> StructInfo:
    info = tensor_of(call, 0)
    return TensorStructInfo(info.shape, info.dtype, call.attrs.dst_vdevice, info.ndim)
