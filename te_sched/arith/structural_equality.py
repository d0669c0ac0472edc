"""Structural equality of expressions, with variables and buffers compared by identity.

Owns the comparison that rewriting uses many times per expression: 0.0 and -0.0 differ, and NaN is
NaN, as for `ir.structural`. Must not know the meaning of
expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.ir.expr import FloatImm, IntImm, Node, StringImm, Var
from te_sched.ir.structural import is_same_float
from te_sched.ir.visitor import CHILD_FIELDS, INIT_FIELDS

_IMMEDIATES = frozenset((IntImm, StringImm))
_OTHER_FIELDS = {
    kind: tuple(name for name in fields if name not in CHILD_FIELDS[kind])
    for kind, fields in INIT_FIELDS.items()
}


def all_same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two sequences of expressions are structurally equal."""
    return len(a) == len(b) and all(map(same, a, b))


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are structurally equal."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b) or kind is Var:
        return False
    if kind in _IMMEDIATES:
        return bool(a.value == b.value and a.dtype == b.dtype)
    if kind is FloatImm:
        return bool(a.dtype == b.dtype and is_same_float(a.value, b.value))
    for name in _OTHER_FIELDS[kind]:
        mine, other = getattr(a, name), getattr(b, name)
        if mine is not other and (_has_node(mine) or mine != other):
            return False
    for name in CHILD_FIELDS[kind]:
        mine, other = getattr(a, name), getattr(b, name)
        if type(mine) is tuple:
            if not all_same(mine, other):
                return False
        elif not same(mine, other):
            return False
    return True


def _has_node(value: Any) -> bool:
    """Whether `==` would compare nodes, which are only equal if they are identical."""
    if isinstance(value, tuple):
        return any(map(_has_node, value))
    return isinstance(value, Node)
