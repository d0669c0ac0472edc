"""Lower divisions that round down to those of processors, and functions to LLVM's.

    x // 8               ->    shift_right(x, 3)
    x // 7, x >= 0       ->    truncdiv(x, 7)
    exp(x)               ->    call_llvm_pure_intrin("llvm.exp", x)

Rules of the user come first (`replace_intrinsics`). (TVM's name: LowerIntrin.) te_sched compiles
both by itself, with other functions. Must not know code generation.
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes, ops
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import (
    Add,
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Mod,
    Mul,
    Select,
    StringImm,
    Var,
)
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.facts_mapper import FactsMapper
from te_sched.lowering.replace_intrinsics import replace_intrinsics

# Functions of LLVM, where their names differ from those of intrinsics.
_OTHER_NAMES = {"fma": "fmuladd", "popcount": "ctpop"}
_SAME_NAMES = (
    *("exp", "exp2", "log", "log2", "log10", "sqrt", "floor", "ceil", "trunc", "fabs", "round"),
    *("rint", "cos", "sin", "pow"),
)
_OF_LLVM = {f"tir.{name}": f"llvm.{name}" for name in _SAME_NAMES} | {
    f"tir.{name}": f"llvm.{other}" for name, other in _OTHER_NAMES.items()
}


def lower_intrinsics(
    func: PrimFunc, keys: Sequence[str], is_llvm: bool, settings: Lowering = AS_TVM
) -> PrimFunc:
    """The function with divisions and functions of processors, for a target with these keys."""
    func = replace_intrinsics(func, keys)
    return func.with_body(_TargetIntrinsics(Analyzer(settings), is_llvm).visit(func.body))


class _TargetIntrinsics(FactsMapper):
    """Rebuilds expressions; the analyzer knows loops and conditions."""

    def __init__(self, analyzer: Analyzer, is_llvm: bool) -> None:
        self.analyzer, self.is_llvm = analyzer, is_llvm

    def fact_of(self, condition: Expr, mapped: Expr) -> Expr:
        return condition  # without the intrinsics that this pass makes

    visit_Select = FactsMapper.choice

    # -- functions ---------------------------------------------------------------------------------

    def visit_Call(self, node: Call) -> Expr:
        if choice_of(node) is not None:
            return self.choice(node)
        call: Call = self.generic(node)
        name = _OF_LLVM.get(call.op)
        if name is None or not self.is_llvm:
            return call
        return _of_llvm(call.dtype, name, call.args)

    def visit_Add(self, node: Add) -> Expr:
        """A product and a sum of floats are one operation, as in TVM."""
        new: Expr = self.generic(node)
        is_float = dtypes.is_float(node.dtype) and dtypes.element(node.dtype) != "bfloat16"
        if not self.is_llvm or not is_float or not isinstance(new, Add):
            return new
        product, other = (new.b, new.a) if isinstance(new.b, Mul) else (new.a, new.b)
        if not isinstance(product, Mul):
            return new
        return _of_llvm(node.dtype, "llvm.fmuladd", (product.a, product.b, other))

    # -- divisions ---------------------------------------------------------------------------------

    def visit_FloorDiv(self, node: FloorDiv) -> Expr:
        return self._rounded_down(node, is_quotient=True)

    def visit_FloorMod(self, node: FloorMod) -> Expr:
        return self._rounded_down(node, is_quotient=False)

    def _rounded_down(self, node: FloorDiv | FloorMod, is_quotient: bool) -> Expr:
        is_positive = self.analyzer.can_prove_greater_equal(node.b, 0)
        is_exact = is_positive and self.analyzer.can_prove_greater_equal(node.a, 0)
        a, b, dtype = self.visit(node.a), self.visit(node.b), node.dtype
        if isinstance(b, IntImm) and b.value > 0 and not b.value & (b.value - 1):
            if is_quotient:
                return ops.shift_right(a, IntImm(b.value.bit_length() - 1, dtype))
            return ops.bitwise_and(a, IntImm(b.value - 1, dtype))
        quotient, rest = Div(a, b), Mod(a, b)
        if is_exact or not dtypes.is_int(dtype):
            return quotient if is_quotient else rest
        if is_positive:  # the sign of the remainder is -1 or 0
            sign = ops.shift_right(rest, IntImm(dtypes.bits(dtype) - 1, dtypes.element(dtype)))
            return quotient + sign if is_quotient else rest + ops.bitwise_and(b, sign)
        kept = Var("rmod", dtype)
        zero = ops.const(0, dtype)
        same = ops.logical_or(
            ops.logical_and(b >= zero, kept >= zero), ops.logical_and(b < zero, kept <= zero)
        )
        same = self.analyzer.simplify(same)
        if not is_quotient:
            return Let(kept, rest, Select(same, kept, kept + b))
        whole = Var("rdiv", dtype)
        chosen = Select(same, whole, whole - ops.const(1, dtype))
        return Let(kept, rest, Let(whole, quotient, chosen))


def _of_llvm(dtype: str, name: str, args: tuple[Expr, ...]) -> Call:
    """A call of a function of LLVM, with the number of its arguments."""
    count = IntImm(len(args), "uint32")
    return Call(dtype, "tir.call_llvm_pure_intrin", (StringImm(name), count, *args))
