"""Replace intrinsics by the user's rules for the target (TVM's LowerIntrin).

Before, with a rule of "tir.mylog" for "llvm"::

    B[i] = T.mylog(A[i])

After::

    B[i] = T.call_pure_extern("float32", "logf", A[i])

Without rules it does nothing: code generation knows the intrinsics of te_sched by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.errors import LoweringError, kind_of, with_article
from te_sched.ir.expr import Call, Expr
from te_sched.ir.op import DEFAULT_KEY, RULES, Op, Rule
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import Mapper, replace

_MOST_STEPS = 16  # rules that give each other's intrinsics would never end


def replace_intrinsics(func: PrimFunc, keys: Sequence[str]) -> PrimFunc:
    """The function with the rules applied that hold for a target with these keys."""
    rules = {op: rule for op in RULES if (rule := _rule_for(op, keys)) is not None}
    if not rules:
        return func
    return replace(func, body=_Replacer(rules).visit(func.body))


def _rule_for(op: str, keys: Sequence[str]) -> Rule | None:
    rules = RULES[op]
    return next((rules[key][1] for key in (*keys, DEFAULT_KEY) if key in rules), None)


class _Replacer(Mapper):
    def __init__(self, rules: dict[str, Rule]) -> None:
        self._rules = rules

    def visit_Call(self, node: Call) -> Any:
        current: Expr = self.generic(node)
        for _ in range(_MOST_STEPS):
            if type(current) is not Call or current.op not in self._rules:
                return current
            call = Call(current.dtype, Op(current.op), current.args)
            replacement = self._rules[current.op](call)
            if replacement is None or replacement is call:
                return current
            current = self._checked(current, replacement)
        raise LoweringError(
            f"cannot replace intrinsic {node.op}: {_MOST_STEPS} rules in a row gave new intrinsics",
            "rules are applied until none matches",
            "let a rule give a call of a function (tir.call_pure_extern)",
        )

    def _checked(self, call: Call, replacement: Any) -> Expr:
        if isinstance(replacement, Expr) and replacement.dtype == call.dtype:
            return replacement
        what = (
            with_article(replacement.dtype)
            if isinstance(replacement, Expr)
            else kind_of(replacement)
        )
        raise LoweringError(
            f"rule of intrinsic {call.op} must give {with_article(call.dtype)}, got {what}",
            help="let the rule give an expression of the call's dtype",
        )
