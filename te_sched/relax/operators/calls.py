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
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Argument, Arguments, Value
from te_sched.relax.operators.registry import LowerCall, declare
from te_sched.relax.operators.sizes import given_sizes
from te_sched.relax.struct_info import BaseCheckResult, derive_call, struct_info_base_check
from te_sched.signatures import is_sequence

# Functions of loops, and others that write their results


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
    operands = _with_sizes([gvar, _tuple(args)], tir_vars)
    infos = _results("call_tir_with_grad", out_sinfo, {})
    return GraphCall(Op.get("relax.call_tir_with_grad"), operands, attrs, infos)


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


def _infer_given(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    if len(call.sinfo_args) != 1:
        raise GraphError(f"{call.op} has no out_sinfo", "", "give the struct info of the result")
    return call.sinfo_args[0]


declare("relax.call_tir", _infer_given)
declare("relax.call_tir_with_grad", _infer_given)
declare("relax.call_dps_packed", _infer_given, calls_program=True)


def call_tir_inplace(
    gvar: GlobalVar, args: Arguments, inplace_indices: Any, out_sinfo: Any, tir_vars: Any = None
) -> GraphCall:
    """`call_tir` of a function that writes its results into some of its inputs.

    `inplace_indices` has the number of the input for each result; -1 for a new array.
    """
    operands = _with_sizes([gvar, _tuple(args)], tir_vars)
    infos = _results("call_tir_inplace", out_sinfo, {})
    attrs = OpAttrs(inplace_indices=list(given_sizes(inplace_indices, "inplace_indices")))
    return GraphCall(Op.get("relax.call_tir_inplace"), operands, attrs, infos)


def _infer_inplace(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = _infer_given(call, builder)
    results = info.fields if isinstance(info, TupleStructInfo) else (info,)
    places = call.attrs.inplace_indices
    args = call.args[1]
    fields = args.fields if isinstance(args, Tuple) else ()
    used = [index for index in places if index >= 0]
    if len(places) != len(results) or len(set(used)) < len(used) or not used:
        raise GraphError(
            f"{call.op} has {len(results)} results and inplace_indices {list(places)}",
            "each result is an input of its own, or -1 for a new array; at least one is an input",
            "give the number of the input for each result",
        )
    for index, result in zip(places, results, strict=True):
        if index < 0:
            continue
        if index >= len(fields):
            raise GraphError(
                f"{call.op} has no argument {index}",
                f"there are {len(fields)}",
                "give the number of a tensor among the arguments",
            )
        arg_info = fields[index].struct_info
        check = struct_info_base_check(result, arg_info, builder.analyzer)
        if not isinstance(arg_info, TensorStructInfo) or check is BaseCheckResult.FAIL_L0:
            raise GraphError(
                f"argument {index} of {call.op} is {arg_info}, and its result {result}",
                "the result has the memory of the argument",
                "give a tensor of the same shape and dtype",
            )
    return info


declare("relax.call_tir_inplace", _infer_inplace)


# Functions that return their results


def call_packed(func: Any, *args: Argument, sinfo_args: Any = None, **attrs: Any) -> GraphCall:
    """A call of a registered function that may have effects."""
    operands = tuple([_argument(arg) for arg in args])
    return GraphCall(_function(func), operands, attrs or None, _infos(sinfo_args))


def call_pure_packed(func: Any, *args: Argument, sinfo_args: Any = None) -> GraphCall:
    """A call of a registered function that has no effects."""
    operands = (_function(func), *[_argument(arg) for arg in args])
    return GraphCall(Op.get("relax.call_pure_packed"), operands, None, _infos(sinfo_args))


def call_inplace_packed(
    func: Any, *args: Argument, inplace_indices: Any, sinfo_args: Any = None
) -> GraphCall:
    """A call of a registered function that returns some of its arguments, which it changed.

    `inplace_indices` has the number of the argument for each result; -1 for a new value.
    """
    operands = (_function(func), *[_argument(arg) for arg in args])
    attrs = OpAttrs(inplace_indices=list(given_sizes(inplace_indices, "inplace_indices")))
    return GraphCall(Op.get("relax.call_inplace_packed"), operands, attrs, _infos(sinfo_args))


def _infer_packed(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    if not call.args:
        raise GraphError(f"{call.op} has no function", "", "give the name of one")
    function, *args = call.args
    info = getattr(function, "struct_info_", None) or ObjectStructInfo()
    if call.attrs and "inplace_indices" in call.attrs and not call.sinfo_args:
        places = call.attrs["inplace_indices"]
        infos = [args[index].struct_info for index in places if index >= 0]
        return infos[0] if len(infos) == 1 else TupleStructInfo(tuple(infos))
    return derive_call(GraphCall(function, tuple(args), None, call.sinfo_args), info, builder)


declare("relax.call_pure_packed", _infer_packed, calls_program=True)
declare("relax.call_inplace_packed", _infer_packed, calls_program=True)


def machine_call(name: str) -> LowerCall:
    """What lowers calls of an operator to those of a function of the virtual machine."""
    return lambda call: call_packed(name, *call.args, sinfo_args=call.struct_info)


# Closures


def make_closure(func: Any, args: Arguments) -> GraphCall:
    """A function with its first arguments."""
    return GraphCall(Op.get("relax.make_closure"), (func, _tuple(args)))


def _lower_make_closure(call: GraphCall) -> GraphCall:
    function, args = call.args
    operands = [function, *args.fields]
    return call_packed("vm.builtin.make_closure", *operands, sinfo_args=ObjectStructInfo())


def invoke_closure(closure: Value, args: Arguments, sinfo_args: Any = None) -> GraphCall:
    """A call of a closure with the other arguments."""
    operands = (closure, _tuple(args))
    return GraphCall(Op.get("relax.invoke_closure"), operands, None, _infos(sinfo_args))


def _lower_invoke_closure(call: GraphCall) -> GraphCall:
    function, args = call.args
    infos = call.sinfo_args or (call.struct_info,)
    return call_builtin_with_ctx(
        "vm.builtin.invoke_closure", [function, *args.fields], sinfo_args=infos
    )


def invoke_pure_closure(closure: Value, args: Arguments, sinfo_args: Any = None) -> GraphCall:
    """`invoke_closure` of a function that has no effects."""
    operands = (closure, _tuple(args))
    return GraphCall(Op.get("relax.invoke_pure_closure"), operands, None, _infos(sinfo_args))


def call_builtin_with_ctx(func: Any, args: Arguments, *, sinfo_args: Any = None) -> GraphCall:
    """A call of a function of the virtual machine, which is given the machine first."""
    operands = (_function(func), _tuple(args))
    return GraphCall(Op.get("relax.call_builtin_with_ctx"), operands, None, _infos(sinfo_args))


def _infer_of_arguments(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    infos = call.sinfo_args
    if not infos:
        return ObjectStructInfo()
    return infos[0] if len(infos) == 1 else TupleStructInfo(tuple(infos))


def null_value() -> GraphCall:
    """A value that is None."""
    return GraphCall(Op.get("relax.null_value"), ())


def _infer_object(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return ObjectStructInfo()


declare("relax.make_closure", _infer_object, lower=_lower_make_closure)
declare("relax.invoke_closure", _infer_of_arguments, is_pure=False, lower=_lower_invoke_closure)
declare("relax.invoke_pure_closure", _infer_of_arguments, calls_program=True)
declare("relax.call_builtin_with_ctx", _infer_of_arguments, is_pure=False)
declare("relax.null_value", _infer_object)


# Arguments


def _function(func: Any) -> Any:
    return ExternFunc(func) if isinstance(func, str) and not isinstance(func, GlobalVar) else func


def _argument(value: Any) -> Any:
    is_shape = isinstance(value, ShapeExpr)
    return value if is_shape or isinstance(value, GraphExpr) else as_expr(value)


def _tuple(args: Any) -> Any:
    """The arguments as a tuple; a variable that is a tuple stays."""
    if isinstance(args, GraphExpr):
        is_tuple = isinstance(args.struct_info_, TupleStructInfo) or isinstance(args, Tuple)
        return args if is_tuple else Tuple((args,))
    if isinstance(args, ShapeExpr):
        return Tuple((args,))
    return as_expr(tuple(args) if is_sequence(args) else (args,))


def _with_sizes(operands: list[Any], tir_vars: Any) -> tuple[Any, ...]:
    if tir_vars is None:
        return tuple(operands)
    sizes = tir_vars if isinstance(tir_vars, ShapeExpr) else ShapeExpr(tir_vars)
    return (*operands, sizes)


def _infos(sinfo_args: Any) -> tuple[StructInfo, ...]:
    if sinfo_args is None:
        return ()
    return tuple(
        [as_struct_info(info) for info in (sinfo_args if is_sequence(sinfo_args) else [sinfo_args])]
    )


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
        infos = [_tensor(name, as_struct_info(info)) for info in out_sinfo]
        return (infos[0] if len(infos) == 1 else TupleStructInfo(tuple(infos)),)
    return (_tensor(name, as_struct_info(out_sinfo)),)


def _older_result(shape: Any, dtype: Any) -> StructInfo:
    if is_sequence(shape) and shape and is_sequence(shape[0]):
        kinds = dtype if is_sequence(dtype) else [dtype] * len(shape)
        pairs = zip(shape, kinds, strict=True)
        return TupleStructInfo(tuple([TensorStructInfo(shape, kind) for shape, kind in pairs]))
    return TensorStructInfo(shape, dtype)


def _tensor(name: str, info: StructInfo) -> StructInfo:
    if isinstance(info, TensorStructInfo | TupleStructInfo):
        return info
    raise GraphError(
        f"the result of {name} is {info}",
        "the function writes arrays",
        'give the struct infos of tensors: R.Tensor((4, 3), "float32")',
    )
