"""What calls of functions give, from what is known of their arguments.

Whether an argument fits a parameter, the values of the variables in the sizes of parameters, and
the struct info of the result. Must not know operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, Protocol

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.arith.analyzer import Analyzer
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import GraphError, counted, kind_of, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import ExternFunc, GraphCall, GraphExpr
from te_sched.ir.op import Op
from te_sched.ir.struct_info import (
    BY_SINFO_ARGS,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    erase_unknown,
)
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import substitute
from te_sched.relax.core.sizes import bind_sizes, map_sizes, variables_in, with_values
from te_sched.runtime.registry import get_global_func


class Inference(Protocol):
    """What infers struct infos of calls: a BlockBuilder, whose analyzer proves sizes."""

    @property
    def analyzer(self) -> Analyzer:
        """What is known of sizes."""
        ...


class BaseCheckResult(IntEnum):
    """Whether values of one struct info fit another one (TVM's names and numbers)."""

    FAIL_L0 = 0  # never
    FAIL_L1 = 1  # not without a conversion
    FAIL_L2 = 2  # perhaps: it can be matched when it runs
    PASS = 3


@walks_deeply("compare struct infos", GraphError)
def struct_info_base_check(
    base: StructInfo, derived: StructInfo, analyzer: Analyzer | None = None
) -> BaseCheckResult:
    """Whether values of `derived` are values of `base`.

    >>> from te_sched import relax
    >>> wide, narrow = relax.TensorStructInfo(dtype="", ndim=1), relax.TensorStructInfo([4], "int8")
    >>> struct_info_base_check(wide, narrow).name, struct_info_base_check(narrow, wide).name
    ('PASS', 'FAIL_L1')
    """
    return _base_check(base, derived, analyzer or Analyzer())


def _base_check(base: StructInfo, derived: StructInfo, analyzer: Analyzer) -> BaseCheckResult:
    if isinstance(base, ObjectStructInfo):
        return BaseCheckResult.PASS
    if isinstance(base, TensorStructInfo) and isinstance(derived, TensorStructInfo):
        return _check_tensor(base, derived, analyzer)
    if isinstance(base, ShapeStructInfo) and isinstance(derived, ShapeStructInfo):
        return _check_shape(base, derived, analyzer)
    if isinstance(base, PrimStructInfo) and isinstance(derived, PrimStructInfo):
        return _check_prim(base, derived, analyzer)
    if isinstance(base, TupleStructInfo) and isinstance(derived, TupleStructInfo):
        return _check_tuple(base, derived, analyzer)
    if isinstance(base, FuncStructInfo) and isinstance(derived, FuncStructInfo):
        return _check_function(base, derived, analyzer)
    is_open = isinstance(derived, ObjectStructInfo)
    return BaseCheckResult.FAIL_L1 if is_open else BaseCheckResult.FAIL_L0


def is_base_of(base: StructInfo, derived: StructInfo) -> bool:
    """Whether every value of `derived` is one of `base`."""
    return struct_info_base_check(base, derived) is BaseCheckResult.PASS


StructInfo.is_base_of = is_base_of  # type: ignore[attr-defined]


def _check_prim(base: PrimStructInfo, info: PrimStructInfo, analyzer: Analyzer) -> BaseCheckResult:
    if base.dtype != info.dtype:
        return BaseCheckResult.FAIL_L0
    if base.value is None:
        return BaseCheckResult.PASS
    if info.value is None:
        return BaseCheckResult.FAIL_L2
    return _of_sizes([base.value], [info.value], analyzer)


def _check_shape(
    base: ShapeStructInfo, info: ShapeStructInfo, analyzer: Analyzer
) -> BaseCheckResult:
    if base.ndim == -1:
        return BaseCheckResult.PASS
    if info.ndim == -1:
        return BaseCheckResult.FAIL_L1
    if base.ndim != info.ndim:
        return BaseCheckResult.FAIL_L0
    if base.values is None:
        return BaseCheckResult.PASS
    if info.values is None:
        return BaseCheckResult.FAIL_L2
    return _of_sizes(base.values, info.values, analyzer)


def _check_tensor(
    base: TensorStructInfo, info: TensorStructInfo, analyzer: Analyzer
) -> BaseCheckResult:
    if base.dtype and base.dtype != info.dtype:
        return BaseCheckResult.FAIL_L1 if not info.dtype else BaseCheckResult.FAIL_L0
    if base.ndim != -1 and base.ndim != info.ndim:
        return BaseCheckResult.FAIL_L1 if info.ndim == -1 else BaseCheckResult.FAIL_L0
    if base.vdevice is not None and info.vdevice is None:
        return BaseCheckResult.FAIL_L1
    if base.vdevice is not None and not structural_equal(base.vdevice, info.vdevice):
        return BaseCheckResult.FAIL_L0
    if base.shape is None or base.shape is info.shape:
        return BaseCheckResult.PASS
    if not isinstance(base.shape, ShapeExpr) or not isinstance(info.shape, ShapeExpr):
        return BaseCheckResult.FAIL_L2
    return _of_sizes(base.shape.values, info.shape.values, analyzer)


def _check_tuple(
    base: TupleStructInfo, info: TupleStructInfo, analyzer: Analyzer
) -> BaseCheckResult:
    if len(base.fields) != len(info.fields):
        return BaseCheckResult.FAIL_L0
    pairs = zip(base.fields, info.fields, strict=True)
    checks = [_base_check(field, other, analyzer) for field, other in pairs]
    return min(checks, default=BaseCheckResult.PASS)


def _check_function(
    base: FuncStructInfo, info: FuncStructInfo, analyzer: Analyzer
) -> BaseCheckResult:
    if base.purity and not info.purity:
        return BaseCheckResult.FAIL_L0
    if base.params is None:
        return _base_check(base.ret, info.ret, analyzer)
    if info.params is None:
        return BaseCheckResult.FAIL_L2
    if len(base.params) != len(info.params):
        return BaseCheckResult.FAIL_L0
    values: dict[Var, Expr] = {}
    for param_info, other in zip(info.params, base.params, strict=True):
        bind_sizes(param_info, other, values)
    params = [substitute(param, values) for param in info.params]
    pairs = zip(base.params, params, strict=True)  # as TVM: parameters vary with the function
    checks = [_base_check(param, other, analyzer) for param, other in pairs]
    result = _base_check(base.ret, substitute(info.ret, values), analyzer)
    return min([*checks, result])


def _of_sizes(base: Sequence[Expr], sizes: Sequence[Expr], analyzer: Analyzer) -> BaseCheckResult:
    check = BaseCheckResult.PASS
    for size, other in zip(base, sizes, strict=True):
        if structural_equal(size, other) or analyzer.can_prove_equal(size, other):
            continue
        if analyzer.can_prove(ops.not_equal(size, other)):
            return BaseCheckResult.FAIL_L0
        check = BaseCheckResult.FAIL_L2
    return check


def derive_call(call: GraphCall, info: StructInfo, builder: Inference) -> StructInfo:
    """The struct info of a call of a function of which `info` is known."""
    if isinstance(call.op, ExternFunc) or not isinstance(info, FuncStructInfo):
        return _given(call, info, builder)
    if info.params is None:
        return _given(call, info, builder)
    analyzer = builder.analyzer
    if len(info.params) != len(call.args):
        raise GraphError(
            f"{repr_of(call.op)} is called with {counted(len(call.args), 'argument')}, "
            f"expected {len(info.params)}",
            f"it is {info}",
            "call a function of loops, which writes its results, by "
            f"R.call_tir({call.op}, (x, ...), out_sinfo=R.Tensor(shape, dtype))"
            if _writes_results(info)
            else "give one argument for each parameter",
        )
    values: dict[Var, Expr] = {}
    for param, arg in zip(info.params, call.args, strict=True):
        bind_sizes(param, arg.struct_info, values)
    for index, (param, arg) in enumerate(zip(info.params, call.args, strict=True)):
        expected = map_sizes(param, lambda size: with_values(size, values, analyzer))
        check = struct_info_base_check(expected, arg.struct_info, analyzer)
        if check in (BaseCheckResult.FAIL_L0, BaseCheckResult.FAIL_L1):
            raise GraphError(
                f"argument {index} of {repr_of(call.op)} is {arg.struct_info}, expected {expected}",
                "the function does not take such values",
                "give an argument of this struct info",
            )
    own = {var for param in info.params for var in variables_in(param)}
    result = map_sizes(info.ret, lambda size: with_values(size, values, analyzer))
    missing = own - values.keys()
    if missing:
        left = {var for var in variables_in(result) if var not in missing}
        result = erase_unknown(result, left)
    return result


def _writes_results(info: FuncStructInfo) -> bool:
    """Whether it is that of a PrimFunc: it has effects and returns nothing."""
    return not info.purity and isinstance(info.ret, TupleStructInfo) and not info.ret.fields


def _given(call: GraphCall, info: StructInfo, builder: Inference) -> StructInfo:
    """The struct info that the call itself gives, or that a registered function derives, of a
    function of which the parameters are not known.
    """
    if len(call.sinfo_args) == 1:
        return call.sinfo_args[0]
    if call.sinfo_args:
        return TupleStructInfo(call.sinfo_args)
    if not isinstance(info, FuncStructInfo):
        return ObjectStructInfo()
    if info.derive_func is None or info.derive_func == BY_SINFO_ARGS:
        return info.ret
    return _derived(call, info.derive_func, builder)


def _derived(call: GraphCall, name: str, builder: Inference) -> StructInfo:
    derive = get_global_func(name, True)
    if derive is None:
        raise GraphError(
            f"{name}, which derives the results of {repr_of(call.op)}, is not registered",
            "",
            "register it, or give the struct info of the result: sinfo_args=(...)",
        )
    info = derive(call, builder)
    if not isinstance(info, StructInfo):
        raise GraphError(
            f"{name}, which derives the results of {repr_of(call.op)}, returns {repr_of(info)}",
            f"it is {kind_of(info)}",
            "return a struct info",
        )
    return info


def struct_info_lca(
    lhs: StructInfo, rhs: StructInfo, analyzer: Analyzer | None = None
) -> StructInfo:
    """What is known of a value that is one or the other.

    >>> from te_sched import relax
    >>> struct_info_lca(relax.TensorStructInfo([4], "int8"), relax.TensorStructInfo([3], "int8"))
    R.Tensor(dtype="int8", ndim=1)
    """
    analyzer = analyzer or Analyzer()
    if struct_info_base_check(lhs, rhs, analyzer) is BaseCheckResult.PASS:
        return lhs
    if struct_info_base_check(rhs, lhs, analyzer) is BaseCheckResult.PASS:
        return rhs
    if type(lhs) is not type(rhs):
        return ObjectStructInfo()
    if isinstance(lhs, TensorStructInfo) and isinstance(rhs, TensorStructInfo):
        ndim = lhs.ndim if lhs.ndim == rhs.ndim else -1
        dtype = lhs.dtype if lhs.dtype == rhs.dtype else ""
        both = lhs.shape, rhs.shape
        same = all(isinstance(shape, ShapeExpr) for shape in both) and ndim != -1
        if same and _of_sizes(lhs.shape.values, rhs.shape.values, analyzer) == 3:
            return TensorStructInfo(lhs.shape, dtype)
        return TensorStructInfo(None, dtype, None, ndim)
    if isinstance(lhs, ShapeStructInfo) and isinstance(rhs, ShapeStructInfo):
        return ShapeStructInfo(None, lhs.ndim if lhs.ndim == rhs.ndim else -1)
    if isinstance(lhs, PrimStructInfo) and isinstance(rhs, PrimStructInfo):
        same_dtype = lhs.dtype == rhs.dtype
        return PrimStructInfo(lhs.dtype) if same_dtype else ObjectStructInfo()
    if isinstance(lhs, TupleStructInfo) and isinstance(rhs, TupleStructInfo):
        if len(lhs.fields) != len(rhs.fields):
            return ObjectStructInfo()
        fields = zip(lhs.fields, rhs.fields, strict=True)
        return TupleStructInfo(tuple([struct_info_lca(field, other) for field, other in fields]))
    if isinstance(lhs, FuncStructInfo) and isinstance(rhs, FuncStructInfo):
        ret = struct_info_lca(lhs.ret, rhs.ret, analyzer)
        if lhs.params is not None and rhs.params is not None and len(lhs.params) == len(rhs.params):
            pairs = zip(lhs.params, rhs.params, strict=True)
            params = tuple([struct_info_lca(param, other, analyzer) for param, other in pairs])
            return FuncStructInfo(params, ret, lhs.purity and rhs.purity)
        return FuncStructInfo.opaque_func(ret=ret, purity=lhs.purity and rhs.purity)
    return ObjectStructInfo()


def derive_call_ret_struct_info(
    func_sinfo: FuncStructInfo, call: GraphCall, ctx: Annotated[Inference, "a BlockBuilder"]
) -> StructInfo:
    """The struct info of a call of a function of which `func_sinfo` is known.

    Parameters
    ----------
    ctx : a BlockBuilder, whose analyzer proves sizes.
    """
    return derive_call(call, func_sinfo, ctx)


def get_shape_of(expr: object) -> GraphExpr:
    """The shape of a tensor: as far as it is known, else a call of `relax.op.shape_of`.

    >>> from te_sched import relax
    >>> get_shape_of(relax.Var("x", relax.TensorStructInfo([4, 3], "int8")))
    R.shape([4, 3])
    """
    info = expr.struct_info if isinstance(expr, GraphExpr) else None
    if not isinstance(info, TensorStructInfo):
        raise GraphError(
            f"{repr_of(expr)} has no shape", f"it is {info}", "give a tensor: R.Tensor"
        )
    shape: GraphExpr | None = info.shape
    if shape is not None:
        return shape
    return GraphCall(Op.get("relax.shape_of"), (expr,))


__all__ = [
    "FuncStructInfo",
    "ObjectStructInfo",
    "PrimStructInfo",
    "ShapeExpr",
    "ShapeStructInfo",
    "StructInfo",
    "TensorStructInfo",
    "TupleStructInfo",
    "get_shape_of",
]
_tell_of_absent_names(__name__)
